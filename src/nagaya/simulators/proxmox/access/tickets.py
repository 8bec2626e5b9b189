"""Tickets and the tokens against forged requests that go with them.

A ticket says for whom and when it was made, and is signed with a key of the data center: any host accepts it, for two
hours. The second token protects what changes something against pages that make a browser send its cookie.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re

from nagaya.world import World

LIFETIME = 7200
GRACE = 300
"""Clocks of hosts may differ: a ticket may be that far from the future."""

_TICKET = re.compile(r"(PVE:(?P<user>[^:\s]+):(?P<time>[0-9A-F]{8}))::(?P<signature>\S+)")
_FORGERY_TOKEN = re.compile(r"(?P<time>[A-Z0-9]{8}):(?P<signature>\S+)")
_SIGNATURE_BLOCKS = 4  # of 64 bytes: as long as the signatures that PVE makes


class Tickets:
    """Makes and checks them for one data center."""

    def __init__(self, world: World) -> None:
        self._clock = world.clock
        self._key = world.random.randbytes(32)

    def ticket(self, user: str, *, age: float = 0) -> str:
        """A ticket made now, or some seconds ago."""
        claim = f"PVE:{user}:{self._time(age)}"
        return f"{claim}::{self._signature(claim)}"

    def user(self, ticket: str) -> str | None:
        """Whose ticket it is; None if it is none, or too old."""
        found = _TICKET.fullmatch(ticket)
        if found is None or not self._recent(found["time"]):
            return None
        return found["user"] if hmac.compare_digest(found["signature"], self._signature(found[1])) else None

    def forgery_token(self, user: str, *, age: float = 0) -> str:
        """What the header CSRFPreventionToken has to say."""
        time = self._time(age)
        return f"{time}:{self._forgery_signature(time, user)}"

    def forgery_token_fits(self, token: str, user: str) -> bool:
        """Whether such a token was made for a user, not long ago."""
        found = _FORGERY_TOKEN.fullmatch(token)
        if found is None or not self._recent(found["time"]):
            return False
        return hmac.compare_digest(found["signature"], self._forgery_signature(found["time"], user))

    def fingerprint(self, name: str) -> str:
        """A stand-in for the SHA-256 of a certificate that was not made: the same for one data center and name."""
        return hmac.digest(self._key, f"certificate:{name}".encode(), hashlib.sha256).hex(":").upper()

    def _time(self, age: float) -> str:
        return f"{int(self._clock.now().timestamp() - age):08X}"

    def _recent(self, time: str) -> bool:
        try:
            age = self._clock.now().timestamp() - int(time, 16)
        except ValueError:
            return False
        return -GRACE < age < LIFETIME

    def _signature(self, claim: str) -> str:
        blocks = (
            hmac.digest(self._key, f"{number}:{claim}".encode(), hashlib.sha512) for number in range(_SIGNATURE_BLOCKS)
        )
        return base64.b64encode(b"".join(blocks)).decode()

    def _forgery_signature(self, time: str, user: str) -> str:
        signature = hmac.digest(self._key, f"forgery:{time}:{user}".encode(), hashlib.sha256)
        return base64.b64encode(signature).decode().rstrip("=")
