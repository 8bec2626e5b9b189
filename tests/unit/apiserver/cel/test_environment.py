from __future__ import annotations

import subprocess
import sys

import pytest

from nagaya.apiserver.cel import types
from nagaya.apiserver.cel.environment import BASE
from nagaya.apiserver.cel.program import CompileError, compile

ABSENT = ["cel.bind(x, 1, x)", "math.greatest(1, 2)", "'abc'.reverse()", "[1].existsOne(x, true)", "base64.encode(b'')"]


@pytest.mark.parametrize("expression", ABSENT)
def test_what_kubernetes_does_not_enable_is_unknown(expression: str) -> None:
    with pytest.raises(CompileError):
        compile(expression, BASE)


def test_importing_the_room_loads_nothing_of_it() -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", "import sys, nagaya.apiserver.cel; print('re2' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert loaded.stdout.strip() == "False"


def test_variables_are_added_without_changing_the_base() -> None:
    extended = BASE.extend({"x": types.INT})
    assert compile("x + 1", extended).evaluate({"x": 2}) == 3
    with pytest.raises(CompileError, match="undeclared reference to 'x'"):
        compile("x + 1", BASE)


def test_a_program_knows_which_variables_it_uses() -> None:
    environment = BASE.extend({"x": types.INT, "y": types.INT, "a.b": types.INT})
    assert compile("[1].all(z, z < x) && a.b == 1", environment).references >= {"x", "a.b"}
    assert "y" not in compile("x == 1", environment).references
