"""
Starts pytest, in a process of its own, for a check: ``python launcher.py SPEC.json``.

This file is copied beside its specification and run by the Python of the tests, so
it imports nothing of signoff.  It keeps the workspace out of pytest's own imports,
adds the canaries, and notes what a look at the report would not show.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

NO_PYTEST = 69  # EX_UNAVAILABLE; pytest itself never ends with it
_READING = "importlib._bootstrap_external"
_NAMING = frozenset({"classname", "file", "name"})


class Observer:
    """
    A plug-in of pytest that adds the canaries and watches what becomes of reports.

    Args:
        pytest: The module.
        canary: File of the canaries, ``""`` for none.
        root: Folder of the judged work, without links.
    """

    def __init__(self, pytest: Any, canary: str, root: str) -> None:
        wrapping = pytest.hookimpl(hookwrapper=True, tryfirst=True)
        wrapping(Observer.pytest_collection)
        wrapping(Observer.pytest_collection_modifyitems)
        wrapping(Watcher.pytest_runtest_makereport)
        self._module = pytest.Module
        self._canary = canary
        self._root = root
        self._watcher = Watcher()
        self._hooks: list[str] = []
        self._canaries: list[Any] = []
        self._collected = 0
        self._kept = 0

    def facts(self) -> dict[str, Any]:
        """What was seen, as JSON."""
        return {
            "collected": self._collected,
            "deselected": self._collected - self._kept,
            "turned": self._watcher.turned(),
            "hooks": self._hooks,
        }

    def pytest_itemcollected(self, item: Any) -> None:  # noqa: ARG002  pytest goes by the name
        """Count what there is before anything is deselected."""
        self._collected += 1

    def pytest_collection_modifyitems(self, session: Any, items: list[Any]) -> Iterator[None]:
        """Put the canaries among the tests, so that what is done to all is done to them."""
        collected = self._collected
        if self._canary:
            self._canaries = self._beside_the_tests(session)
            items += self._canaries
        self._collected = collected
        yield

    def pytest_collection(self, session: Any) -> Iterator[None]:
        """Have the canaries run last, also where they were deselected."""
        yield
        plugins = session.config.pluginmanager
        own = [item for item in session.items if item not in self._canaries]
        for item in own:
            item.location = (_file_of(item), *item.location[1:])
        session.items[:] = own + self._canaries
        session.testscollected = len(session.items)
        self._kept = len(own)
        self._hooks = sorted(self._hooks_of_the_work(plugins))
        # Registered now, it stands outside of everything that the work has brought along.
        plugins.register(self._watcher)

    def _beside_the_tests(self, session: Any) -> list[Any]:
        """
        The canaries, for all that pytest knows neighbours of the first test.

        pytest asks a conftest.py about the tests below its folder alone, so from their
        own folder the canaries would see nothing of what is done to the others.
        """
        first = next(iter(session.items), None)
        neighbour = None if first is None else first.getparent(self._module)
        place = session.config.rootpath if neighbour is None else neighbour.path
        folder = place if neighbour is None else place.parent
        path = folder / Path(self._canary).name
        parent = session if neighbour is None else neighbour.parent
        module = self._module.from_parent(parent, path=path)
        module._obj = _executed(Path(self._canary).read_text("utf-8"), path)  # noqa: SLF001  its own would be imported
        items = list(session.genitems(module))
        for node in (module, *items):
            node.path = place  # where pytest looks for what goes for it; there must be a file
        return items

    def _hooks_of_the_work(self, plugins: Any) -> Iterator[str]:
        for plugin in plugins.get_plugins():
            file = os.path.realpath(getattr(plugin, "__file__", None) or os.devnull)
            if _is_beneath(file, self._root):
                for caller in plugins.get_hookcallers(plugin) or ():
                    yield f"{os.path.relpath(file, self._root)}: {caller.name}"


class Watcher:
    """A plug-in of pytest that remembers what was raised beside what is reported of it."""

    def __init__(self) -> None:
        self._seen: list[tuple[Any, Any]] = []

    def pytest_runtest_makereport(self, item: Any, call: Any) -> Iterator[None]:  # noqa: ARG002  likewise
        """Remember both; either may be changed before the end."""
        raised = call.excinfo
        outcome: Any = yield
        self._seen.append((raised, outcome.get_result()))

    def turned(self) -> list[str]:
        """Ids of the tests that raised and are reported as passed."""
        return [
            str(report.nodeid)
            for raised, report in self._seen
            if raised is not None and report.outcome == "passed"
        ]


def _naming(pytest: Any) -> types.ModuleType:
    """
    A plug-in of pytest by which no test takes the name of another in the report.

    What else a test says of itself is kept.
    """

    @pytest.fixture  # type: ignore[untyped-decorator]  # pytest may be absent where this is checked
    def record_xml_attribute(
        record_xml_attribute: Callable[[str, object], None],
    ) -> Callable[[str, object], None]:
        def record(name: str, value: object) -> None:
            if name not in _NAMING:
                record_xml_attribute(name, value)

        return record

    plugin = types.ModuleType("naming")
    vars(plugin)["record_xml_attribute"] = record_xml_attribute
    return plugin


def _file_of(item: Any) -> str:
    """
    The file that a test stands in, as the report is to have it.

    pytest gives the one that the function was written in, which may be another, and
    then leaves only a classname, whose dots may stand for folders or for themselves.
    """
    path: str = os.path.relpath(item.path, item.config.rootpath)
    return path.replace(os.sep, "/")


def _executed(source: str, path: Path) -> types.ModuleType:
    made = types.ModuleType(path.stem)
    made.__file__ = str(path)
    exec(compile(source, str(path), "exec"), vars(made))  # noqa: S102  a source of our own
    return made


def main(spec_file: str) -> int:
    """Run what a specification says; the exit code is pytest's."""
    with open(spec_file, encoding="utf-8") as file:  # noqa: PTH123  of any Python
        spec = json.load(file)
    return run(spec)


