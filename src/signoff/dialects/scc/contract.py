"""
A contract v0.1.0: read with all of its faults at once, and translated to the core's.

What is inside ``acceptance`` is read to the letter, because a misspelt key there
would weaken a check; unknown keys elsewhere are warnings.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct

from signoff.dialects.scc.argv import arguments
from signoff.dialects.scc.names import name_fault
from signoff.dialects.scc.placeholder import OWN_NAMES, expand, unknown
from signoff.dialects.scc.scope import Scope, read_scope
from signoff.dialects.scc.shape import LIMITS, Object, Shape
from signoff.document import parse_document
from signoff.errors import ContractError, Fault
from signoff.jsonvalue import JSON, join_pointer, json_type, shown
from signoff.model import Contract, Criterion, Isolation

__all__ = [
    "DEFAULT_TIMEOUT_S",
    "Check",
    "Examined",
    "Inputs",
    "Metadata",
    "SccContract",
    "core_contract",
    "examine",
    "read_contract",
]

DEFAULT_TIMEOUT_S: Final = 600
MAX_CHECK_NAME: Final = 200
OWN_PREFIX: Final = "scc."

_TEXTS: Final = ("constraints", "stop_condition", "commands_hint")
_METADATA: Final = ("oid", "layer", "primary_unit", "tags", "status")
_RECORDED: Final = ("task_tree_ref", "epic", "capability", "source_anchor")
_FIELDS: Final = (
    "schema_version", "task_id", "goal", "scope_allow", *_TEXTS, "acceptance", "inputs_ref",
    "outputs_expected", "project_id", "contract_id", *_METADATA, *_RECORDED,
)  # fmt: skip
_CHECK_FIELDS: Final = ("name", "command", "cwd", "timeout_s", "expects")
_EXPECTS_FIELDS: Final = ("exit_code", "evidence_paths")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_OUTSIDE: Final = re.compile(r"^/|^[A-Za-z]:|[\x00\\]")


class Check(Struct, frozen=True, kw_only=True):
    """
    One check of a contract.

    Args:
        name: Unique in the contract.
        command: As it is written; ``argv.arguments`` splits it.
        cwd: Folder below the workspace, ``""`` for its root.
        timeout_s: Seconds until it is killed.
        exit_code: How it is to end.
        evidence_paths: Paths and globs of which each must match a file that it wrote.
    """

    name: str
    command: str
    cwd: str = ""
    timeout_s: int = DEFAULT_TIMEOUT_S
    exit_code: int = 0
    evidence_paths: tuple[str, ...] = ()


class Inputs(Struct, frozen=True, kw_only=True):
    """
    ``inputs_ref``: what the work was given.

    Args:
        paths: Files.
        oids: Objects of the registry.
        pins_ref: Path or OID of the pins, ``""`` for none.
        map_path: Path of the map, ``""`` for none.
        map_digest: ``sha256:<hex>`` of its bytes.
        repo: Repository of the workspace, ``""`` when not named.
        commit: Commit before the work, ``""`` when not named.
    """

    paths: tuple[str, ...] = ()
    oids: tuple[str, ...] = ()
    pins_ref: str = ""
    map_path: str = ""
    map_digest: str = ""
    repo: str = ""
    commit: str = ""


class Metadata(Struct, frozen=True, kw_only=True):
    """Inline metadata of the registry, as written; ``""`` and ``()`` where absent."""

    oid: str = ""
    layer: str = ""
    primary_unit: str = ""
    tags: tuple[str, ...] = ()
    status: str = ""


class SccContract(Struct, frozen=True, kw_only=True):
    """
    A contract that can be executed.

    Args:
        task_id: Identity of the task.
        goal: What it is for.
        scope: What an executor may write.
        checks: In their order, at least one.
        inputs: What the work was given.
        evidence_paths: ``outputs_expected.evidence_paths``, judged last.
        texts: What is recorded and not interpreted.
        metadata: Inline metadata.
        warnings: What a person should know.
    """

    task_id: str
    goal: str
    scope: Scope
    checks: tuple[Check, ...]
    inputs: Inputs
    evidence_paths: tuple[str, ...] = ()
    texts: dict[str, str] = {}
    metadata: Metadata = Metadata()
    warnings: tuple[Fault, ...] = ()


class Examined(Struct, frozen=True, kw_only=True):
    """
    What could be read of a contract.

    Args:
        contract: The contract, None if it has a fault.
        task_id: Its task_id, ``""`` where there is none that can be used.
        faults: Every fault, with its place.
        warnings: What a person should know.
    """

    contract: SccContract | None
    task_id: str
    faults: tuple[Fault, ...]
    warnings: tuple[Fault, ...]


def read_contract(
    data: bytes, source: str, *, strict: bool = False, variables: Iterable[str] = ()
) -> SccContract:
    """
    The contract in the bytes of a file.

    Args:
        data: The file, strict JSON.
        source: Its name, for messages.
        strict: Warnings are faults.
        variables: Placeholders that the settings define.

    Raises:
        TextError: It is not strict JSON, too large or too deep.
        ContractError: With every fault, each with its line and column.
    """
    document = parse_document(data, source, limits=LIMITS, format="json")
    examined = examine(document.value, strict=strict, variables=variables)
    if examined.contract is None:
        raise ContractError(tuple(map(document.placed, examined.faults)), source=document.source)
    return examined.contract


def examine(
    value: JSON, *, strict: bool = False, draft: bool = False, variables: Iterable[str] = ()
) -> Examined:
    """
    The contract in a JSON value, or all that is wrong with it.

    Args:
        value: The document.
        strict: Warnings are faults.
        draft: A scope that begins with ``TBD`` is a warning: nothing is to be executed.
        variables: Placeholders that the settings define.
    """
    shape = Shape(strict=strict)
    document = shape.whole(value, "contract")
    if not isinstance(value, dict):
        return Examined(contract=None, task_id="", faults=tuple(shape.faults), warnings=())
    shape.version(document)
    task_id = _task_id(document, shape)
    names = (*OWN_NAMES, *variables)
    contract = SccContract(
        task_id=task_id,
        goal=shape.text(document, "goal", filled=True),
        scope=read_scope(document, shape, draft=draft),
        texts={name: shape.text(document, name) for name in _TEXTS}
        | {n: shape.text(document, n) for n in ("project_id", "contract_id") if n in document},
        checks=_checks(document, shape, names),
        inputs=_inputs(shape.object(document, "inputs_ref"), shape),
        evidence_paths=_outputs(document, shape, names),
        metadata=_metadata(document, shape),
        warnings=tuple(shape.warnings),
    )
    for name in document:
        if name not in _FIELDS:
            message = f"{shown(name)} is not a field of a contract"
            shape.warning(join_pointer("", name), message, got=name, known=_FIELDS)
    warnings, faults = tuple(shape.warnings), tuple(shape.faults)
    usable = None if faults else _with_warnings(contract, warnings)
    return Examined(contract=usable, task_id=task_id, faults=faults, warnings=warnings)


def core_contract(
    contract: SccContract,
    values: Mapping[str, str],
    *,
    conditions: tuple[Criterion, ...] = (),
    closing: tuple[Criterion, ...] = (),
    min_isolation: Isolation = "L1",
) -> Contract:
    """
    The core's contract: one required ``command`` criterion a check, between the conditions.

    Args:
        contract: What was read.
        values: Of each placeholder: TASK_CODE, TASK_ID, AREA and those of the settings.
        conditions: Criteria ``scc.*`` that come before the checks.
        closing: Criteria ``scc.*`` that come after them.
        min_isolation: Lowest level under which a check may run.

    Raises:
        CommandDenied: A command is denied; ask ``argv.split`` of all of them before.
    """
    checks = tuple(
        Criterion(id=one.name, verifier="command", params=_params(one, values))
        for one in contract.checks
    )
    return Contract(
        id=contract.task_id,
        title=shown(contract.goal),
        criteria=(*conditions, *checks, *closing),
        min_isolation=min_isolation,
    )


def _params(check: Check, values: Mapping[str, str]) -> dict[str, Any]:
    params: dict[str, Any] = {
        "argv": [*arguments(check.command, values)],
        "timeout_s": check.timeout_s,
        "exit_code": check.exit_code,
    }
    if check.cwd:
        params["cwd"] = check.cwd
    if check.evidence_paths:
        params["expect_files"] = [expand(one, values) for one in check.evidence_paths]
    return params


def _with_warnings(contract: SccContract, warnings: tuple[Fault, ...]) -> SccContract:
    fields = {name: getattr(contract, name) for name in contract.__struct_fields__}
    return SccContract(**{**fields, "warnings": warnings})


def _task_id(document: Object, shape: Shape) -> str:
    text = shape.text(document, "task_id")
    fault = name_fault(text) if isinstance(document.get("task_id"), str) else None
    if fault is not None:
        shape.fault("/task_id", f"task_id {fault}")
        return ""
    return text


def _checks(document: Object, shape: Shape, names: tuple[str, ...]) -> tuple[Check, ...]:
    acceptance = shape.object(document, "acceptance")
    if "acceptance" not in document or not isinstance(document["acceptance"], dict):
        return ()
    shape.closed(acceptance, "/acceptance", ("checks",), "acceptance")
    entries = shape.items(acceptance, "checks", "/acceptance")
    if not entries and isinstance(acceptance.get("checks"), list):
        shape.fault("/acceptance/checks", "checks is empty: a contract must be able to fail")
    checks = [_check(entry, where, shape, names) for where, entry in entries]
    seen: dict[str, str] = {}
    for one, (where, _) in zip(checks, entries, strict=True):
        if one.name in seen:
            message = f'name "{shown(one.name)}" is that of {seen[one.name]} too'
            shape.fault(f"{where}/name", message)
        elif one.name:
            seen[one.name] = where
    return tuple(checks)


def _check(entry: JSON, where: str, shape: Shape, names: tuple[str, ...]) -> Check:
    if not isinstance(entry, dict):
        shape.fault(where, f"a check must be object, got {json_type(entry)}")
        return Check(name="", command="")
    shape.closed(entry, where, _CHECK_FIELDS, "a check")
    expects = shape.object(entry, "expects", where, needed=False)
    place = f"{where}/expects"
    shape.closed(expects, place, _EXPECTS_FIELDS, "expects")
    command = shape.text(entry, "command", where, filled=True)
    _require_known(command, f"{where}/command", shape, names)
    evidence = shape.texts(expects, "evidence_paths", place, needed=False)
    for index, path in enumerate(evidence):
        _require_known(path, f"{place}/evidence_paths/{index}", shape, names)
    return Check(
        name=_check_name(entry, where, shape),
        command=command,
        cwd=_cwd(entry, where, shape),
        timeout_s=shape.integer(
            entry, "timeout_s", where, default=DEFAULT_TIMEOUT_S, least=1, needed=False
        ),
        exit_code=shape.integer(expects, "exit_code", place, needed=False),
        evidence_paths=evidence,
    )


def _check_name(entry: Object, where: str, shape: Shape) -> str:
    name = shape.text(entry, "name", where, filled=True)
    if len(name) > MAX_CHECK_NAME or shown(name) != name:
        message = f"name must have at most {MAX_CHECK_NAME} characters, none a control character"
        shape.fault(f"{where}/name", message)
    elif name.startswith(OWN_PREFIX):
        message = f'name begins with "{OWN_PREFIX}", as only the verifier\'s own conditions do'
        shape.fault(f"{where}/name", message)
    return name


def _cwd(entry: Object, where: str, shape: Shape) -> str:
    cwd = shape.text(entry, "cwd", where, needed=False)
    path = posixpath.normpath(cwd or ".")
    if _OUTSIDE.search(cwd) or path.split("/")[0] == "..":
        message = f'cwd "{shown(cwd)}" is no folder below the workspace'
        shape.fault(f"{where}/cwd", message)
    return "" if path == "." else path


def _require_known(text: str, where: str, shape: Shape, names: tuple[str, ...]) -> None:
    for name in unknown(text, names):
        message = f"%{shown(name)}% is no placeholder"
        shape.fault(where, message, got=name, known=names)


def _inputs(document: Object, shape: Shape) -> Inputs:
    where = "/inputs_ref"
    chart = shape.object(document, "map_ref", where, needed=False)
    workspace = shape.object(document, "workspace_ref", where, needed=False)
    found = Inputs(
        paths=shape.texts(document, "paths", where, needed=False),
        oids=shape.texts(document, "oids", where, needed=False),
        pins_ref=shape.text(document, "pins_ref", where, filled=True, needed=False),
        map_path=_inner(document, "map_ref", "path", chart, shape),
        map_digest=_inner(document, "map_ref", "hash", chart, shape),
        repo=_inner(document, "workspace_ref", "repo", workspace, shape),
        commit=_inner(document, "workspace_ref", "commit", workspace, shape),
    )
    if found.map_digest and not _DIGEST.fullmatch(found.map_digest):
        shape.fault(f"{where}/map_ref/hash", 'hash must be "sha256:" and 64 lower-case hex digits')
    if found.commit and not _COMMIT.fullmatch(found.commit):
        shape.fault(f"{where}/workspace_ref/commit", "commit must be 40 lower-case hex digits")
    return found


def _inner(document: Object, outer: str, name: str, value: Object, shape: Shape) -> str:
    """A text of an object that may be absent, and is whole where it is not."""
    if not isinstance(document.get(outer), dict):
        return ""
    return shape.text(value, name, f"/inputs_ref/{outer}", filled=True)


def _outputs(document: Object, shape: Shape, names: tuple[str, ...]) -> tuple[str, ...]:
    outputs = shape.object(document, "outputs_expected")
    where = "/outputs_expected"
    shape.boolean(outputs, "verdict_required", where)
    evidence = shape.texts(outputs, "evidence_paths", where, needed=False)
    for index, path in enumerate(evidence):
        _require_known(path, f"{where}/evidence_paths/{index}", shape, names)
    return evidence


def _metadata(document: Object, shape: Shape) -> Metadata:
    texts = {
        name: shape.text(document, name, needed=False)
        for name in ("oid", "layer", "primary_unit", "status")
    }
    return Metadata(tags=shape.texts(document, "tags", needed=False), **texts)
