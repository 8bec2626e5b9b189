"""Asks Kubernetes' own code: one line of JSON out, one line back."""

from __future__ import annotations

import subprocess
from typing import Any

import orjson


class Oracle:
    """The program built from `main.go`, kept running."""

    def __init__(self, program: str) -> None:
        self._process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, question: str, **details: Any) -> dict[str, Any]:
        """One answer. `original` and `patch` may be bytes, to be sent as they are."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(orjson.dumps({"ask": question, **details}) + b"\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = orjson.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        """Let the program end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
