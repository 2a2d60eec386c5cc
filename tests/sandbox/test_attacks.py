"""What a hostile command tries, at each level that keeps it from it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from signoff.model import Isolation
from tests.sandbox.confined import CONFINING, LEVELS, content, python, ran, workspace

TOKEN = "9f1c-token-of-signoff"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the levels are Linux's")
confining = pytest.mark.parametrize("level", CONFINING)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A workspace."""
    return workspace(tmp_path)


@pytest.fixture
def bystander() -> Iterator[int]:
    """A process of the same user with a secret in its environment."""
    process = subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()"],
        env={**os.environ, "TOKEN": TOKEN},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout
    process.stdout.readline()
    yield process.pid
    assert process.poll() is None, "it was ended"
    process.communicate(b"\n")


def tried(*actions: str, setting: str = "") -> str:
    """A program that prints what became of each action: "done", or the name of its error."""
    lines = ["import ctypes, errno, os, resource, socket, sys", setting]
    for action in actions:
        lines += [
            "try:",
            f"    {action}",
            "    print('done')",
            "except OSError as exc:",
            "    print(errno.errorcode.get(exc.errno, exc.errno))",
        ]
    return "\n".join(lines)


KERNEL = """\
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    if libc.syscall(number, *map(ctypes.c_long, arguments)) < 0:
        raise OSError(ctypes.get_errno(), "")
"""


# -- files --


@pytest.mark.parametrize("level", LEVELS)
def test_workspace_is_unchanged_by_what_is_written_in_it(level: Isolation, work: Path) -> None:
    before = content(work)
    python(
        level,
        "import os, shutil; open('file', 'w').write('x'); open('new', 'w').write('y');"
        "shutil.rmtree('inner'); os.mkdir('inner'); os.chmod('file', 0)",
        workspace=str(work),
    )

    assert before == content(work)
    assert 0o700 & (work / "file").stat().st_mode


@confining
def test_workspace_cannot_be_changed_by_its_path(level: Isolation, work: Path) -> None:
    before = content(work)
    python(
        level,
        tried(
            f"open({str(work / 'file')!r}, 'w').write('x')", f"os.unlink({str(work / 'file')!r})"
        ),
        workspace=str(work),
    )

    assert before == content(work)


@confining
def test_nothing_outside_is_read_or_written(level: Isolation, work: Path, tmp_path: Path) -> None:
    secret = tmp_path / "id_ed25519"
    secret.write_text(TOKEN)
    contract = tmp_path / "contract.yaml"
    contract.write_text("id: c")
    printed = python(
        level,
        tried(
            f"print(open({str(secret)!r}).read())",
            f"open({str(contract)!r}, 'a').write('x')",
            f"os.rename({str(contract)!r}, {str(tmp_path / 'other')!r})",
            f"os.truncate({str(contract)!r}, 0)",
            f"os.link({str(secret)!r}, 'copy')",
        ),
        workspace=str(work),
    )

    assert TOKEN not in printed
    assert {"contract.yaml": "id: c", "id_ed25519": TOKEN} == {
        name: text for name, text in content(tmp_path).items() if "/" not in name
    }


