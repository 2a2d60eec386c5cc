"""
The published JSON Schemas and TypeScript types, made from the model.

What a document may hold is said once, in the structs; here it is written down
for programs in other languages.
"""

from __future__ import annotations

import inspect
import re
from enum import Enum
from typing import Any

import msgspec

from signoff.lockfile import FORMAT as LOCK_FORMAT
from signoff.lockfile import LockFile
from signoff.model import Contract, Report
from signoff.rundir import FORMAT as VERDICT_FORMAT
from signoff.rundir import VerdictFile
from signoff.status import Cause, Outcome, Status

DIALECT = "https://json-schema.org/draft/2020-12/schema"
DIGEST = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}
IDENTIFIER = {"type": "string", "minLength": 1, "maxLength": 200}
DOCUMENTS: dict[str, tuple[type, str]] = {
    "contract": (Contract, "A signoff contract, before it is locked"),
    "lock": (LockFile, "A locked contract: contract.lock.json"),
    "report": (Report, "What was found out about one output: report.json"),
    "verdict": (VerdictFile, "What a run came to: verdict.json"),
}
# What the types alone do not say: schema by struct and field.
NARROWED: dict[tuple[str, str], dict[str, Any]] = {
    ("Contract", "id"): IDENTIFIER,
    ("Contract", "criteria"): {
        "type": "array",
        "items": {"$ref": "#/$defs/Criterion"},
        "minItems": 1,
        "maxItems": 10_000,
        "contains": {"not": {"properties": {"required": {"const": False}}, "required": ["required"]}},
    },
    ("Contract", "min_isolation"): {"enum": ["L0", "L1", "L2", "L3"]},
    ("Criterion", "id"): IDENTIFIER,
    ("Criterion", "verifier"): IDENTIFIER,
    ("Criterion", "params"): {"type": "object"},
    ("LockFile", "format"): {"const": LOCK_FORMAT},
    ("LockFile", "contract"): {"$ref": "#/$defs/Contract"},
    ("VerdictFile", "format"): {"const": VERDICT_FORMAT},
}
ENUMS: dict[str, type[Enum]] = {"Status": Status, "Outcome": Outcome, "Cause": Cause}


def schema_of(name: str) -> dict[str, Any]:
    """The published schema of a document."""
    struct, title = DOCUMENTS[name]
    structs = [struct] if struct is not LockFile else [LockFile, Contract]
    _, components = msgspec.json.schema_components(structs, ref_template="#/$defs/{name}")
    definitions = {key: _tightened(key, value) for key, value in sorted(components.items())}
    top = definitions.pop(struct.__name__)
    if struct is Contract:
        top["properties"] = {"$schema": {"type": "string"}} | top["properties"]
    return {
        "$schema": DIALECT,
        "$id": f"urn:signoff:schema:{name}:1",
        **top,
        "title": title,
        "$defs": definitions,
    }


def _tightened(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    schema = {key: value for key, value in schema.items() if key != "title"}
    summary, meanings = _docstring(schema.get("description", ""))
    schema["description"] = summary
    if name in ENUMS:
        return schema | {"enum": [member.value for member in ENUMS[name]]}
    for field, rule in schema.get("properties", {}).items():
        narrowed = NARROWED.get((name, field))
        if narrowed is not None:
            rule.clear()
            rule |= narrowed
        elif field == "digest" or field.endswith("_digest"):
            nullable = "anyOf" in rule
            rule.clear()
            rule |= {"anyOf": [DIGEST, {"type": "null"}]} if nullable else DIGEST
        elif field in {"started", "when"}:
            rule["format"] = "date-time"
        rule.pop("default", None)
        if field in meanings:
            rule["description"] = meanings[field]
    return schema | {"additionalProperties": False}


def _docstring(text: str) -> tuple[str, dict[str, str]]:
    """The first paragraph, and the meaning of each argument."""
    summary = " ".join(text.split("\n\n")[0].split())
    meanings: dict[str, str] = {}
    current = ""
    for line in text.partition("Args:\n")[2].splitlines():
        started = re.match(r"    (\w+): (.*)", line)
        if started:
            current = started[1]
            meanings[current] = started[2]
        elif line.startswith("        ") and current:
            meanings[current] += " " + line.strip()
        elif line.strip():
            break
    return summary, meanings


def typescript() -> str:
    """TypeScript types of all the documents."""
    parts = [
        "// Types of signoff's documents, made from its JSON Schemas.\n",
        "export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };\n",
    ]
    seen: set[str] = set()
    for name, (struct, _) in DOCUMENTS.items():
        schema = schema_of(name)
        definitions = {struct.__name__: schema} | schema["$defs"]
        for key, definition in definitions.items():
            if key not in seen:
                seen.add(key)
                parts.append(_declaration(key, definition))
    return "\n".join(parts)


def _declaration(name: str, schema: dict[str, Any]) -> str:
    comment = f"/** {inspect.cleandoc(schema['description'])} */\n" if "description" in schema else ""
    if "enum" in schema:
        return f"{comment}export type {name} = {_type(schema)};\n"
    required = set(schema.get("required", ()))
    lines = []
    for field, rule in schema["properties"].items():
        if "description" in rule:
            lines.append(f"  /** {rule['description']} */")
        mark = "" if field in required else "?"
        shown = field if field.isidentifier() else f'"{field}"'
        lines.append(f"  {shown}{mark}: {_type(rule)};")
    return f"{comment}export interface {name} {{\n" + "\n".join(lines) + "\n}\n"


def _type(rule: dict[str, Any]) -> str:
    if "$ref" in rule:
        return str(rule["$ref"]).rpartition("/")[2]
    if "anyOf" in rule:
        return " | ".join(_type(entry) for entry in rule["anyOf"])
    if "enum" in rule:
        return " | ".join(f'"{value}"' for value in rule["enum"])
    if "const" in rule:
        return f'"{rule["const"]}"'
    kind = rule.get("type")
    if kind == "array":
        return f"readonly ({_type(rule['items'])})[]"
    if kind == "object":
        values = rule.get("additionalProperties")
        return f"{{ [key: string]: {_type(values) if isinstance(values, dict) else 'Json'} }}"
    names = {"string": "string", "number": "number", "integer": "number", "boolean": "boolean"}
    return names.get(str(kind), "null" if kind == "null" else "Json")
