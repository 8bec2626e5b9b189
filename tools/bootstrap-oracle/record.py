"""Records what Cluster API's bootstrap provider hands to machines, for the unit tests of ours.

    python tools/bootstrap-oracle/record.py

It builds the oracle beside this file with Go (some minutes the first time) and asks it every question.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

from questions import questions

HERE = Path(__file__).parent
RECORDED = HERE.parents[1] / "tests" / "unit" / "bootstrap" / "recorded.jsonl"


def main() -> None:
    """Build, ask, write."""
    asked = list(questions())
    with tempfile.TemporaryDirectory() as folder:
        oracle = Path(folder) / "oracle"
        subprocess.run(["go", "build", "-o", oracle, "."], cwd=HERE, check=True)
        lines = "".join(f"{json.dumps(each)}\n" for each in asked)
        answers = subprocess.run([oracle], input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
    with RECORDED.open("w", encoding="utf-8") as file:
        for question, line in zip(asked, answers, strict=True):
            answer = json.loads(line)
            if "error" in answer:
                raise SystemExit(f"{question['name']}: {answer['error']}")
            file.write(json.dumps({**question, **answer}, ensure_ascii=False, separators=(",", ":")) + "\n")
    print(f"{len(asked)} machines recorded")


if __name__ == "__main__":
    main()
