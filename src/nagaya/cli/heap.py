"""The garbage collector, told what the processes of Nagaya are like.

Python looks for cycles of dead objects after every 700 allocations, and now and then among all objects there are. A
plane holds thousands of objects that live for ever and makes almost no cycles: on the defaults a fifth of its time went
into looking at the same objects again and finding nothing. So what a process has when it begins is never looked at, and
the rest less often. Memory is not more for it, because all that is not part of a cycle goes at once as ever.
"""

from __future__ import annotations

import gc
from typing import Final

ALLOCATIONS: Final = 10_000
"""How many objects more than before there are when the young ones are looked at."""


def settle() -> None:
    """To be called once, when everything is imported and put together."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(ALLOCATIONS)
