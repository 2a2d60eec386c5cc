"""
The rules of the architecture, as functions from source text to complaints.

``tests/test_architecture.py`` applies them to the tree, and to snippets that
break them.  A new module is given its place in ``LAYERS`` by whoever adds it.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src" / "signoff"

# From the ground up.  A module imports from layers below its own, and inside
# its layer from places to the left.  "x.*" is every module of the folder x, "x"
# its __init__; modules that share a place may import each other without cycles.
LAYERS: Mapping[str, tuple[str, ...]] = {
    "words": (
        "_version",
        "errors",
        "interrupt",
        "status",
        "jsonvalue",
        "jsonlimits",
        "canonical",
        "exactjson",
        "strictjson",
        "jsonlines",
    ),
    "nouns": ("model", "backing"),
    "means": (
        "params",
        "pathglob",
        "color",
        "palette",
        "pixels",
        "connection",
        "exchange",
        "remote_service",
        "embedder",
        "folder",
        "evidence",
        "junit_report",
        "document.text",
        "document.beneath",
        "document.filebytes",
        "document.jsonplaces",
        "document.tomlplaces",
        "document.tomltext",
        "document.yamltext",
        "document",
        "git.*",
        "git",
        "sandbox.*",
        "sandbox",
        "command_settings",
        "schema_engine.*",
        "schema_engine",
        "schema_param",
    ),
    "registry": ("powers", "registry", "foreign"),
    "checks": (
        "folding",
        "items",
        "workspace",
        "left_files",
        "command_finding",
        "suite.*",
        "suite",
        "verifiers.*",
        "verifiers",
        "probes.*",
        "probes",
    ),
    "judgement": (
        "draft",
        "lockfile",
        "contract",
        "contractfile",
        "diff",
        "manual",
        "guard",
        "plan",
        "parallel",
        "engine",
        "quick",
        "policy",
    ),
    "keeping": (
        "plugins",
        "config",
        "configfile",
        "ledger.*",
        "ledger",
        "record",
        "rundir",
        "gate",
        "executors.*",
        "executors",
        "runs",
        "templates",
        "bulk.*",
        "bulk",
    ),
    "dialects": (
        "dialects.scc.*",
        "dialects.scc",
        "dialects.forge.*",
        "dialects.forge",
        "dialects.wattswarm.*",
        "dialects.wattswarm",
        "dialects.*",
        "dialects",
    ),
    "adapters": ("scc.*", "scc", "forge.*", "forge"),
    "façade": ("",),
    "doors": ("service.*", "service", "cli.*", "cli", "__main__"),
}

# Modules at one of these places do not see each other at all.
APART = ("verifiers.*", "probes.*", "dialects.*")

# Below the dialects nobody speaks the language of a dialect.
FOREIGN_WORDS = ("turn", "policy_hash", "reason_code", "oid", "candidate", "verifier_ids")
NEUTRAL_LAYERS = (
    "words",
    "nouns",
    "means",
    "registry",
    "checks",
    "judgement",
    "keeping",
)

# What a function may import when it runs: optional, dear at start-up, or not on
# every system.  Our own modules stand here one by one, each with what makes it dear.
LAZY = (
    "asyncio",
    "concurrent.futures",
    "difflib",
    "dis",
    "geographiclib",
    "importlib.metadata",
    "httptools",  # the extra "service"
    "jsonschema_rs",
    "opentelemetry",  # the extra "otel"
    "prometheus_client",  # the extra "metrics"
    "psycopg",
    "re2",
    "resource",
    "ruamel",
    "sentence_transformers",
    "signal",
    "signoff.document.beneath",  # ctypes
    "signoff.document.jsonplaces",  # patterns that only a fault needs
    "signoff.exactjson",  # patterns that only texts in doubt need
    "signoff.exchange",  # sockets and h11, the extra "http"
    "signoff.pixels",  # Pillow, the extra "image"
    "signoff.sandbox",  # sockets, processes and all that watches them
    "signoff.service.protocol",  # httptools, the extra "service"
    "signoff.schema_engine",  # threads, processes and the survey of schemas
    "signoff.service.download",  # signoff.exchange, where a host is allowed
    "signoff.document.tomlplaces",  # likewise
    "signoff.document.tomltext",  # tomllib
    "signoff.document.yamltext",  # ruamel.yaml
    "tomllib",
    "traceback",
    "uvloop",  # the extra "service"
)

# These find signoff's own modules when they are first wanted: the command line,
# so that a command imports only what it needs, and the façade for the same reason.
DEFERRING = ("", "cli", "cli.*")

# These import by name: as above, folders where adding a file is all it takes, and what
# an operator names; the launcher finds pytest in the Python of the tests.
BY_NAME = (*DEFERRING, "verifiers", "probes", "plugins", "suite.launcher")

IMPORTERS = ("__import__", "import_module")

VAGUE_NAMES = ("base", "common", "core", "helper", "helpers", "manager", "misc", "util", "utils")
MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 40
# All that a verdict comes from besides the checks: moving code among them hides nothing.
AUDITED = ("status", "engine", "plan", "guard", "contract")
MAX_AUDITED_LINES = 450

_EXCUSE = re.compile(
    r"#\s*(?:type:\s*ignore|noqa)\b(?P<codes>\[[a-z, -]+\]|:\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*)?"
)
_FOREIGN = re.compile(rf"(?:^|_)(?:{'|'.join(FOREIGN_WORDS)})(?:_|$)", re.IGNORECASE)

Function = ast.FunctionDef | ast.AsyncFunctionDef


def modules(root: Path = SOURCE) -> dict[str, str]:
    """Source text of every module, by its name without ``signoff.``; the façade is ``""``."""
    return {_name(path.relative_to(root)): path.read_text("utf-8") for path in root.rglob("*.py")}


def place(module: str) -> tuple[int, int, str] | None:
    """Layer, place in the layer and the pattern that matched; None for a module without a place."""
    for layer, patterns in enumerate(LAYERS.values()):
        for position, pattern in enumerate(patterns):
            if fnmatchcase(module, pattern):
                return layer, position, pattern
    return None


def imports(tree: ast.AST, known: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Modules of signoff that a module imports anywhere, each with its line."""
    names = frozenset(known)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "signoff" or alias.name.startswith("signoff."):
                    yield alias.name.removeprefix("signoff").removeprefix("."), node.lineno
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "signoff":
            parent = (node.module or "").removeprefix("signoff").removeprefix(".")
            for alias in node.names:
                child = f"{parent}.{alias.name}".removeprefix(".")
                yield (child if child in names else parent), node.lineno


