"""What there is already for a cluster on Proxmox VE to stand on: connections, templates and pools of addresses.

Whatever is missing or not clear is told with what makes it, before anything is drawn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from nagaya.api.ipam.global_in_cluster_ip_pool import GLOBAL_IN_CLUSTER_IP_POOLS
from nagaya.api.ipam.in_cluster_ip_pool import IN_CLUSTER_IP_POOLS
from nagaya.api.proxmox.proxmox_connection import PROXMOX_CONNECTIONS, ConnectionDefaults, ProxmoxConnection
from nagaya.api.proxmox.template_source import version_tag
from nagaya.blueprints.wish import Pool
from nagaya.infrastructure.proxmox.client import Proxmox
from nagaya.infrastructure.proxmox.client.just_made import filled_in
from nagaya.infrastructure.proxmox.image.way import by_connection
from nagaya.kube.client import Client
from nagaya.kube.errors import NotFound
from nagaya.world import World

BRIDGE: Final = "vmbr0"
_VERSION_TAG: Final = re.compile(r"kubernetes-v(\d+)\.(\d+)\.(\d+)")


class Missing(Exception):
    """Something that a cluster needs is not there, or not clear. The message is a sentence with the remedy."""


@dataclass(frozen=True, slots=True)
class Connected:
    """A connection, and what is usual there."""

    name: str
    bridge: str


async def connection(client: Client, namespace: str, name: str = "") -> Connected:
    """The ProxmoxConnection that is meant: the one named, or the only one of the namespace. Raises Missing."""
    there = {each.metadata.name: each for each in await _connections(client, namespace)}
    where = "" if namespace == "default" else f" --namespace {namespace}"
    if name and name not in there:
        known = f" There is: {', '.join(sorted(there))}." if there else ""
        raise Missing(
            f"ProxmoxConnection {namespace}/{name} does not exist.{known} Make it: nagaya proxmox connect URL --name "
            f"{name}{where}"
        )
    if not there:
        raise Missing(f"Namespace {namespace} has no ProxmoxConnection. Make one: nagaya proxmox connect URL{where}")
    if not name and len(there) > 1:
        raise Missing(
            f"Namespace {namespace} has several ProxmoxConnections ({', '.join(sorted(there))}): name one with "
            "--connection."
        )
    found = there[name or next(iter(there))]
    if found.metadata.deleting:
        raise Missing(
            f"ProxmoxConnection {namespace}/{found.metadata.name} is being deleted, and makes no machines any more "
            f"(`nagaya why proxmoxconnection/{found.metadata.name} -n {namespace}` says what holds it). Make another: "
            f"nagaya proxmox connect URL --name NAME{where}, and name it with --connection."
        )
    defaults = found.spec.defaults or ConnectionDefaults()
    return Connected(found.metadata.name, defaults.bridge or BRIDGE)


async def _connections(client: Client, namespace: str) -> Sequence[ProxmoxConnection]:
    try:
        return (await client.list(PROXMOX_CONNECTIONS, namespace)).items
    except NotFound:
        raise Missing(
            "The management API does not know ProxmoxConnections. Start `nagaya up`, or install the definitions: "
            "nagaya crds | kubectl apply --server-side -f -"
        ) from None


async def pools(client: Client, namespace: str) -> list[Pool]:
    """Pools that clusters of a namespace can share. Those of single clusters belong to them."""
    own = (await client.list(IN_CLUSTER_IP_POOLS, namespace)).items
    everybodys = (await client.list(GLOBAL_IN_CLUSTER_IP_POOLS)).items
    return [
        *(Pool(each.metadata.name) for each in own if not each.metadata.owner_references),
        *(Pool(each.metadata.name, GLOBAL_IN_CLUSTER_IP_POOLS.kind) for each in everybodys),
    ]


async def pool(client: Client, namespace: str, name: str) -> Pool:
    """The pool of a name. Raises Missing."""
    there = await pools(client, namespace)
    for each in there:
        if each.name == name:
            return each
    known = f" There is: {', '.join(each.name for each in there)}." if there else ""
    raise Missing(
        f"There is no pool {name} for namespace {namespace}.{known} Make an InClusterIPPool, or give --addresses: then "
        "the cluster gets one of its own."
    )


async def template_tags(client: Client, namespace: str, name: str, world: World) -> list[frozenset[str]]:
    """The tags of each template that machines of a connection can be cloned from. Raises NoWay and ProxmoxError."""
    way = await by_connection(client, namespace, name)
    proxmox = Proxmox(way.facts, world)
    try:
        return await tags_there(proxmox)
    finally:
        await proxmox.close()


async def tags_there(proxmox: Proxmox) -> list[frozenset[str]]:
    """The same, as a data center tells it, templates that were just made too. Raises ProxmoxError."""
    snapshot = await filled_in(proxmox, await proxmox.inventory.get(0))
    return [frozenset(row.tags) for row in snapshot.machines.values() if row.template]


def versions(templates: Iterable[frozenset[str]], tags: Iterable[str] = ()) -> list[str]:
    """The Kubernetes versions that templates with some tags have, the newest first."""
    wanted = frozenset(tags)
    found = {match.groups() for each in templates if wanted <= each for tag in each if (match := _match(tag))}
    return [f"v{'.'.join(each)}" for each in sorted(found, key=lambda each: tuple(map(int, each)), reverse=True)]


def check_template(templates: Sequence[frozenset[str]], version: str, tags: Sequence[str], image: str) -> None:
    """Raises Missing if machines would find no template: a plain image, or one that has the Kubernetes version."""
    needed = {image} if image else {version_tag(version), *tags}
    if any(needed <= each for each in templates):
        return
    if image:
        raise Missing(
            f"No template on Proxmox VE has the tag {image}. Make one: nagaya proxmox image add --distribution {image}"
        )
    there = versions(templates, tags)
    instead = f"There are templates for {', '.join(there)}: choose one with --version. Or make" if there else "Make"
    raise Missing(
        f"No template on Proxmox VE has the tag{'s' if tags else ''} {', '.join(sorted(needed))}. {instead} one of "
        "a plain image, and have Kubernetes installed when machines boot: nagaya proxmox image add "
        "--distribution debian-13, then --image debian-13 here. Or of an image that has it: nagaya proxmox image add "
        f"--url URL --kubernetes {version}"
    )


def _match(tag: str) -> re.Match[str] | None:
    return _VERSION_TAG.fullmatch(tag)
