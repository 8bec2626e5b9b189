"""Asks Kubernetes' own code: one line of JSON out, one line back."""

from __future__ import annotations

import subprocess
from typing import Any

import orjson


class Oracle:
    """The program built from `main.go`, kept running."""

    def __init__(self, program: str) -> None:
        self._process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._known: dict[tuple[str, ...], dict[str, Any]] = {}

    def ask(self, question: str, **details: Any) -> dict[str, Any]:
        """One answer. `original` and `patch` may be bytes, to be sent as they are."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(orjson.dumps({"ask": question, **details}) + b"\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = orjson.loads(self._process.stdout.readline())
        return answer

    def ask_once(self, question: str, **where: str) -> dict[str, Any]:
        """What is always the same for a kind, such as the Go types it is made of."""
        key = (question, *where.values())
        if key not in self._known:
            self._known[key] = self.ask(question, **where)
        return self._known[key]

    def close(self) -> None:
        """Let the program end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
