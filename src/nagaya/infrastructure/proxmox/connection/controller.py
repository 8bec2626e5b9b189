"""The ProxmoxConnection controller: observe, plan, look at the data center, tell the status.

What always holds: whoever uses a connection reads in its conditions, in one sentence, why it does not work and what to
do; other credentials take effect without a restart; and a connection stays for as long as something needs it to clean
up.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from nagaya.api.cluster.annotations import PAUSED
from nagaya.api.proxmox.group import CONNECTION_SECRET_FINALIZER
from nagaya.api.proxmox.proxmox_cluster import PROXMOX_CLUSTERS
from nagaya.api.proxmox.proxmox_connection import FINALIZER, PROXMOX_CONNECTIONS, ProxmoxConnection
from nagaya.api.proxmox.proxmox_virtual_machine import PROXMOX_VIRTUAL_MACHINES
from nagaya.clusters.finalizer import release
from nagaya.infrastructure.proxmox.connection.connections import Connections
from nagaya.infrastructure.proxmox.connection.look import look
from nagaya.infrastructure.proxmox.connection.plan import plan
from nagaya.infrastructure.proxmox.connection.reference import CONNECTION, Reference, connection_reference
from nagaya.infrastructure.proxmox.connection.secret_hold import holds, next_look
from nagaya.infrastructure.proxmox.connection.secrets import CREDENTIALS, CredentialsSecret
from nagaya.infrastructure.proxmox.connection.seen import BY_SECRET, index, observe
from nagaya.infrastructure.proxmox.connection.status import CONDITIONS, FIELDS, status
from nagaya.kube.cache.cache import Cache
from nagaya.kube.cache.change import Change
from nagaya.kube.conditions import get
from nagaya.kube.controller import Controller, Result, Watch
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime

log = logging.getLogger(__name__)

MANAGER: Final = "nagaya-proxmoxconnection"
WORKERS: Final = 4


class ProxmoxConnections:
    """What is done for ProxmoxConnections."""

    def __init__(self, rt: Runtime, connections: Connections) -> None:
        self._rt = rt
        self._connections = connections
        self._api = rt.api(MANAGER)
        self._said: dict[Key, str] = {}

    async def reconcile(self, key: Key) -> Result | None:
        """Look at a connection, and tell what was seen."""
        rt = self._rt
        connection = rt.cache.get(PROXMOX_CONNECTIONS, key)
        if connection is None:
            self._said.pop(key, None)
            await self._connections.forget(Reference(CONNECTION, key))
            await self._hold_secrets(key)
            return None
        if PAUSED in connection.metadata.annotations:
            return None
        seen = observe(rt, connection)
        steps = plan(seen)
        if steps.release:
            await self._hold_secrets(key, released=True)
            await release(rt, self._api, PROXMOX_CONNECTIONS, connection, FINALIZER)
            return None
        secrets_again = await self._hold_secrets(key)
        if steps.hold and FINALIZER not in connection.metadata.finalizers:
            held = (*connection.metadata.finalizers, FINALIZER)
            connection = await self._api.metadata(PROXMOX_CONNECTIONS, connection, finalizers=held)
        lacking = bool(connection.status.missing_privileges)
        found = await look(self._connections, connection_reference(connection), lacking=lacking)
        told = status(connection, found, steps, rt.world.clock.now())
        connection = await self._api.status(PROXMOX_CONNECTIONS, connection, told, conditions=CONDITIONS, fields=FIELDS)
        self._say(key, connection)
        return Result(min((each for each in (found.again_after, secrets_again) if each is not None), default=None))

    async def _hold_secrets(self, key: Key, *, released: bool = False) -> float | None:
        """Have the Secrets of the namespace stay that connections need, this one too unless it is released. Returns
        the seconds until that is to be looked at again."""
        cache, now = self._rt.cache, self._rt.world.clock.now()

        def users(secret: CredentialsSecret) -> list[ProxmoxConnection]:
            named = cache.by(PROXMOX_CONNECTIONS, BY_SECRET, str(Key.of(secret)))
            here = [each for each in named if each.metadata.namespace == key.namespace]
            return [each for each in here if not (released and Key.of(each) == key)]

        for each in holds(cache.list(CREDENTIALS, key.namespace), users, now):
            await self._api.metadata(CREDENTIALS, each.secret, finalizers=each.finalizers)
        return next_look(cache.list(CREDENTIALS, key.namespace), now)

    def _say(self, key: Key, connection: ProxmoxConnection) -> None:
        """One line for the log and one event whenever it turns out otherwise than before."""
        ready = get(connection.status.conditions, "Ready")
        if ready is None or self._said.get(key) == ready.reason + ready.message:
            return
        self._said[key] = ready.reason + ready.message
        log.info("proxmox connection %s: %s", key, ready.message or "Ready for machines.")
        if ready.status == "False":
            self._rt.recorder.warning(PROXMOX_CONNECTIONS, connection, ready.reason, ready.message)


@dataclass(frozen=True, slots=True)
class OfSecret:
    """The connections that name a Secret. For one that is held and that none names, its own name stands: then its
    namespace is looked at."""

    cache: Cache

    def __call__(self, change: Change[CredentialsSecret]) -> Iterable[Key]:
        named = self.cache.by(PROXMOX_CONNECTIONS, BY_SECRET, str(Key.of(change.object)))
        forgotten = not named and CONNECTION_SECRET_FINALIZER in change.object.metadata.finalizers
        return [Key.of(change.object)] if forgotten else [Key.of(each) for each in named]


@dataclass(frozen=True, slots=True)
class Going:
    """The connections that wait for something to be gone, when it is."""

    cache: Cache

    def __call__(self, change: Change[Any]) -> Iterable[Key]:
        if change.new is not None:
            return ()
        namespace = change.object.metadata.namespace
        return [Key.of(each) for each in self.cache.list(PROXMOX_CONNECTIONS, namespace) if each.metadata.deleting]


def controller(rt: Runtime, connections: Connections, *, workers: int = WORKERS) -> Controller:
    """The controller, to be run by a Manager with the same cache. It ends `connections` when it is stopped."""
    index(rt.cache)
    made = Controller(
        "proxmoxconnection",
        PROXMOX_CONNECTIONS,
        ProxmoxConnections(rt, connections).reconcile,
        watches=[
            Watch(CREDENTIALS, OfSecret(rt.cache)),
            Watch(PROXMOX_CLUSTERS, Going(rt.cache)),
            Watch(PROXMOX_VIRTUAL_MACHINES, Going(rt.cache)),
        ],
        workers=workers,
        on_stop=connections.close,
    )

    def refused(reference: Reference) -> None:
        if reference.kind == CONNECTION and made.running:
            made.look_at([reference.key])

    connections.on_refusal(refused)
    return made
