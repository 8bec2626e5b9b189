"""Whether a reservation proves that its VM is needed by nothing: it was made by the controllers of this management API,
they have seen its machine being deleted, and its cluster is not on its way elsewhere.

Reservations move with clusters to other management APIs. One that was carried here may be for a VM whose machine is
elsewhere; and while a cluster is moved, its machines are gone at one end before they are all that there is at the
other. Who wrote an object's spec is kept by the API server itself (managed fields), and whoever moves a cluster pauses
it first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.labels import CLUSTER_NAME
from nagaya.api.proxmox.proxmox_virtual_machine import DELETED, PROXMOX_VIRTUAL_MACHINES, ProxmoxVirtualMachine
from nagaya.kube.client import Client
from nagaya.kube.errors import NotFound

CONTROLLERS: Final = "nagaya"
"""The field manager of the controllers. Commands, and other people's tools, have others."""


async def doubt(client: Client, reservation: ProxmoxVirtualMachine) -> str:
    """Why a reservation proves nothing, as a sentence; empty if it does. Raises ApiError, NoAnswer."""
    name, whose = reservation.metadata.name, reservation.spec.machine_ref
    try:
        answer = await client.raw("GET", PROXMOX_VIRTUAL_MACHINES.path(name=name))
    except NotFound:
        return ""  # what is gone proves nothing, and needs no proof
    strangers = sorted(writers(msgspec.json.decode(answer.body)) - {CONTROLLERS})
    if strangers:
        return (
            f"Reservation {name} was not made by the controllers of this management API, but by "
            f"{', '.join(strangers)}: it came with a move or a copy, so its VM may be that of a machine elsewhere."
        )
    if reservation.status.phase not in DELETED:
        return (
            f"ProxmoxMachine {whose.namespace}/{whose.name} is gone, and nobody here has seen it being deleted: its "
            "cluster may have been moved to another management API, which takes the VM over. Then this reservation is "
            "released by itself."
        )
    cluster = reservation.metadata.labels.get(CLUSTER_NAME, "")
    if cluster and await _is_paused(client, whose.namespace, cluster):
        return (
            f"Cluster {whose.namespace}/{cluster} is paused, as it is while it is moved: its machines may be elsewhere."
        )
    return ""


def writers(content: dict[str, Any]) -> set[str]:
    """Who wrote the spec of an object, as the API server remembers it. Nobody, if it does not."""
    entries: Iterable[Any] = (content.get("metadata") or {}).get("managedFields") or ()
    found = {str(each.get("manager")) for each in entries if "f:spec" in (each.get("fieldsV1") or {})}
    return found or {"nobody that is known"}


async def _is_paused(client: Client, namespace: str, name: str) -> bool:
    try:
        return bool((await client.get(CLUSTERS, namespace, name)).spec.paused)
    except NotFound:
        return False