@confining
def test_links_of_the_workspace_lead_nowhere(level: Isolation, work: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(TOKEN)
    (work / "link").symlink_to(secret)
    (work / "up").symlink_to("../secret")
    (work / "folder").symlink_to(tmp_path)
    actions = [f"print(open({name!r}).read())" for name in ("link", "up", "folder/secret")]
    actions += [f"open({name!r}, 'w').write('x')" for name in ("link", "folder/secret")]
    printed = python(level, tried(*actions), workspace=str(work))

    assert TOKEN not in printed
    assert TOKEN == secret.read_text()


@confining
def test_system_cannot_be_written(level: Isolation) -> None:
    places = ("/usr/x", "/etc/x", "/x", "/dev/x", "/opt/x", "/proc/sys/kernel/core_pattern")
    printed = python(level, tried(*(f"open({place!r}, 'w')" for place in places)))

    assert len(places) == len(printed.split())
    assert "done" not in printed


@confining
@pytest.mark.parametrize("path", ["/etc/shadow", "/etc/ssh", "/etc/gshadow", "/run", "/var/lib"])
def test_private_parts_of_the_system_are_not_read(level: Isolation, path: str) -> None:
    action = f"os.listdir({path!r}) if os.path.isdir({path!r}) else open({path!r})"

    assert "done" not in python(level, tried(action))


@confining
def test_a_link_as_the_program_opens_no_folder(
    level: Isolation, work: Path, tmp_path: Path
) -> None:
    vault = tmp_path / "vault" / "bin"
    (vault.parent / "lib").mkdir(parents=True)
    vault.mkdir()
    (vault / "key").write_text(TOKEN)
    (vault / "sh").symlink_to("/bin/sh")
    (work / "tool").symlink_to(vault / "sh")
    (work / "script").write_text(f"#!{vault}/sh\n")
    (work / "script").chmod(0o755)
    for program in ("./tool", "./script"):
        with ran(level, program, "-c", f"cat {vault}/key", workspace=str(work)) as done:
            assert TOKEN.encode() not in done.stdout.head
        with ran(level, "cat", f"{vault}/key", workspace=str(work)) as done:
            assert 1 == done.exit_code


# -- processes --


@confining
def test_environment_of_others_is_not_read(level: Isolation, bystander: int) -> None:
    printed = python(
        level,
        "import os, glob\n"
        "for path in glob.glob('/proc/[0-9]*/environ'):\n"
        "    try: print(open(path, 'rb').read())\n"
        "    except OSError: pass\n"
        "print(dict(os.environ))",
    )

    assert printed
    assert TOKEN not in printed


@confining
def test_others_are_not_signalled_traced_or_limited(level: Isolation, bystander: int) -> None:
    printed = python(
        level,
        tried(
            f"os.kill({bystander}, 9)",
            f"resource.prlimit({bystander}, resource.RLIMIT_CPU, (1, 1))",
            f"call({101 if os.uname().machine == 'x86_64' else 117}, 16, {bystander}, 0, 0)",
            f"open('/proc/{bystander}/mem', 'rb').read(1)",
            f"os.readlink('/proc/{bystander}/fd/0')",
            setting=KERNEL,
        ),
    )

    assert 5 == len(printed.split())
    assert "done" not in printed


def test_only_its_own_processes_are_seen_at_the_highest_level(bystander: int) -> None:
    printed = python("L3", "import os; print([n for n in os.listdir('/proc') if n.isdecimal()])")

    assert str(bystander) not in printed
    assert 3 >= len(printed.split())


@confining
def test_privileges_are_gone_and_cannot_come_back(level: Isolation) -> None:
    status = python(level, "print(open('/proc/self/status').read())")
    facts = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)

    assert {0} == {int(facts[name], 16) for name in ("CapPrm", "CapEff", "CapInh", "CapAmb")}
    assert ("1", "2") == (facts["NoNewPrivs"], facts["Seccomp"])


@confining
def test_ways_into_the_kernel_are_closed(level: Isolation) -> None:
    numbers = {"io_uring_setup": 425, "clone3": 435, "open_tree": 428, "fsopen": 430}
    if os.uname().machine == "x86_64":
        numbers |= {"bpf": 321, "keyctl": 250, "userfaultfd": 323, "unshare": 272, "mount": 165}
    actions = [f"call({number}, 0x10000000, 0, 0, 0, 0)" for number in numbers.values()]
    printed = python(level, tried(*actions, setting=KERNEL)).split()

    assert {"EPERM", "ENOSYS"} >= {*printed}
    assert len(numbers) == len(printed)


@confining
def test_namespaces_cannot_be_made_by_cloning(level: Isolation) -> None:
    number = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
    printed = python(level, tried(f"call({number}, 0x10000011, 0, 0, 0, 0)", setting=KERNEL))

    assert ["EPERM"] == printed.split()