def run(spec: dict[str, Any]) -> int:
    """Run the tests in the current folder; the exit code is pytest's."""
    root = os.path.realpath(spec["root"])
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  likewise
    sys.path[:] = [entry for entry in sys.path if entry and entry != here]
    pytest = _pytest()
    _distrust_bytecode(root, spec["bytecode"])
    observer = Observer(pytest, spec["canary"], root)
    code = int(pytest.main(_arguments(spec, root), plugins=[observer, _naming(pytest)]))
    with open(spec["facts"], "w", encoding="utf-8") as file:  # noqa: PTH123  likewise
        json.dump(observer.facts(), file)
    return code


def _arguments(spec: dict[str, Any], root: str) -> list[str]:
    ours = ["-o", "addopts=", "-o", "junit_family=xunit1", f"--junitxml={spec['report']}"]
    return [*ours, f"--rootdir={os.getcwd()}", f"--confcutdir={root}", *spec["args"]]  # noqa: PTH109  likewise


def _pytest() -> Any:
    try:
        return importlib.import_module("pytest")
    except ImportError as exc:
        _give_up(f"{sys.executable} cannot import pytest: {exc}")


def _give_up(reason: str) -> NoReturn:
    sys.stderr.write(f"{reason}\n")
    raise SystemExit(NO_PYTEST)


def _distrust_bytecode(root: str, folder: str) -> None:
    """
    Let no compiled file of the workspace stand in for its source.

    One that bears the size and the time of a source is run in its place, whatever
    is in it.  Python keeps a prefix for compiled files, but that would have all
    installed packages compiled anew too.
    """
    for name, attribute in ((_READING, "cache_from_source"), (_REWRITING, "get_cache_dir")):
        module: Any = importlib.import_module(name)
        if hasattr(module, attribute):
            setattr(module, attribute, _elsewhere(getattr(module, attribute), root, folder))


_REWRITING = "_pytest.assertion.rewrite"


def _elsewhere(found: Callable[..., Any], root: str, folder: str) -> Callable[..., Any]:
    def cache_of(path: Any, *args: Any, **kwargs: Any) -> Any:
        usual = found(path, *args, **kwargs)
        if not _is_beneath(os.path.realpath(os.fspath(path)), root):
            return usual
        moved = folder + os.path.realpath(os.fspath(usual))
        return moved if isinstance(usual, str) else type(usual)(moved)

    return cache_of


def _is_beneath(path: str, root: str) -> bool:
    return path.startswith(root.rstrip(os.sep) + os.sep)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
