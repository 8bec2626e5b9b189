"""Records what Kubernetes' own code makes of the sequences in `cases.yaml`, for the unit tests to compare with.

go build -o smd-oracle . && python record.py
"""

from __future__ import annotations

import json
from pathlib import Path

import yaml
from oracle import Oracle
from samples import Json

HERE = Path(__file__).parent
RECORDED = HERE.parent.parent / "tests/unit/apiserver/apply/recorded.json"
RESET = {"": [["status"]], "status": [["metadata"], ["spec"]]}


def steps_of(case: Json, oracle: Oracle) -> list[Json]:
    """The steps of a case as requests, each with its answer."""
    found: list[Json] = []
    live: Json | None = None
    for number, step in enumerate(case["steps"]):
        operation = "apply" if "apply" in step else "update"
        request = {
            "op": operation,
            "manager": step[operation],
            "force": step.get("force", False),
            "subresource": step.get("through", ""),
            "now": f"2001-01-01T00:00:{number:02d}Z",
            "object": _object(step, live if operation == "update" else None),
        }
        ignored = {"x.io/v1": RESET[request["subresource"]]}
        answer = oracle.ask(**request, apiVersion="x.io/v1", kind="W", live=live, reset=ignored)
        found.append({"request": request, "answer": answer})
        if "object" in answer:
            live = json.loads(json.dumps(answer["object"]))
            live["metadata"]["uid"] = "u"
    return found


def _object(step: Json, live: Json | None) -> Json:
    base: Json = {"apiVersion": "x.io/v1", "kind": step.get("kind", "W"), "metadata": {"name": "n", "namespace": "ns"}}
    made = {**base, **(live or {}), **{key: step[key] for key in ("spec", "status") if key in step}}
    metadata = {key: value for key, value in made["metadata"].items() if key != "managedFields" or live is not None}
    return {**made, "metadata": {**metadata, **step.get("metadata", {})}}


def main() -> None:
    """Ask for every case and write the answers down."""
    described = yaml.safe_load((HERE / "cases.yaml").read_text())
    with Oracle() as oracle:
        oracle.teach("x.io", "W", {"v1": described["schema"]})
        cases = [{"name": case["name"], "steps": steps_of(case, oracle)} for case in described["cases"]]
    lines = ['{"schema": ' + json.dumps(described["schema"]) + ', "cases": [']
    for position, case in enumerate(cases):
        lines.append(f'{{"name": {json.dumps(case["name"])}, "steps": [')
        lines += [f" {json.dumps(step)}," for step in case["steps"]]
        lines[-1] = lines[-1].removesuffix(",")
        lines.append("]}" + ("," if position < len(cases) - 1 else ""))
    RECORDED.write_text("\n".join(lines) + "\n]}\n")


if __name__ == "__main__":
    main()
