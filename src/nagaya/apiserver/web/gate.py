"""The places for connections, and who gets them when there are not enough.

A connection belongs to an address until a user authenticates itself on it, and to that user from then on. Strangers and
users have places of their own. When they run out, whoever has most loses the oldest connection that is idle. A flood
thus displaces itself: a new client always gets in, and has the time until as many others have come to say who it is.
Users whose connections are all at work make room for administrators, and for users who have much less.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable
from typing import Final

from nagaya.apiserver.web.limits import Limits

_NETWORK: Final = 8  # bytes of an IPv6 address that its owner does not choose freely

Group = dict["Seat", None]


class Seat:
    """The place of one connection."""

    __slots__ = ("_gate", "busy", "close", "owner", "user")

    def __init__(self, gate: Gate, owner: str) -> None:
        self._gate = gate
        self.owner = owner
        self.close: Callable[[], object] = self.leave  # how to close the connection, set by whoever opens it
        self.user = False  # whether the owner is a user
        self.busy = False  # a request is being served

    def claim(self, account: str | None) -> bool:
        """A user has authenticated itself; None is one without limit. False if the user has too many connections."""
        return self.user or self._gate.claim(self, account)

    def leave(self) -> None:
        """The connection is gone. A second time has no effect."""
        self._gate.leave(self)


class Gate:
    """All connections of a listener."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        most = limits.most_connections()
        self._most_strangers = min(limits.unauthenticated, most // 2)
        self._most_users = most - self._most_strangers
        self._strangers: dict[str, Group] = {}
        self._users: dict[str, Group] = {}
        self.strangers = self.total = self.displaced = self.refused = 0

    def enter(self, address: str) -> Seat | None:
        """A place for a connection that has just been made, or None if there is none to be had."""
        owner = _network(address)
        group = self._strangers.get(owner, {})
        full = self.strangers >= self._most_strangers
        crowded = self._strangers.values() if full else [group] if len(group) >= self._limits.per_address else None
        if crowded is not None and not self._displace(crowded):
            self.refused += 1
            return None
        seat = Seat(self, owner)
        self._strangers.setdefault(owner, {})[seat] = None
        self.strangers += 1
        self.total += 1
        return seat

    def make_room(self) -> bool:
        """Close a connection that is idle. False if there is none."""
        return self._displace(self._strangers.values()) or self._displace(self._users.values())

    def claim(self, seat: Seat, account: str | None) -> bool:
        """As `Seat.claim`."""
        group = self._users.get(account or "", {})
        free = True
        if account is not None and len(group) >= self._limits.per_user:
            free = self._displace([group])
        elif self.total - self.strangers >= self._most_users:
            free = self._displace(self._users.values()) or self._displace_busy(account)
        if not free:
            self.refused += 1
            return False
        busy = seat.busy
        self.leave(seat)
        seat.owner, seat.user, seat.busy = account or "", True, busy
        self._users.setdefault(seat.owner, {})[seat] = None
        self.total += 1
        return True

    def leave(self, seat: Seat) -> None:
        """As `Seat.leave`."""
        groups = self._users if seat.user else self._strangers
        group = groups.get(seat.owner, {})
        if seat not in group:
            return
        del group[seat]
        if not group:
            del groups[seat.owner]
        self.total -= 1
        self.strangers -= not seat.user

    def _displace(self, groups: Iterable[Group]) -> bool:
        """Close the oldest idle connection of the largest group that has one."""
        for group in sorted(groups, key=len, reverse=True):
            for seat in group:
                if not seat.busy:
                    return self._end(seat)
        return False

    def _displace_busy(self, account: str | None) -> bool:
        """Close the oldest connection of the user who has most, for an administrator or a user who has much less."""
        limited = [group for owner, group in self._users.items() if owner]
        largest = max(limited, key=len, default={})
        mine = 0 if account is None else 2 * len(self._users.get(account, {})) + 1
        return len(largest) > mine and self._end(next(iter(largest)))

    def _end(self, seat: Seat) -> bool:
        self.displaced += 1
        self.leave(seat)
        seat.close()
        return True


def _network(address: str) -> str:
    """What one client has: an IPv4 address, or a network of IPv6."""
    if ":" not in address:
        return address
    found = ipaddress.IPv6Address(address.partition("%")[0])
    return str(found.ipv4_mapped or found.packed[:_NETWORK].hex())
