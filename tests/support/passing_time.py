"""Virtual time that also passes while something is computed, as real time does.

Where only waiting takes time, a wait that is shorter than the clock can tell apart never ends: whoever asks again what
is left of it gets the same answer for ever. Sums of times are rounded, so such waits come about by themselves.
"""

from __future__ import annotations

from typing import Any

from support.virtual_time import VirtualLoop

TURN = 1e-6
"""Seconds that a turn of the loop takes."""


class PassingLoop(VirtualLoop):
    """A virtual loop whose every turn takes a moment."""

    def __init__(self) -> None:
        super().__init__()
        waiting = self._leaping.select

        def select(timeout: float | None = None) -> Any:
            self._leaping.passed += TURN
            return waiting(timeout)

        self._leaping.select = select  # type: ignore[method-assign]  # the loop's own selector, of this loop alone
