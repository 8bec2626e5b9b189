"""How much a condition counts when many are merged."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from nagaya.api.meta import Condition


class Weight(IntEnum):
    """The lower, the more it matters."""

    ISSUE = 0
    UNKNOWN = 1
    INFO = 2


Weigh = Callable[[Condition], Weight]
