"""Makes private keys without holding up the event loop, and only a few at a time.

An RSA key takes 0.1 to several seconds of a processor, and other threads run meanwhile. A thousand clusters that are
made at once wait for each other here, in the order in which they came, instead of starting thousands of threads.
"""

from __future__ import annotations

import asyncio
import os
from typing import Final, Protocol

from nagaya.pki import keys
from nagaya.pki.keys import KeyAlgorithm, PrivateKey

_QUICK: Final = (KeyAlgorithm.ECDSA_P256, KeyAlgorithm.ECDSA_P384)
"""Made in less time than it takes to hand them to a thread."""
_MOST: Final = 4


class Keys(Protocol):
    """Where private keys come from."""

    async def key(self, algorithm: KeyAlgorithm) -> PrivateKey:
        """A new key."""
        ...


class KeyMaker:
    """Makes keys in threads. One for all controllers of a process."""

    def __init__(self, at_once: int | None = None) -> None:
        self._gate = asyncio.Semaphore(at_once or min(os.cpu_count() or 1, _MOST))

    async def key(self, algorithm: KeyAlgorithm) -> PrivateKey:
        """A new key."""
        if algorithm in _QUICK:
            return keys.generate(algorithm)
        async with self._gate:
            return await asyncio.to_thread(keys.generate, algorithm)
