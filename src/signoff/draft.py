"""
A contract before it is locked: read from a document, with every fault of its shape.

A draft keeps the position of each criterion that could be read, so that the
faults of its parameters can be listed together with the faults of its shape.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, get_args

import msgspec
from msgspec import Struct

from signoff.canonical import require_json
from signoff.errors import Fault
from signoff.jsonvalue import JSON, join_pointer, json_type, shown
from signoff.model import Contract, Criterion, Isolation

__all__ = ["Draft", "document_of", "read_draft"]

MAX_CRITERIA = 10_000
MAX_ID = 200
CONTRACT_FIELDS = ("id", "title", "criteria", "min_isolation")
CRITERION_FIELDS = ("id", "verifier", "params", "description", "required")


class Draft(Struct, kw_only=True):
    """
    What could be read of a contract.

    Args:
        id: Its id, ``""`` when unreadable.
        title: Its title.
        min_isolation: Its lowest isolation level, or None.
        criteria: Each readable criterion with its index in the document.
        faults: Every fault of shape, in document order.
    """

    id: str = ""
    title: str = ""
    min_isolation: Isolation | None = None
    criteria: list[tuple[int, Criterion]] = []
    faults: list[Fault] = []

    def contract(self, criteria: tuple[Criterion, ...]) -> Contract:
        """The contract with these criteria."""
        return Contract(
            id=self.id, title=self.title, min_isolation=self.min_isolation, criteria=criteria
        )


def document_of(contract: Contract | Mapping[str, Any] | JSON) -> Any:
    """The document of a contract; anything else as it is."""
    if not isinstance(contract, Contract):
        return contract
    document = msgspec.to_builtins(contract)
    return document | {"criteria": list(document["criteria"])}


def read_draft(document: Any) -> Draft:
    """The draft in a JSON value; ``$schema`` at the top is for editors and is dropped."""
    if type(document) is not dict:
        return Draft(faults=[Fault("", f"contract must be object, got {_type_of(document)}")])
    try:
        require_json(document)
    except (TypeError, ValueError) as exc:
        return Draft(faults=[Fault("", f"contract is not JSON: {exc}")])
    draft = Draft(faults=list(_unknown(document, CONTRACT_FIELDS, "", "a contract", ("$schema",))))
    draft.id = _identifier(document, "id", "", draft.faults)
    draft.title = _text(document, "title", "", draft.faults)
    if "min_isolation" in document:
        draft.min_isolation = _isolation(document["min_isolation"], draft.faults)
    _read_criteria(document, draft)
    return draft


def _read_criteria(document: dict[str, JSON], draft: Draft) -> None:
    entries = document.get("criteria")
    if "criteria" not in document:
        draft.faults.append(Fault("", "criteria is required"))
    elif type(entries) is not list:
        message = f"criteria must be array, got {json_type(entries)}"
        draft.faults.append(Fault("/criteria", message))
    elif not entries:
        message = "criteria is empty: a contract must be able to fail"
        draft.faults.append(Fault("/criteria", message))
    elif len(entries) > MAX_CRITERIA:
        message = f"criteria has {len(entries)} entries, expected at most {MAX_CRITERIA}"
        draft.faults.append(Fault("/criteria", message))
    else:
        _read_entries(entries, draft)


def _read_entries(entries: list[JSON], draft: Draft) -> None:
    advisory = 0
    for index, entry in enumerate(entries):
        faults: list[Fault] = []
        criterion = _criterion(entry, f"/criteria/{index}", faults)
        advisory += type(entry) is dict and entry.get("required") is False
        draft.faults += faults
        if criterion is not None:
            draft.criteria.append((index, criterion))
    if advisory == len(entries):
        message = "no criterion is required: a contract must be able to fail"
        draft.faults.append(Fault("/criteria", message))
    ids = [(i, e["id"]) for i, e in enumerate(entries) if type(e) is dict and "id" in e]
    counts = Counter(id_ for _, id_ in ids if type(id_) is str)
    for id_, count in counts.items():
        if count > 1:
            last = max(index for index, other in ids if other == id_)
            where = f"/criteria/{last}/id"
            draft.faults.append(Fault(where, f"id '{shown(id_)}' is used {count} times"))


def _criterion(entry: JSON, where: str, faults: list[Fault]) -> Criterion | None:
    """The criterion, if enough of it can be read to bind its parameters."""
    if type(entry) is not dict:
        faults.append(Fault(where, f"criterion must be object, got {json_type(entry)}"))
        return None
    faults += _unknown(entry, CRITERION_FIELDS, where, "a criterion")
    id_ = _identifier(entry, "id", where, faults)
    verifier = _identifier(entry, "verifier", where, faults)
    description = _text(entry, "description", where, faults)
    required, params = entry.get("required", True), entry.get("params", {})
    if type(required) is not bool:
        faults.append(
            Fault(f"{where}/required", f"required must be boolean, got {json_type(required)}")
        )
        required = True
    if type(params) is not dict:
        faults.append(Fault(f"{where}/params", f"params must be object, got {json_type(params)}"))
        return None
    if not verifier:
        return None
    return Criterion(
        id=id_, verifier=verifier, params=params, description=description, required=required
    )


def _unknown(
    entry: dict[str, JSON], known: tuple[str, ...], where: str, of: str, also: tuple[str, ...] = ()
) -> Iterator[Fault]:
    for name in entry:
        if name not in known and name not in also:
            message = f"{shown(name)} is not a field of {of}"
            yield Fault(join_pointer(where, name), message, got=name, known=known)


def _identifier(entry: dict[str, JSON], name: str, where: str, faults: list[Fault]) -> str:
    if name not in entry:
        faults.append(Fault(where, f"{name} is required"))
        return ""
    value = entry[name]
    if type(value) is not str or not 0 < len(value) <= MAX_ID or shown(value) != value:
        message = (
            f"{name} must be string of 1 to {MAX_ID} characters, none of them a control character"
        )
        faults.append(Fault(f"{where}/{name}", message))
        return ""
    return value


def _text(entry: dict[str, JSON], name: str, where: str, faults: list[Fault]) -> str:
    value = entry.get(name, "")
    if type(value) is not str:
        faults.append(Fault(f"{where}/{name}", f"{name} must be string, got {json_type(value)}"))
        return ""
    return value


def _isolation(value: JSON, faults: list[Fault]) -> Isolation | None:
    for level in get_args(Isolation):
        if value == level:
            return level  # type: ignore[no-any-return]  # a member of the literal
    faults.append(Fault("/min_isolation", 'min_isolation must be "L0", "L1", "L2" or "L3"'))
    return None


def _type_of(value: object) -> str:
    try:
        return json_type(value)  # type: ignore[arg-type]  # anything may come in here
    except TypeError:
        return type(value).__name__
