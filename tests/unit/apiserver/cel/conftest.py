"""Outcomes of expressions as short texts, so that what was learned from the real server fits into tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from nagaya.apiserver.cel import goformat, times
from nagaya.apiserver.cel.environment import BASE
from nagaya.apiserver.cel.program import CompileError, PlanError, compile
from nagaya.apiserver.cel.values import (
    CelError,
    CostExceededError,
    Duration,
    Optional,
    Timestamp,
    TypeValue,
    Uint,
)

# What an operand can begin with; written out in `test_parser` once, and shortened everywhere else.
_OPERAND = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)
_FINDING = re.compile(r"^ERROR: <input>:(.*)$", re.MULTILINE)


def _show(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Uint):
        return f"{int(value)}u"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"{goformat.general(value)} (double)"
    if isinstance(value, (str, bytes)):
        return repr(value)
    if isinstance(value, Duration):
        return f"duration {times.format_duration(value)}"
    if isinstance(value, Timestamp):
        return f"timestamp {times.format_timestamp(value)}"
    if isinstance(value, TypeValue):
        return f"type {value.name}"
    if isinstance(value, Optional):
        return f"optional({_show(value.value)})" if value.present else "none"
    if isinstance(value, list):
        return f"[{', '.join(map(_show, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(sorted(f"{_show(key)}: {_show(each)}" for key, each in value.items())) + "}"
    return f"a {value.type_name}"


def _outcome(expression: str) -> str:
    try:
        program = compile(expression, BASE)
    except CompileError as error:
        return "refused " + "; ".join(_FINDING.findall(str(error))).replace(_OPERAND, "an operand")
    except PlanError as error:
        return f"unplannable: {error}"
    try:
        return _show(program.evaluate({}))
    except (CelError, CostExceededError) as error:
        return f"error: {error}"


@pytest.fixture
def outcome_of() -> Callable[[str], str]:
    """What becomes of an expression without variables: its value, its error, or why it is refused (with places)."""
    return _outcome
