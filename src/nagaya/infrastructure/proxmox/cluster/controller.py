"""The ProxmoxCluster controller: observe, plan, apply, tell the status.

What always holds: an address of the API that is written down stays; a cluster that was ready once stays provisioned,
whatever happens to Proxmox VE; and it goes only after its machines.
"""

from __future__ import annotations

import logging
from typing import Final

from nagaya.api.cluster.annotations import MANAGED_BY
from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.pause import why_paused
from nagaya.api.ipam.in_cluster_ip_pool import IN_CLUSTER_IP_POOLS
from nagaya.api.ipam.ip_address import IP_ADDRESSES
from nagaya.api.ipam.ip_address_claim import IP_ADDRESS_CLAIMS
from nagaya.api.proxmox.conditions import ProxmoxClusterCondition, ProxmoxClusterReason
from nagaya.api.proxmox.proxmox_cluster import PROXMOX_CLUSTERS, ProxmoxCluster
from nagaya.api.proxmox.proxmox_connection import PROXMOX_CONNECTIONS
from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES
from nagaya.infrastructure.proxmox.cluster.apply import apply, let_all_go
from nagaya.infrastructure.proxmox.cluster.availability import Availability, of_connection, of_look, of_problem
from nagaya.infrastructure.proxmox.cluster.plan import Plan, blocked, plan
from nagaya.infrastructure.proxmox.cluster.seen import BY_SECRET, index, observe, owner_of
from nagaya.infrastructure.proxmox.cluster.status import CONDITIONS, FIELDS, NEWS, paused_status, status
from nagaya.infrastructure.proxmox.cluster.watches import OfAddress, OfConnection, OfMachine, OfSecret, of_cluster
from nagaya.infrastructure.proxmox.connection.connections import Connections
from nagaya.infrastructure.proxmox.connection.look import look
from nagaya.infrastructure.proxmox.connection.reference import CONNECTION, NoConnection, Reference, reference_of
from nagaya.infrastructure.proxmox.connection.secrets import CREDENTIALS
from nagaya.kube.controller import WORKERS, Controller, Result, Watch
from nagaya.kube.key import Key
from nagaya.kube.mapping import owner
from nagaya.kube.runtime import Runtime

log = logging.getLogger(__name__)

MANAGER: Final = "nagaya-proxmoxcluster"
REFUSED_AGAIN: Final = 60.0
"""Seconds until something is tried again that the API refused: what stands against it may be gone, and nobody tells."""
TROUBLE: Final = frozenset(
    {
        ProxmoxClusterReason.WAITING_FOR_PROXMOX,
        ProxmoxClusterReason.UNKNOWN_HOSTS,
        ProxmoxClusterReason.MISSING_CONTROL_PLANE_ENDPOINT,
    }
)
"""Reasons that do not pass by themselves."""


class ProxmoxClusters:
    """What is done for ProxmoxClusters."""

    def __init__(self, rt: Runtime, connections: Connections) -> None:
        self._rt = rt
        self._connections = connections
        self._api = rt.api(MANAGER)
        self._said: dict[Key, str] = {}

    async def reconcile(self, key: Key) -> Result | None:
        """Bring a ProxmoxCluster one step further."""
        rt = self._rt
        proxmox = rt.cache.get(PROXMOX_CLUSTERS, key)
        if proxmox is None:
            self._said.pop(key, None)
            return None
        if MANAGED_BY in proxmox.metadata.annotations:
            return None
        if why := why_paused(owner_of(rt.cache, proxmox), proxmox, PROXMOX_CLUSTERS.kind):
            told = paused_status(proxmox, why, rt.world.clock.now())
            await self._api.status(PROXMOX_CLUSTERS, proxmox, told, conditions=CONDITIONS, fields=FIELDS)
            return None
        availability, again = await self._availability(proxmox)
        seen = observe(rt, proxmox, availability)
        steps = plan(seen)
        self._say(key, proxmox, steps)
        if steps.release:
            await let_all_go(rt, self._api, seen)
            return None
        proxmox, refused = await apply(self._api, seen, steps)
        if refused:
            steps, again = blocked(steps, refused), _soonest(again, REFUSED_AGAIN)
            self._say(key, proxmox, steps)
        told = status(proxmox, observe(rt, proxmox, availability), steps)
        wait = await self._api.news(PROXMOX_CLUSTERS, proxmox, told, NEWS, conditions=CONDITIONS, fields=FIELDS)
        return Result(again, wait)

    async def _availability(self, proxmox: ProxmoxCluster) -> tuple[Availability, float | None]:
        """Whether Proxmox VE is there, and after how many seconds to ask again. Connections tell it themselves."""
        try:
            reference = reference_of(self._rt.cache, proxmox)
        except NoConnection as problem:
            return of_problem(problem), None
        if reference.kind == CONNECTION:
            connection = self._rt.cache.get(PROXMOX_CONNECTIONS, reference.key)
            assert connection is not None, "reference_of has just seen it"
            return of_connection(connection), None
        if proxmox.metadata.deleting:
            # Nothing of what is left to do for the cluster itself needs Proxmox VE.
            return _as_before(proxmox), None
        found = await look(self._connections, reference, lacking=not _was_available(proxmox))
        return of_look(found), found.again_after

    def _say(self, key: Key, proxmox: ProxmoxCluster, steps: Plan) -> None:
        """One line for the log, and one event if somebody has to do something, whenever it is another than before."""
        sentence = steps.sentence or "Ready for machines."
        if self._said.get(key) == sentence:
            return
        self._said[key] = sentence
        log.info("proxmox cluster %s: %s", key, sentence)
        if steps.reason in TROUBLE:
            self._rt.recorder.warning(PROXMOX_CLUSTERS, proxmox, steps.reason, sentence)


def _soonest(first: float | None, second: float) -> float:
    return second if first is None else min(first, second)


def _was_available(proxmox: ProxmoxCluster) -> bool:
    return _as_before(proxmox).holds


def _as_before(proxmox: ProxmoxCluster) -> Availability:
    for each in proxmox.status.conditions:
        if each.type == ProxmoxClusterCondition.PROXMOX_AVAILABLE:
            return Availability(each.status == "True", each.reason, each.message, proxmox.status.datacenter)
    sentence = "Proxmox VE has not been asked."
    return Availability(False, ProxmoxClusterReason.PROXMOX_UNREACHABLE, sentence, proxmox.status.datacenter)


def controller(rt: Runtime, connections: Connections, *, workers: int = WORKERS) -> Controller:
    """The controller, to be run by a Manager with the same cache."""
    index(rt.cache)
    made = Controller(
        "proxmoxcluster",
        PROXMOX_CLUSTERS,
        ProxmoxClusters(rt, connections).reconcile,
        watches=[
            Watch(CLUSTERS, of_cluster),
            Watch(PROXMOX_CONNECTIONS, OfConnection(rt.cache)),
            Watch(CREDENTIALS, OfSecret(rt.cache)),
            Watch(PROXMOX_MACHINES, OfMachine(rt.cache)),
            Watch(IN_CLUSTER_IP_POOLS, owner(PROXMOX_CLUSTERS)),
            Watch(IP_ADDRESS_CLAIMS, owner(PROXMOX_CLUSTERS)),
            Watch(IP_ADDRESSES, OfAddress(rt.cache)),
        ],
        workers=workers,
    )

    def refused(reference: Reference) -> None:
        if reference.kind != CONNECTION:
            found = rt.cache.by(PROXMOX_CLUSTERS, BY_SECRET, str(reference.key))
            made.look_at([Key.of(each) for each in found])

    connections.on_refusal(refused)
    return made
