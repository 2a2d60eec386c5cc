"""Verifiers from elsewhere count when they are named, and say truly where they come from."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from signoff.contract import lock
from signoff.engine import Engine
from signoff.errors import PluginError
from signoff.model import Subject
from signoff.plugins import (
    Reference,
    function_at,
    installed,
    is_reference,
    joined,
    origin_of,
    verifiers_at,
    verifiers_of_plugin,
)
from signoff.registry import Registry
from signoff.verifiers import STDLIB
from tests.importing import HOUSE, forgotten, install


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with the module ``house``."""
    (tmp_path / "house.py").write_text(HOUSE)
    with forgotten(tmp_path):
        yield tmp_path


def at(name: str, folder: Path | None) -> Reference:
    return Reference(name=name, said="--with", folder=folder)


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("house:greets", ["greets"]),
        ("house:both", ["greets", "polite"]),
        ("house:registry", ["greets", "polite"]),
    ],
)
def test_verifier_registry_and_iterable_are_taken(folder: Path, name: str, ids: list[str]) -> None:
    found = verifiers_at(at(name, folder))

    assert ids == [one.verifier.id for one in found]
    assert {"house"} == {one.verifier.source for one in found}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nowhere_at_all:x", "cannot be imported: ModuleNotFoundError (No module named"),
        ("house:nothing", 'no "nothing" in '),
        ("house:number", "is of type int, expected verifiers"),
        ("house:agrees", "is of type function, expected verifiers"),
        ("house:nobody", "has no verifiers in it"),
        ("os:environ", "expected verifiers"),
    ],
)
def test_what_is_no_verifier_is_refused(folder: Path, name: str, says: str) -> None:
    with pytest.raises(PluginError) as caught:
        verifiers_at(at(name, folder))

    assert str(caught.value).startswith(f"--with: {name}")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "raise ValueError('half\\nway')",
        "import sys; sys.exit(0)",
        "x =",
    ],
)
def test_module_that_cannot_be_imported_is_one_sentence(folder: Path, text: str) -> None:
    (folder / "broken.py").write_text(text)

    with pytest.raises(PluginError, match=r"^--with: broken:x cannot be imported: ") as caught:
        verifiers_at(at("broken:x", folder))

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("raised", ["ValueError('half\\nway')", "SystemExit(0)"])
@pytest.mark.parametrize("name", ["exits:listed", "exits:holder.property"])
def test_what_raises_when_it_is_looked_at_is_one_sentence(
    folder: Path, raised: str, name: str
) -> None:
    (folder / "exits.py").write_text(
        "class Odd:\n"
        "    def __iter__(self):\n"
        f"        raise {raised}\n"
        "    @property\n"
        "    def property(self):\n"
        f"        raise {raised}\n"
        "listed = holder = Odd()\n"
    )

    with pytest.raises(PluginError, match=rf"^--with: {name} cannot be read: ") as caught:
        verifiers_at(at(name, folder))

    assert "\n" not in str(caught.value)


def test_interrupt_while_importing_is_not_swallowed(folder: Path) -> None:
    (folder / "slow.py").write_text("raise KeyboardInterrupt")

    with pytest.raises(KeyboardInterrupt):
        verifiers_at(at("slow:x", folder))


def test_nothing_in_the_folder_stands_in_for_what_is_installed(folder: Path) -> None:
    (folder / "msgspec.py").write_text("raise SystemError('taken')")
    (folder / "signoff.py").write_text("raise SystemError('taken')")
    (folder / "colorsys.py").write_text("rgb_to_hls = None")

    assert callable(function_at(at("colorsys:rgb_to_hls", folder)))
    assert ["greets"] == [one.verifier.id for one in verifiers_at(at("house:greets", folder))]


def test_functions_may_import_from_the_folder_when_they_are_called(folder: Path) -> None:
    (folder / "later.py").write_text(
        "def f():\n    import other_of_house\n    return other_of_house.x"
    )
    (folder / "other_of_house.py").write_text("x = 7")

    assert 7 == function_at(at("later:f", folder))()


# -- the workspace --


def test_nothing_is_imported_from_the_workspace(folder: Path) -> None:
    (folder / "house.py").write_text("raise SystemError('it ran')")

    for workspace in (folder, folder.parent):
        with pytest.raises(PluginError, match="lies in the workspace under judgement"):
            verifiers_at(at("house:greets", folder), workspace=workspace)


