"""Records what Cluster API's webhooks answer, for the unit tests of ours.

    python tools/admission-oracle/record.py

It builds the oracle beside this file with Go (some minutes the first time) and asks it every question, which takes
some minutes more. Questions with the same answer are recorded once per kind.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from questions import questions

HERE = Path(__file__).parent
RECORDED = HERE.parents[1] / "tests" / "unit" / "api" / "admission" / "recorded.jsonl"


def main() -> None:
    """Build, ask, write."""
    asked = list(questions())
    with tempfile.TemporaryDirectory() as folder:
        oracle = Path(folder) / "oracle"
        subprocess.run(["go", "build", "-o", oracle, "."], cwd=HERE, check=True)
        lines = "".join(f"{json.dumps(each)}\n" for each in asked)
        answers = subprocess.run([oracle], input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
    known: set[str] = set()
    with RECORDED.open("w", encoding="utf-8") as file:
        for question, answer in zip(asked, map(_shortened, answers), strict=True):
            key = json.dumps([question["resource"], answer, question["old"] is None], sort_keys=True)
            if key not in known:
                known.add(key)
                line = json.dumps({**question, **answer}, ensure_ascii=False, separators=(",", ":"))
                file.write(f"{line}\n")
    print(f"{len(asked)} questions, {len(known)} recorded")


def _shortened(line: str) -> dict[str, Any]:
    """An answer with as much of a Status as differs from one refusal to the next."""
    answer: dict[str, Any] = json.loads(line)
    if status := answer.get("status"):
        answer["status"] = {"message": status["message"], "causes": status["details"]["causes"]}
    return answer


if __name__ == "__main__":
    main()
