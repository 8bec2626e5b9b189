"""Waits for an object to become what it shall be, by being told of its changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import TypeVar

from nagaya.api.kind import Kind, Object
from nagaya.controlplane.hosted.archive.errors import ArchiveError
from nagaya.kube.client import Client
from nagaya.kube.errors import Expired

T = TypeVar("T", bound=Object)


async def until(
    client: Client, kind: Kind[T], namespace: str, name: str, holds: Callable[[T], bool], seconds: float, what: str
) -> T:
    """The object, once something holds of it. Raises ArchiveError, which says `what` was waited for."""
    try:
        async with asyncio.timeout(seconds):
            while True:
                try:
                    found = await _once(client, kind, namespace, name, holds)
                except Expired:
                    continue  # the server forgot where the watch began
                if found is not None:
                    return found
    except TimeoutError:
        raise ArchiveError(f"{what} took longer than {seconds:.0f} s.") from None


async def _once(client: Client, kind: Kind[T], namespace: str, name: str, holds: Callable[[T], bool]) -> T | None:
    """The same for as long as one watch lasts."""
    selected = f"metadata.name={name}"
    listing = await client.list(kind, namespace, fields=selected)
    for each in listing.items:
        if holds(each):
            return each
    events = client.watch(kind, namespace, resource_version=listing.resource_version, fields=selected)
    async with aclosing(events):
        async for event in events:
            if event.object is not None and event.type in ("ADDED", "MODIFIED") and holds(event.object):
                return event.object
    return None
