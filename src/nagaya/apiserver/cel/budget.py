"""How much work an evaluation may do, so that no rule can hold up the server.

The unit is roughly one step of the expression. Loops charge for each round as many steps as their body has; functions
whose work grows with their input or output charge a tenth of a step per character. Everything outside loops is bounded
by the length of the expression and is charged once.
"""

from __future__ import annotations

from typing import Any, Final

from nagaya.apiserver.cel.values import CostExceededError, MapLike

PER_CALL_LIMIT: Final = 1_000_000
"""What one evaluation of one expression may cost."""

PER_REQUEST_LIMIT: Final = 10_000_000
"""What all expressions evaluated for one object may cost together."""


class Budget:
    """What is left for one evaluation."""

    __slots__ = ("left", "limit")

    def __init__(self, limit: int = PER_CALL_LIMIT) -> None:
        self.limit = limit
        self.left = limit

    def spend(self, steps: int) -> None:
        """Use up some steps; raises when there are not as many left."""
        self.left -= steps
        if self.left < 0:
            raise CostExceededError

    @property
    def spent(self) -> int:
        """What the evaluation cost so far."""
        return self.limit - self.left


_SIZED: Final = frozenset({str, bytes, list, dict})
_SMALL: Final = 100
_OBJECT: Final = 8  # what an object costs apart from its members


def charge(budget: Budget, value: Any) -> None:
    """Pay for going through a text, list or map once. Small ones are part of the step that does it."""
    if type(value) in _SIZED and len(value) > _SMALL:
        budget.spend(len(value) // 10 if isinstance(value, (str, bytes)) else len(value))


def charge_deeply(budget: Budget, value: Any) -> None:
    """Pay for going through a value with everything in it."""
    if isinstance(value, (str, bytes)):
        if len(value) > _SMALL:
            budget.spend(len(value) // 10)
        return
    if isinstance(value, MapLike):
        value = value.native()
    if isinstance(value, (list, dict)) and value:
        budget.spend(len(value) + (_OBJECT if isinstance(value, dict) else 0))
        for each in value if isinstance(value, list) else value.values():
            if not isinstance(each, (int, float, type(None))):
                charge_deeply(budget, each)
