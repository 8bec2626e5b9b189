"""What a real kube-apiserver v1.36.3 answered to objects of ours: the expectations of the tests beside this file."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nagaya.apiserver.meta.field_errors import FieldError


def load(name: str) -> list[dict[str, Any]]:
    lines = (Path(__file__).parent / f"recorded_{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def causes(errors: Iterable[FieldError]) -> list[list[str]]:
    """Errors in the form of a Status' causes, sorted, since the real server's order is partly random."""
    return sorted([str(error.cause), error.field, error.body] for error in errors)
