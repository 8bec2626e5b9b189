"""Which port the API of a simulated cluster gets."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final

LOOPBACK: Final = "127.0.0.1"
FIRST: Final = 20_000
LAST: Final = 29_999
"""Below the ports that the system gives to connections, so that one of those does not sit on a cluster's port, and
below those of NodePort Services."""


def choose(uid: str, free: Callable[[int], bool]) -> int | None:
    """A free port; None if there is none. It depends on the uid where it can, so clusters rarely want the same."""
    count = LAST - FIRST + 1
    begin = int.from_bytes(hashlib.sha256(uid.encode()).digest()[:8], "big") % count
    return next((port for step in range(count) if free(port := FIRST + (begin + step) % count)), None)
