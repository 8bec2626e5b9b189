"""Private keys that were made once in a process, and serve all clusters that are played in it.

Making them is most of what a cluster would cost, and takes time in threads that nobody can foresee. Clusters that share
keys still have authorities of their own: their certificates differ.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from nagaya.pki import keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.keys import KeyAlgorithm, PrivateKey
from nagaya.world import World

COUNT: Final = 8


class PreparedKeys:
    """Hands them out in turn."""

    def __init__(self) -> None:
        self._next = 0

    async def key(self, algorithm: KeyAlgorithm) -> PrivateKey:
        """A key that was not handed out lately."""
        self._next += 1
        return _made(algorithm, self._next % COUNT)


@cache
def _made(algorithm: KeyAlgorithm, number: int) -> PrivateKey:
    return keys.generate(algorithm)


@cache
def prepared_authority() -> bytes:
    """The certificate of an authority that signs nothing."""
    return CertificateAuthority.create("nobody", World().clock).certificate_pem
