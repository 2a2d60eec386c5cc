"""
The published JSON Schemas and TypeScript types, made from the model.

What a document may hold is said once, in the structs; here it is written down
for programs in other languages.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from copy import deepcopy
from enum import Enum
from typing import Any

import msgspec
from msgspec import Struct

from signoff.draft import MAX_CRITERIA, MAX_ID
from signoff.lockfile import FORMAT as LOCK_FORMAT
from signoff.lockfile import LockFile
from signoff.model import Contract, Report
from signoff.record import FORMAT as VERDICT_FORMAT
from signoff.record import Facts, VerdictFile
from signoff.status import Cause, Outcome, Status

__all__ = ["DOCUMENTS", "schema_of", "typescript"]

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
DIGEST: Schema = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}
NO_CONTROL: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_ID,
    "pattern": r"^[^\u0000-\u001f\u007f-\u009f]*$",
}
DOCUMENTS: dict[str, tuple[type[Struct], str]] = {
    "contract": (Contract, "A signoff contract, before it is locked"),
    "lock": (LockFile, "A locked contract: contract.lock.json"),
    "report": (Report, "What was found out about one output: report.json"),
    "verdict": (VerdictFile, "What a run came to: verdict.json"),
    "facts": (Facts, "What was recorded besides the output: facts.json"),
}
# What the types alone do not say: schema by struct and field.
NARROWED: dict[tuple[str, str], Schema] = {
    ("Contract", "id"): NO_CONTROL,
    ("Contract", "criteria"): {
        "type": "array",
        "items": {"$ref": "#/$defs/Criterion"},
        "minItems": 1,
        "maxItems": MAX_CRITERIA,
        # At least one is required, or the contract could not fail.
        "contains": {
            "not": {"properties": {"required": {"const": False}}, "required": ["required"]}
        },
    },
    ("Contract", "min_isolation"): {"enum": ["L0", "L1", "L2", "L3"]},
    ("Criterion", "id"): NO_CONTROL,
    ("Criterion", "verifier"): NO_CONTROL,
    ("Criterion", "params"): {"type": "object"},
    ("LockFile", "format"): {"const": LOCK_FORMAT},
    ("LockFile", "contract"): {"$ref": "#/$defs/Contract"},
    ("VerdictFile", "format"): {"const": VERDICT_FORMAT},
    ("VerdictFile", "files"): {"type": "object", "additionalProperties": DIGEST},
    ("VerdictFile", "evidence"): {
        "type": "object",
        "propertyNames": DIGEST,
        "additionalProperties": {"type": "integer", "minimum": 0},
    },
    ("Evidence", "size"): {"type": "integer", "minimum": 0},
}
JSON_TYPES = ("null", "boolean", "number", "string", "Json[]", "{ [key: string]: Json }")
# Docstrings speak of Python, schemas of JSON.
SPELLINGS = {"``": "`", r"\bNone\b": "null", r"\bFalse\b": "false", r"\bTrue\b": "true"}
TIMES = ("started", "when")
ENUMS: dict[str, type[Enum]] = {"Status": Status, "Outcome": Outcome, "Cause": Cause}


def schema_of(name: str) -> Schema:
    """The published schema of a document."""
    struct, title = DOCUMENTS[name]
    definitions = {key: _published(key, rule) for key, rule in _components(struct).items()}
    top = definitions.pop(struct.__name__)
    if struct is Contract:
        editors = {"type": "string", "description": "For editors; dropped when it is locked."}
        top["properties"] = {"$schema": editors} | top["properties"]
    return {
        "$schema": DIALECT,
        "$id": f"urn:signoff:schema:{name}:1",
        "title": title,
        **top,
        "$defs": definitions,
    }


def _components(struct: type[Struct]) -> dict[str, Schema]:
    # The contract in a lock file is read by rules of its own, so its type does not say what it is.
    structs = [struct, Contract] if struct is LockFile else [struct]
    _, components = msgspec.json.schema_components(structs, ref_template="#/$defs/{name}")
    return dict(sorted(components.items()))


def _published(name: str, schema: Schema) -> Schema:
    """The schema of one type, with what only its docstring and this module know."""
    summary, meanings = _docstring(schema.get("description", ""))
    if name in ENUMS:
        return {"description": summary, "enum": [member.value for member in ENUMS[name]]}
    fields = schema["properties"]
    properties = {field: _field(name, field, rule) for field, rule in fields.items()}
    for field, meaning in meanings.items():
        properties[field] = {"description": meaning} | properties[field]
    return {
        "description": summary,
        "type": "object",
        "properties": properties,
        "required": _required(name, schema),
        "additionalProperties": False,
    }


def _required(name: str, schema: Schema) -> list[str]:
    """What a document must have: a struct that leaves nothing out when written has it all."""
    found = {struct.__name__: struct for struct in _structs(Struct)}
    if found[name].__struct_config__.omit_defaults:
        return list(schema.get("required", []))
    return list(schema["properties"])


def _structs(root: type[Struct]) -> Iterator[type[Struct]]:
    for struct in root.__subclasses__():
        yield struct
        yield from _structs(struct)


def _field(name: str, field: str, rule: Schema) -> Schema:
    rule = {key: value for key, value in deepcopy(rule).items() if key != "default"}
    if (name, field) in NARROWED:
        return deepcopy(NARROWED[name, field])
    if field == "digest" or field.endswith("_digest"):
        return {"anyOf": [DIGEST, {"type": "null"}]} if "anyOf" in rule else dict(DIGEST)
    return rule | {"format": "date-time"} if field in TIMES else rule


def _docstring(text: str) -> tuple[str, dict[str, str]]:
    """The first paragraph, and the meaning of each argument."""
    for python, json in SPELLINGS.items():
        text = re.sub(python, json, text)
    summary = " ".join(text.split("\n\n")[0].split())
    meanings: dict[str, str] = {}
    current = ""
    for line in text.partition("Args:\n")[2].splitlines():
        started = re.match(r"    (\w+): (.*)", line)
        if started:
            current = started[1]
            meanings[current] = started[2]
        elif line.startswith("        ") and current:
            meanings[current] += f" {line.strip()}"
        elif line.strip():
            break
    return summary, meanings


def typescript() -> str:
    """TypeScript types of all the documents."""
    declarations: dict[str, str] = {}
    for name, (struct, _) in DOCUMENTS.items():
        schema = schema_of(name)
        for key, definition in ({struct.__name__: schema} | schema["$defs"]).items():
            declarations.setdefault(key, _declaration(key, definition))
    return "\n".join(
        [
            "// Types of signoff's documents, made from the JSON Schemas beside this file.\n",
            f"export type Json = {' | '.join(JSON_TYPES)};\n",
            *declarations.values(),
        ]
    )


def _declaration(name: str, schema: Schema) -> str:
    comment = f"/** {inspect.cleandoc(schema['description'])} */\n"
    if "enum" in schema:
        return f"{comment}export type {name} = {_type(schema)};\n"
    required = set(schema["required"])
    lines = []
    for field, rule in schema["properties"].items():
        if "description" in rule:
            lines.append(f"  /** {rule['description']} */")
        mark = "" if field in required else "?"
        key = field if field.isidentifier() else f'"{field}"'
        lines.append(f"  readonly {key}{mark}: {_type(rule)};")
    return f"{comment}export interface {name} {{\n" + "\n".join(lines) + "\n}\n"


def _type(rule: Schema) -> str:
    if "$ref" in rule:
        return str(rule["$ref"]).rpartition("/")[2]
    if "anyOf" in rule:
        return " | ".join(_type(entry) for entry in rule["anyOf"])
    if "enum" in rule:
        return " | ".join("null" if value is None else f'"{value}"' for value in rule["enum"])
    if "const" in rule:
        return f'"{rule["const"]}"'
    if rule.get("type") == "array":
        return f"readonly ({_type(rule['items'])})[]"
    if rule.get("type") == "object":
        values = rule.get("additionalProperties")
        return (
            f"{{ readonly [key: string]: {_type(values) if isinstance(values, dict) else 'Json'} }}"
        )
    names = {"integer": "number", "number": "number", "string": "string"}
    names |= {"boolean": "boolean", "null": "null"}
    return names[rule["type"]] if "type" in rule else "Json"