def misplaced(sources: Mapping[str, str]) -> Iterator[str]:
    """Modules without a place, and imports that do not run downward and to the left."""
    for module, text in sources.items():
        own = place(module)
        if own is None:
            yield f"{module}: has no place in LAYERS"
            continue
        for target, line in imports(ast.parse(text), sources):
            other = place(target)
            if target == module:
                yield f"{module}:{line}: imports itself"
            elif other is None:
                yield f"{module}:{line}: imports {target or 'signoff'}, which has no place"
            elif other[:2] > own[:2]:
                yield f"{module}:{line}: imports {target or 'signoff'}, which stands above it"
            elif other[:2] == own[:2] and own[2] in APART:
                yield f"{module}:{line}: imports its neighbour {target}"
            elif (_dialect(module) and _dialect(target)) and _dialect(module) != _dialect(target):
                yield f"{module}:{line}: imports another dialect, {target}"


def cycles(sources: Mapping[str, str]) -> Iterator[str]:
    """Import cycles, also those among modules that share a place."""
    graph = {
        module: {target for target, _ in imports(ast.parse(text), sources)}
        for module, text in sources.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as exc:
        yield "cycle: " + " <- ".join(exc.args[1])


def hidden_imports(module: str, text: str) -> Iterator[str]:
    """Imports under TYPE_CHECKING, relative ones, and those that only run inside a function."""
    tree = ast.parse(text)
    deferring, by_name = _matches(module, DEFERRING), _matches(module, BY_NAME)
    unchecked = _imports_beneath(_guards(tree))
    inside = _imports_beneath(_functions(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            if node in unchecked:
                yield f"{module}:{node.lineno}: import under TYPE_CHECKING"
            if isinstance(node, ast.ImportFrom) and node.level:
                yield f"{module}:{node.lineno}: relative import"
            elif node in inside and not deferring:
                late = [name for name in _imported(node) if not _is_lazy(name)]
                yield from (
                    f"{module}:{node.lineno}: imports {name} inside a function" for name in late
                )
        elif isinstance(node, ast.Call) and _last(node.func) in IMPORTERS and not by_name:
            yield f"{module}:{node.lineno}: imports by name at run time"


def foreign_words(module: str, text: str) -> Iterator[str]:
    """Identifiers from the language of a dialect in a module below the dialects."""
    where = place(module)
    if where is None or list(LAYERS)[where[0]] not in NEUTRAL_LAYERS:
        return
    for node in ast.walk(ast.parse(text)):
        for identifier in _identifiers(node):
            if _FOREIGN.search(identifier):
                yield f"{module}:{getattr(node, 'lineno', 0)}: {identifier} is a word of a dialect"


def oversized(module: str, text: str) -> Iterator[str]:
    """A module or a function that is too long to be read at once."""
    if (lines := len(text.splitlines())) > MAX_MODULE_LINES:
        yield f"{module}: {lines} lines, at most {MAX_MODULE_LINES}"
    for function in _functions(ast.parse(text)):
        if (length := _body_lines(function)) > MAX_FUNCTION_LINES:
            yield (
                f"{module}:{function.lineno}: {function.name} has {length} lines, "
                f"at most {MAX_FUNCTION_LINES}"
            )


def audited_lines(sources: Mapping[str, str]) -> int:
    """Lines of code, without docstrings, comments and blank lines, of what an auditor reads."""
    return sum(_code_lines(sources.get(module, "")) for module in AUDITED)


def vague_name(module: str) -> Iterator[str]:
    """A module whose name says nothing."""
    for part in module.split("."):
        if part in VAGUE_NAMES:
            yield f"{module}: {part} is no name for a module"


def catches_everything(text: str) -> int:
    """How often a module catches ``BaseException``, by name, bare, or through ``suppress``."""
    return sum(_catches_everything(node) for node in ast.walk(ast.parse(text)))


def excuses(module: str, text: str) -> Iterator[str]:
    """Comments that silence ruff or mypy without a code, or without a reason on the line."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        found = list(_EXCUSE.finditer(token.string))
        if any(match["codes"] is None for match in found):
            yield f"{module}:{token.start[0]}: an excuse without a code"
        elif found and not re.search(r"[^\W\d_]{2}", _EXCUSE.sub("", token.string)):
            yield f"{module}:{token.start[0]}: an excuse without a reason on the line"


def without_future(module: str, text: str) -> Iterator[str]:
    """A module with code that does not begin with ``from __future__ import annotations``."""
    body = ast.parse(text).body
    code = body[1:] if body and _is_docstring(body[0]) else body
    if code and ast.unparse(code[0]) != "from __future__ import annotations":
        yield f"{module}: does not begin with from __future__ import annotations"


def _dialect(module: str) -> str:
    """The dialect that a module belongs to; ``""`` for one that belongs to none."""
    folder, _, rest = module.partition(".")
    return rest.partition(".")[0] if folder == "dialects" else ""


def _name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def _guards(tree: ast.AST) -> Iterator[ast.If]:
    return (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.If)
        and any(_last(part) == "TYPE_CHECKING" for part in ast.walk(node.test))
    )


def _imports_beneath(nodes: Iterable[ast.AST]) -> set[ast.AST]:
    beneath = (found for node in nodes for found in ast.walk(node))
    return {found for found in beneath if isinstance(found, ast.Import | ast.ImportFrom)}


def _matches(module: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(module, pattern) for pattern in patterns)


def _body_lines(function: Function) -> int:
    code = function.body[1:] if _is_docstring(function.body[0]) else function.body
    return (function.end_lineno or 0) - code[0].lineno + 1 if code else 0


def _code_lines(text: str) -> int:
    silent = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (*silent, tokenize.ENDMARKER):
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt) and _is_docstring(node):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _last(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [f"{node.module}.{alias.name}" for alias in node.names]


def _is_lazy(name: str) -> bool:
    return any(name == lazy or name.startswith(f"{lazy}.") for lazy in LAZY)


def _identifiers(node: ast.AST) -> list[str]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
            return [name]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.keyword(arg=str(name)) | ast.ExceptHandler(name=str(name)):
            return [name]
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return [name]
        case ast.alias(name=name, asname=asname):
            return [*name.split("."), *([asname] if asname else [])]
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return names
    return []


def _catches_everything(node: ast.AST) -> bool:
    if isinstance(node, ast.ExceptHandler):
        caught: list[ast.expr | None] = [node.type]
    elif isinstance(node, ast.Call) and _last(node.func) == "suppress":
        caught = [*node.args]
    else:
        return False
    return any(
        one is None or "BaseException" in {_last(part) for part in ast.walk(one)} for one in caught
    )
