"""How much work an evaluation may do, so that no rule can hold up the server.

The unit is roughly one step of the expression. Loops charge for each round as many steps as their body has; functions
whose work grows with their input or output charge a tenth of a step per character. Everything outside loops is bounded
by the length of the expression and is charged once.
"""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.cel.values import CostExceededError

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
