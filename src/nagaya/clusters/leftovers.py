"""What is left of things that are gone, as it is told to people: what is provably ours, and what is not touched.

Whoever finds leftovers says for each by what it is known that it is ours and that nobody needs it; what cannot be shown
so is only listed, with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Leftover:
    """Something that is ours and that nothing needs any more."""

    what: str
    proof: str


@dataclass(frozen=True, slots=True)
class Untouched:
    """Something that is there, and why it is left alone."""

    what: str
    why: str
    remedy: str = ""
    """What whoever knows better can run; empty if there is nothing to be run."""
    waits: bool = False
    """Whether it is ours and goes with another run, when what is in the way is gone: a host that is off."""
