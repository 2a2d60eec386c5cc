"""The example of forge's documentation; its import lines are changed, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

from signoff.forge import load_contract_spec, verification_results_to_jsonable, verify_task_result

HERE = Path(__file__).parent


def main() -> None:
    input_obj = json.loads((HERE / "input.json").read_text())
    output_obj = json.loads((HERE / "output.json").read_text())

    spec = load_contract_spec("llm_boolean_gate", "v1")
    results = verify_task_result(spec, input_obj, output_obj)
    payload = verification_results_to_jsonable(results)

    print(json.dumps(payload, indent=2))


if __name__ == "__main__":
    main()
