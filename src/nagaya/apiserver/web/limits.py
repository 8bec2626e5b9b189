"""What clients can make a listener hold: connections, and bytes of requests and answers.

Two rules hold everywhere. What nobody has vouched for shares small limits, so that strangers cannot use up what is
there for users. What one user holds is limited too: a user who has reached the limit is answered 429, and nobody else
notices. The service accounts of a namespace count as one user, because whoever may write there can make any number of
them. Members of `system:masters` are counted in no limit but that of all connections.
"""

from __future__ import annotations

import resource
from dataclasses import dataclass
from typing import Final

from nagaya.apiserver.authn.user import MASTERS, User, split_service_account

KIB: Final = 1024
MIB: Final = 1024 * KIB
_OWN_FILES: Final = 256  # descriptors that the rest of the process keeps
STRANGERS: Final = ""
"""In place of a user: all those who have not authenticated themselves."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one listener."""

    connections: int = 10_000  # or fewer, as the process may open files
    unauthenticated: int = 2048  # of these, on which no user has authenticated itself
    per_address: int = 1024  # of the unauthenticated ones, from one address
    per_user: int = 2048
    body: int = 3 * MIB
    bytes: int = 128 * MIB  # of requests and answers in memory, of all users
    user_bytes: int = 32 * MIB
    stranger_bytes: int = 32 * MIB

    def most_connections(self) -> int:
        """How many connections there can be, as far as the process may open files."""
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return self.connections if soft < 0 else min(self.connections, max(soft - _OWN_FILES, soft // 2))


def account_of(user: User) -> str | None:
    """The name under which a user's connections and bytes are counted; None if they are not limited."""
    if MASTERS in user.groups:
        return None
    account = split_service_account(user.name)
    return user.name if account is None else f"system:serviceaccount:{account[0]}"


class Budget:
    """Bytes that are in memory because clients asked for something."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._held: dict[str, int] = {}
        self.total = 0

    def take(self, account: str, size: int) -> bool:
        """Count bytes, unless that would be too many. A user who holds nothing is refused only if all together hold
        twice of what they may: otherwise a few users could keep out all others."""
        held, limits = self._held.get(account, 0), self._limits
        each = limits.user_bytes if account else limits.stranger_bytes
        over = 1 if held else 2
        if (held and held + size > each) or (self.total and self.total + size > over * limits.bytes):
            return False
        self._held[account] = held + size
        self.total += size
        return True

    def give(self, account: str, size: int) -> None:
        """Count bytes no longer."""
        self.total -= size
        left = self._held[account] - size
        if left:
            self._held[account] = left
        else:
            del self._held[account]
