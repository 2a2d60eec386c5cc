"""
Write what is made from the code: the page of verifiers, the schemas, the types.

``python -m tools.generate`` writes; with ``--check`` it only says what is stale,
and ends with 1 if anything is.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from signoff.probes import PROBES
from signoff.verifiers import STDLIB
from tools.openapi import document
from tools.schemas import DOCUMENTS, schema_of, typescript
from tools.verifiers_page import page

ROOT = Path(__file__).resolve().parent.parent
SCHEMAS = "src/signoff/schemas"


def generated() -> dict[str, str]:
    """The content of each generated file, by its name in the tree."""
    schemas = {f"{SCHEMAS}/{name}.schema.json": _json(schema_of(name)) for name in DOCUMENTS}
    return {
        "docs/verifiers.md": page(STDLIB, PROBES),
        **schemas,
        f"{SCHEMAS}/openapi.json": _json(document()),
        f"{SCHEMAS}/signoff.d.ts": typescript(),
    }


def stale(root: Path = ROOT) -> list[str]:
    """Names of the generated files that are not as they would be written now."""
    return [name for name, text in generated().items() if _content(root / name) != text]


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print("generate: takes --check and nothing else", file=sys.stderr)
        return 2
    names = stale()
    if arguments:
        for name in names:
            print(f"stale: {name}; make docs writes it anew")
        return 1 if names else 0
    texts = generated()
    for name in names:
        (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / name).write_text(texts[name], "utf-8")
        print(f"wrote {name}")
    return 0


def _content(path: Path) -> str | None:
    return path.read_text("utf-8") if path.exists() else None


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