# -- sockets --


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A server of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


@confining
def test_network_is_not_reached(level: Isolation, listener: socket.socket) -> None:
    address = listener.getsockname()
    udp = "socket.socket(type=socket.SOCK_DGRAM)"
    printed = python(
        level,
        tried(
            f"socket.create_connection({address!r}, 1)",
            f"{udp}.sendto(b'x', ('192.0.2.1', 53))",
            "socket.socket(socket.AF_INET6).connect(('2001:db8::1', 80))",
            "socket.socket(40, socket.SOCK_STREAM)",
            "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
        ),
    ).split()

    assert 5 == len(printed)
    assert "done" not in printed
    listener.settimeout(0)
    with pytest.raises(BlockingIOError):
        listener.accept()


@confining
def test_datagrams_reach_nobody(level: Isolation) -> None:
    """Sending may seem to succeed, in a network of its own."""
    with socket.socket(type=socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        address = server.getsockname()
        send = f"socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', {address!r})"
        assert 1 == len(python(level, tried(send)).split())

        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.recv(1)

        with socket.socket(type=socket.SOCK_DGRAM) as sender:
            sender.sendto(b"x", address)
        server.settimeout(5)
        assert b"x" == server.recv(1)


@confining
def test_network_is_there_where_it_was_asked_for(level: Isolation, listener: socket.socket) -> None:
    address = listener.getsockname()
    printed = python(
        level,
        f"import socket, ssl; socket.create_connection({address!r}, 5).close();"
        "print(open('/etc/resolv.conf').read());"
        "print(len(ssl.create_default_context().get_ca_certs()))"
        if Path("/etc/resolv.conf").exists()
        else f"import socket; socket.create_connection({address!r}, 5).close()",
        network=True,
    )

    listener.settimeout(5)
    listener.accept()[0].close()
    if Path("/etc/resolv.conf").exists():
        assert Path("/etc/resolv.conf").read_text() in printed
    if Path("/etc/ssl/certs/ca-certificates.crt").exists():
        assert 0 < int(printed.split()[-1])


def test_sockets_of_files_are_not_reached_at_the_highest_level(tmp_path: Path, work: Path) -> None:
    outside, inside = tmp_path / "s", work / "s"
    with socket.socket(socket.AF_UNIX) as one, socket.socket(socket.AF_UNIX) as other:
        one.bind(str(outside))
        other.bind(str(inside))
        one.listen()
        other.listen()
        actions = [f"socket.socket(socket.AF_UNIX).connect({str(p)!r})" for p in (outside, inside)]
        printed = python("L3", tried(*actions), workspace=str(work))

    assert "done" not in printed


@confining
def test_abstract_sockets_are_not_reached(level: Isolation) -> None:
    name = f"\0signoff-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        printed = python(level, tried(f"socket.socket(socket.AF_UNIX).connect({name!r})"))

    assert printed.strip() in {"ECONNREFUSED", "EPERM"}


def test_loopback_of_its_own_works_at_the_highest_level() -> None:
    assert "done" in python(
        "L3",
        tried(
            "s = socket.create_server(('127.0.0.1', 0));"
            "socket.create_connection(s.getsockname(), 1)"
        ),
    )


# -- variables that act on bubblewrap itself --


def test_variables_of_a_command_do_not_reach_what_starts_it(tmp_path: Path) -> None:
    printed = python(
        "L3", "print('fine')", env={"LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": f"{tmp_path}/loader"}
    )

    assert "fine" in printed
    assert [] == [*tmp_path.iterdir()]


@confining
def test_a_terminal_is_not_typed_into(level: Isolation) -> None:
    assert "done" not in python(
        level, tried("import fcntl; fcntl.ioctl(0, 0x5412, b'x')", "fcntl.ioctl(0, 0x541c, b'x')")
    )
