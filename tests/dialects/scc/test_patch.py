"""A diff is cleared only when every header of it can be read and agrees with the others."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.dialects.scc.patch import Change, ChangeKind, changed_paths, read_patch
from signoff.errors import PatchRefused

MODIFY = """diff --git a/src/a.py b/src/a.py
index 111..222 100644
--- a/src/a.py
+++ b/src/a.py
@@ -1,3 +1,3 @@ def f():
 one
-two
+TWO
 three
"""
PLAIN = "--- a/x\t2026-01-01\n+++ b/x\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n"


def one(text: str) -> Change:
    (found,) = read_patch(text.encode())
    return found


def test_a_change_of_one_file() -> None:
    found = one(MODIFY)

    assert (ChangeKind.MODIFY, "src/a.py", "src/a.py") == (found.kind, found.old, found.new)
    assert (1, 1) == (found.added, found.removed)


def test_a_plain_diff_without_git_headers() -> None:
    assert ("x", "x") == (one(PLAIN).old, one(PLAIN).new)


@pytest.mark.parametrize(
    ("text", "kind", "paths"),
    [
        ("diff --git a/n b/n\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n", ChangeKind.ADD, ("n",)),
        ("diff --git a/n b/n\nnew file mode 100644\nindex 0..1\n", ChangeKind.ADD, ("n",)),
        ("diff --git a/d b/d\ndeleted file mode 100644\nindex 1..0\n--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", ChangeKind.DELETE, ("d",)),
        ("diff --git a/o b/n\nsimilarity index 100%\nrename from o\nrename to n\n", ChangeKind.RENAME, ("n", "o")),
        ("diff --git a/o b/n\nsimilarity index 100%\ncopy from o\ncopy to n\n", ChangeKind.COPY, ("n", "o")),
        ("diff --git a/m b/m\nold mode 100644\nnew mode 100755\n", ChangeKind.MODIFY, ("m",)),
        ("diff --git a/b b/b\nindex 1..2 100644\nBinary files a/b and b/b differ\n", ChangeKind.MODIFY, ("b",)),
        ("diff --git a/b b/b\nindex 1..2 100644\nGIT binary patch\nliteral 3\nKcmZ\n\n", ChangeKind.MODIFY, ("b",)),
        ("diff --git a/a b/c b/a b/c\nindex 1..2 100644\nBinary files differ\n", ChangeKind.MODIFY, ("a b/c",)),
    ],
)  # fmt: skip
def test_each_kind_of_change(text: str, kind: ChangeKind, paths: tuple[str, ...]) -> None:
    found = read_patch(text.encode())

    assert [kind] == [change.kind for change in found]
    assert paths == changed_paths(found)


def test_links_and_submodules_are_told() -> None:
    link = "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n\\ No newline at end of file\n"
    module = "diff --git a/s b/s\nnew file mode 160000\n--- /dev/null\n+++ b/s\n@@ -0,0 +1 @@\n+Subproject commit 1\n"

    assert one(link).is_link
    assert one(module).is_submodule


def test_a_line_of_a_hunk_is_no_header() -> None:
    text = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/y\n+++ b/y\n z\n" + PLAIN.replace("x", "w")

    assert ("w", "x") == changed_paths(read_patch(text.encode()))


@pytest.mark.parametrize(
    "text",
    [
        "hello\n",
        PLAIN.replace("/x", "/../x"),
        PLAIN.replace("a/x", "/etc/x").replace("b/x", "/etc/x"),
        PLAIN.replace("/x", "/x\x01"),
        PLAIN.replace("a/x", '"a/x"').replace("b/x", '"b/x"'),
        PLAIN.replace("/x", "/x\\y"),
        PLAIN.replace("b/x", "b/y"),
        PLAIN.replace("+++ b/x\t2026-01-02\n", ""),
        PLAIN.replace("@@ -1 +1 @@", "@@ -1 +1,2 @@"),
        PLAIN.replace("@@ -1 +1 @@", "@@ x @@"),
        PLAIN + "+stray\n",
        "--- a/x\n+++ b/x\n",
        "--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+x\n",
        MODIFY.replace("+++ b/src/a.py", "+++ b/src/b.py"),
        MODIFY.replace("b/src/a.py\n", "b/src/b.py\n", 1),
        "diff --git a/C:x b/C:x\nindex 1..2\nBinary files differ\n",
        'diff --git "a/\\303\\244" "b/\\303\\244"\nindex 1..2\nBinary files differ\n',
        "diff --git a/o b/n\nrename from o\n",
        "diff --git a/o b/n\nrename from o\ncopy to n\n",
        "diff --git a/o b/n\nrename from o\nrename to m\n",
        "diff --git a/o b/n\nrename from o\nrename to docs/REPORT/x\n",
        "diff --git a/o b/n\nindex 1..2\nBinary files differ\n",
        "diff --git a/n b/n\nnew file mode 100644\n--- a/n\n+++ b/n\n@@ -1 +1 @@\n-a\n+b\n",
        "diff --git a/n b/n\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+b\n",
        "diff --git a/m b/m\nnew mode 100644\nnew mode 120000\n",
    ],
)
def test_what_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(PatchRefused):
        read_patch(text.encode())


def test_a_name_that_is_not_utf_8_is_refused() -> None:
    with pytest.raises(PatchRefused, match="UTF-8"):
        read_patch(PLAIN.encode().replace(b"/x", b"/\xff"))


def test_content_that_is_not_utf_8_is_fine() -> None:
    assert ("x",) == changed_paths(read_patch(PLAIN.encode().replace(b"+b", b"+\xff")))


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        found = read_patch(b"diff --git a/x b/x\n" + data)
    except PatchRefused:
        return

    assert changed_paths(found)


def test_what_git_writes_is_read(tmp_path: Path) -> None:
    def git(*args: str) -> bytes:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *args]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True).stdout

    git("init", "-q")
    (tmp_path / "keep.txt").write_text("one\ntwo\n--- a/fake\n+++ b/fake\n")
    (tmp_path / "old name.txt").write_text("x\n" * 30)
    (tmp_path / "gone").write_text("y")
    (tmp_path / "data.bin").write_bytes(bytes(range(256)))
    git("add", ".")
    git("commit", "-qm", "base")
    (tmp_path / "keep.txt").write_text("one\nTWO\n")
    (tmp_path / "old name.txt").rename(tmp_path / "new name.txt")
    (tmp_path / "gone").unlink()
    (tmp_path / "data.bin").write_bytes(bytes(range(255, -1, -1)))
    (tmp_path / "empty").touch()
    (tmp_path / "link").symlink_to("keep.txt")
    git("add", ".")
    found = read_patch(git("diff", "--cached", "-M", "--binary"))

    assert (
        "data.bin", "empty", "gone", "keep.txt", "link", "new name.txt", "old name.txt",
    ) == changed_paths(found)  # fmt: skip
    assert [change.new for change in found if change.is_link] == ["link"]
