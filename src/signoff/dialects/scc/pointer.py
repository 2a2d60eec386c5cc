"""``pointer.json``: which run the stable pointer beside it speaks for."""

from __future__ import annotations

import re
from typing import Final

import msgspec
from msgspec import Struct

from signoff.dialects.scc.names import is_run_id, mirror_path, name_fault, run_path
from signoff.dialects.scc.shape import LIMITS, VERSION, Shape
from signoff.document import parse_document
from signoff.errors import ContractError

__all__ = ["PointerDocument", "encode_pointer", "read_pointer"]

_SHA256: Final = re.compile(r"[0-9a-f]{64}")


class PointerDocument(Struct, frozen=True, kw_only=True):
    """
    The sidecar of a stable pointer.

    Args:
        run_id: Of the run that owns the pointer.
        task_id: Of its contract.
        task_code: Under which its artifacts are filed.
        area: In which they are.
        run_dir: Run output directory.
        artifacts_dir: The mirror, in which evidence paths resolve.
        contract_sha256: 64 hex digits.
        commit: That was judged, ``""`` without version control.
        verdict_sha256: 64 hex digits, of the verdict's bytes.
    """

    schema_version: str = VERSION
    run_id: str
    task_id: str
    task_code: str
    area: str
    run_dir: str
    artifacts_dir: str
    contract_sha256: str
    commit: str
    verdict_sha256: str


def encode_pointer(pointer: PointerDocument) -> bytes:
    """The bytes of a sidecar."""
    return msgspec.json.format(msgspec.json.encode(pointer), indent=2) + b"\n"


def read_pointer(data: bytes, source: str = "pointer.json") -> PointerDocument:
    """
    The sidecar in the bytes of a file; its two folders are those that its names come to.

    Raises:
        TextError: It is not strict JSON.
        ContractError: With every fault.
    """
    document = parse_document(data, source, limits=LIMITS, format="json")
    shape = Shape()
    value = shape.whole(document.value, "pointer")
    names = [name for name in PointerDocument.__struct_fields__ if name != "schema_version"]
    shape.closed(value, "", PointerDocument.__struct_fields__, "a pointer")
    shape.version(value)
    pointer = PointerDocument(**{name: shape.text(value, name) for name in names})
    for name in ("task_id", "task_code", "area"):
        if (fault := name_fault(getattr(pointer, name))) is not None:
            shape.fault(f"/{name}", f"{name} {fault}")
    if not is_run_id(pointer.run_id):
        shape.fault("/run_id", "run_id must be YYYYMMDD-HHMMSS- and 8 hex digits")
    if pointer.run_dir != run_path(pointer.run_id):
        shape.fault("/run_dir", "run_dir is not that of the run_id")
    if pointer.artifacts_dir != mirror_path(pointer.area, pointer.task_code):
        shape.fault("/artifacts_dir", "artifacts_dir is not that of the area and the TaskCode")
    for name in ("contract_sha256", "verdict_sha256"):
        if not _SHA256.fullmatch(getattr(pointer, name)):
            shape.fault(f"/{name}", f"{name} must be 64 lower-case hex digits")
    if shape.faults:
        raise ContractError(tuple(shape.faults), source=source)
    return pointer
