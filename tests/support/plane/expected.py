"""That to which every story must come.

A cluster that was made at once as it is wanted, without any trouble, is compared value by value with the one that a
story has led to.
"""

from __future__ import annotations

from typing import Final

from support.end_state import difference
from support.plane.ends import End
from support.plane.established import established
from support.plane.wish import CLUSTERS, Wish

_KEPT: Final = 30
"""Lines of a difference that are told."""


def unlike(end: End) -> list[str]:
    """In what a cluster differs from one that was made at once as it is wanted."""
    wanted = end.wanted
    likewise = Wish(CLUSTERS[0], wanted.control_planes, wanted.workers, wanted.shares, hosted=wanted.hosted)
    if different := difference(established(likewise).state, end.state):
        told = f"{wanted.name} has come to another end than one that was made so at once:"
        return [told, *different.splitlines()[:_KEPT]]
    return []
