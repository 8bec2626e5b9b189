"""What a deletion asks of a tenant: only while it answers, only for a bounded time, and only about the Node that is the
machine's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from nagaya.clusters.node import NODES, Node
from nagaya.core.machine.deletion.node_access import node_name
from nagaya.core.machine.seen import Seen
from nagaya.kube.errors import ApiError
from nagaya.kube.key import Key
from nagaya.kube.remote import Remote
from nagaya.kube.transport import NoAnswer

PATIENCE: Final = 10.0
"""Seconds that one step of a deletion may spend with a tenant, so that one that hangs holds up no worker for long."""


class TenantFailed(Exception):
    """A tenant did not do what it was asked. Says what it was and why."""


class TenantSilent(TenantFailed):
    """A tenant cannot be asked at this moment. Its connection tells when it can."""


def reachable(seen: Seen, *, probed: bool = True) -> Remote:
    """The tenant. Raises TenantSilent, without trying, if it is not connected or, when `probed`, fails its probes."""
    remote = seen.remote
    if remote is None or (probed and seen.probe.failures):
        why = seen.probe.problem or "it is not established yet"
        raise TenantSilent(f"connection to the workload cluster is down: {why}")
    if not remote.cache.is_synced(NODES):
        raise TenantSilent("the Nodes of the workload cluster are not known yet")
    return remote


def own_node(seen: Seen, remote: Remote) -> Node | None:
    """The Node of the machine; None if it is gone, or if the one of that name is another machine's by now."""
    node = remote.cache.get(NODES, Key("", node_name(seen)))
    ours = seen.machine.spec.provider_id
    if node is None or (ours and node.spec.provider_id and node.spec.provider_id != ours):
        return None
    return node


def known_node(seen: Seen) -> Node | None:
    """The Node of the machine as it was last heard of; None if nothing is known of one."""
    remote = seen.remote
    return None if remote is None or not remote.cache.has(NODES) else own_node(seen, remote)


@asynccontextmanager
async def patiently(what: str, seconds: float = PATIENCE) -> AsyncIterator[None]:
    """Turn whatever a tenant does wrong into TenantFailed, and do not wait for it for ever."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise TenantFailed(f"{what}: no answer within {seconds:g} s") from None
    except (ApiError, NoAnswer) as error:
        raise TenantFailed(f"{what}: {error}") from error