def test_workspace_on_the_search_path_is_passed_over(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = folder / "work"
    work.mkdir()
    (work / "house.py").write_text("raise SystemError('the work judged itself')")
    monkeypatch.setattr(sys, "path", ["", str(work), *sys.path])
    monkeypatch.chdir(work)

    assert ["greets"] == [
        one.verifier.id for one in verifiers_at(at("house:greets", folder), workspace=work)
    ]
    assert ["", str(work)] == sys.path[:2]


def test_module_of_the_workspace_that_is_imported_already_is_refused(folder: Path) -> None:
    verifiers_at(at("house:greets", folder))

    with pytest.raises(PluginError, match="lies in the workspace"):
        verifiers_at(at("house:greets", folder), workspace=folder)


def test_workspace_reached_by_a_link_is_the_workspace(folder: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder, target_is_directory=True)

    for place, workspace in ((link, folder), (folder, link)):
        with pytest.raises(PluginError, match="lies in the workspace"):
            verifiers_at(at("house:greets", place), workspace=workspace)


def test_interpreter_of_the_workspace_is_taken_as_it_is(folder: Path) -> None:
    assert callable(function_at(at("json:loads", folder), workspace=Path("/")))


# -- installed plug-ins --


@pytest.fixture
def site(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages with one plug-in that has two names."""
    install(folder, "greeting = house:greets\nall = house:registry")
    monkeypatch.syspath_prepend(folder)
    return folder


def named(name: str) -> Reference:
    return Reference(name=name, said="--plugin")


def test_installed_plug_in_is_listed_and_not_imported(site: Path) -> None:
    (site / "house.py").write_text("raise SystemError('it ran')")

    assert {("all", "house-checks 1.0"), ("greeting", "house-checks 1.0")} <= {
        (one.name, origin_of(one)) for one in installed()
    }


@pytest.mark.parametrize("name", ["greeting"])
def test_plug_in_has_name_and_version_of_its_distribution(site: Path, name: str) -> None:
    found = verifiers_of_plugin(named(name))

    assert [("greets", "house-checks 1.0")] == [
        (one.verifier.id, one.verifier.source) for one in found
    ]


@pytest.mark.parametrize("name", ["house-checks", "House_Checks", "house.-checks"])
def test_distribution_stands_for_all_it_offers(site: Path, name: str) -> None:
    ids = [one.verifier.id for one in verifiers_of_plugin(named(name))]

    assert ["greets", "greets", "polite"] == sorted(ids)


def test_plug_in_that_is_not_installed_is_refused(site: Path) -> None:
    with pytest.raises(
        PluginError, match=r"^--plugin: greting is no installed plug-in; installed: "
    ):
        verifiers_of_plugin(named("greting"))


def test_plug_in_that_cannot_be_imported_is_one_sentence(site: Path) -> None:
    (site / "house.py").write_text("import nowhere_at_all")

    with pytest.raises(PluginError) as caught:
        verifiers_of_plugin(named("greeting"))

    assert (
        "--plugin: greeting (house-checks 1.0): house:greets cannot be imported: "
        "ModuleNotFoundError (No module named 'nowhere_at_all')"
    ) == str(caught.value)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("house", "--plugin: greeting (house-checks 1.0): house must be package.module:name"),
        ("house : greets [extra]", ""),
        ("a/b:c", "--plugin: greeting (house-checks 1.0): a/b:c must be package.module:name"),
    ],
)
def test_entry_point_has_one_form(site: Path, value: str, says: str) -> None:
    install(site, f"greeting = {value}")
    if not says:
        assert 1 == len(verifiers_of_plugin(named("greeting")))
        return

    with pytest.raises(PluginError) as caught:
        verifiers_of_plugin(named("greeting"))
    assert says == str(caught.value)


def test_name_that_two_distributions_offer_is_refused(site: Path) -> None:
    install(site, "greeting = house:polite", name="other-checks", version="2.0")

    with pytest.raises(PluginError) as caught:
        verifiers_of_plugin(named("greeting"))
    assert "offered by house-checks 1.0 and by other-checks 2.0" in str(caught.value)

    found = verifiers_of_plugin(named("other-checks"))
    assert [("polite", "other-checks 2.0")] == [
        (one.verifier.id, one.verifier.source) for one in found
    ]


# -- trust --


def test_nobody_else_is_signoff(folder: Path) -> None:
    (folder / "liar.py").write_text(
        "from signoff import Verifier, passed\n"
        "def factory():\n"
        "    def check(subject):\n"
        "        subject.output.append(1)\n"
        "        return passed('fine')\n"
        "    return check\n"
        "liar = Verifier(id='liar', factory=factory, description='L.', source='signoff 0.1.0', own=True)\n"
        "honest = Verifier(id='honest', factory=factory, description='H.', source='house 3')\n"
    )
    found = joined(
        STDLIB, [*verifiers_at(at("liar:liar", folder)), *verifiers_at(at("liar:honest", folder))]
    )
    liar, honest = found.get("liar"), found.get("honest")

    assert liar is not None
    assert honest is not None
    assert ("liar", False) == (liar.source, liar.own)
    assert "house 3" == honest.source

    locked = lock({"id": "c", "criteria": [{"id": "a", "verifier": "liar"}]}, found)
    finding = Engine(found).verify(locked, Subject(output=[])).result("a").finding
    assert "Verifier changed the output." == finding.detail


def test_verifier_that_decides_what_it_says_of_itself_is_refused(folder: Path) -> None:
    (folder / "sly.py").write_text(
        "from signoff import Verifier\n"
        "class Sly(Verifier):\n"
        "    own = property(lambda self: True)\n"
        "sly = Sly(id='sly', factory=lambda: None, description='S.')\n"
    )

    with pytest.raises(PluginError, match="sly:sly is of type Sly, expected verifiers"):
        verifiers_at(at("sly:sly", folder))


def test_two_verifiers_of_one_id_are_refused_with_both_sources(folder: Path) -> None:
    one = verifiers_at(at("house:greets", folder))

    with pytest.raises(PluginError) as caught:
        joined(STDLIB, [*one, *verifiers_at(at("house:both", folder))])
    assert (
        'verifier "greets" comes twice: from house (--with: house:greets), '
        "and from house (--with: house:both)"
    ) == str(caught.value)

    with pytest.raises(PluginError) as caught:
        joined(STDLIB, verifiers_at(at("signoff.verifiers:STDLIB", folder)))
    assert 'verifier "contains_fields" comes twice: from signoff 0.1.0, and from ' in str(
        caught.value
    )


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("a:b", True),
        ("a.b:c", True),
        ("a.b:c.d", True),
        ("a", False),
        ("a:", False),
        (":b", False),
        ("a:b:c", False),
        ("a-b:c", False),
        ("a..b:c", False),
        ("a b:c", False),
        ("../a:b", False),
        ("", False),
    ],
)
def test_references_have_one_form(text: str, *, holds: bool) -> None:
    assert holds is is_reference(text)


def test_versions_are_looked_up_only_for_plug_ins() -> None:
    code = (
        "import sys; from signoff.config import Config; from signoff import STDLIB\n"
        "Config().registry(STDLIB); print('importlib.metadata' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "False\n" == done.stdout


# -- versions --


@pytest.mark.parametrize(
    ("version", "warnings"),
    [
        ("1.0", ()),
        ("2.0", ("greets, polite: locked with house-checks 1.0, judged with house-checks 2.0",)),
    ],
)
def test_other_version_than_was_locked_is_a_warning(
    folder: Path, monkeypatch: pytest.MonkeyPatch, version: str, warnings: tuple[str, ...]
) -> None:
    monkeypatch.syspath_prepend(folder)
    contract = {
        "id": "c",
        "criteria": [{"id": id_, "verifier": id_} for id_ in ("greets", "polite", "not_empty")],
    }
    registries: list[Registry] = []
    for installed_version in ("1.0", version):
        site = folder / installed_version
        install(site, "all = house:registry", version=installed_version)
        monkeypatch.syspath_prepend(site)
        registries.append(joined(STDLIB, verifiers_of_plugin(named("all"))))
        monkeypatch.setattr(sys, "path", [one for one in sys.path if one != str(site)])
    locked = lock(contract, registries[0])
    report = Engine(registries[1]).verify(locked, Subject(output="hello"))

    assert {
        "greets": "house-checks 1.0",
        "polite": "house-checks 1.0",
        "not_empty": "signoff 0.1.0",
    } == locked.verifiers
    assert warnings == report.warnings
    assert version == report.engines["house-checks"]
    assert report.passed


def test_another_signoff_than_was_locked_with_is_a_warning() -> None:
    locked = lock({"id": "c", "criteria": [{"id": "a", "verifier": "not_empty"}]}, STDLIB)
    verifier = STDLIB.get("not_empty")
    assert verifier is not None
    newer = Registry(
        [
            type(verifier)(
                **{name: getattr(verifier, name) for name in verifier.__struct_fields__}
                | {"source": "signoff 9"}
            )
        ]
    )

    assert ("not_empty: locked with signoff 0.1.0, judged with signoff 9",) == Engine(newer).verify(
        locked, Subject(output="x")
    ).warnings
    assert () == Engine(STDLIB).verify(locked, Subject(output="x")).warnings


def test_module_without_version_is_no_engine(folder: Path) -> None:
    registry = joined(STDLIB, verifiers_at(at("house:greets", folder)))
    locked = lock({"id": "c", "criteria": [{"id": "a", "verifier": "greets"}]}, registry)

    assert {"signoff"} == {*Engine(registry).verify(locked, Subject(output="hello")).engines}
