"""Holding on to the Secrets of connections: without them nothing in Proxmox VE can be removed any more. Pure.

Whoever deletes a namespace deletes all that is in it at once, Secrets usually first, and nothing can be made anew
there. So a Secret stays until no connection of its namespace needs it. Whoever deletes a Secret alone means it: that
goes after a moment, in which a connection that goes, too, would have been deleted as well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from nagaya.api.proxmox.group import CONNECTION_SECRET_FINALIZER as FINALIZER
from nagaya.api.proxmox.proxmox_connection import ProxmoxConnection
from nagaya.infrastructure.proxmox.connection.secrets import CredentialsSecret

MOMENT: Final = timedelta(seconds=15)


@dataclass(frozen=True, slots=True)
class Hold:
    """The finalizers that a Secret is to have."""

    secret: CredentialsSecret
    finalizers: tuple[str, ...]


def holds(
    secrets: Iterable[CredentialsSecret],
    users: Callable[[CredentialsSecret], Collection[ProxmoxConnection]],
    now: datetime,
) -> Iterator[Hold]:
    """What is to change. `users` are the connections of its namespace that name a Secret."""
    for each in secrets:
        held = each.metadata.finalizers
        if (FINALIZER in held) == (wanted := _is_held(each, users(each), now)):
            continue
        others = tuple(name for name in held if name != FINALIZER)
        yield Hold(each, (*others, FINALIZER) if wanted else others)


def next_look(secrets: Iterable[CredentialsSecret], now: datetime) -> float | None:
    """Seconds until one of them may go, if that is soon."""
    ends = [_end(each) for each in secrets if FINALIZER in each.metadata.finalizers]
    coming = [(end - now).total_seconds() for end in ends if end is not None and end > now]
    return min(coming, default=None)


def _is_held(secret: CredentialsSecret, users: Collection[ProxmoxConnection], now: datetime) -> bool:
    end = _end(secret)
    if not users or end is None:
        return bool(users)
    # None can be added to what is being deleted.
    held = FINALIZER in secret.metadata.finalizers
    return held and (now < end or any(each.metadata.deleting for each in users))


def _end(secret: CredentialsSecret) -> datetime | None:
    deleted = secret.metadata.deletion_timestamp
    return None if deleted is None else deleted + MOMENT
