"""What a server has from its first moment: its namespaces, the default roles, and the Service that leads to itself.

Run at every start, before the first client is let in. What is there already is left alone, except that the default
roles are completed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

from nagaya.apiserver.authz.reconciliation import Repair, Step, repairs
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.internal import Change, Internal

NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
_CORE: Final = ""
_PRIORITIES: Final = {"system-node-critical": 2000001000, "system-cluster-critical": 2000000000}


async def bootstrap(
    backend: Backend, host: str, port: int, addresses: Sequence[str] = (), *, seeded: bool = False
) -> None:
    """Make what is missing. `addresses` are those by which others know this machine, for a server that listens on all
    or on none of them. A server that is `seeded` has its default roles from another that has just made them.

    What does not need the rest is written at the same time: on disk such writes become durable together.
    """
    api = Internal(backend, "kube-apiserver")
    namespaces = GroupResource(_CORE, "namespaces")
    await _together(
        *(api.create_missing(namespaces, {"metadata": {"name": name}}) for name in NAMESPACES),
        *(_priority(api, name, value) for name, value in _PRIORITIES.items()),
    )
    await _together(
        *([] if seeded else _roles(api)),
        _service(api, port),
        _endpoints(api, host, port, addresses),
    )


async def _together(*writes: Coroutine[object, object, object]) -> None:
    """Run writes side by side. If one fails the others are cancelled, and its error is raised as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            for write in writes:
                group.create_task(write)
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None


async def _priority(api: Internal, name: str, value: int) -> None:
    priority: JsonObject = {"metadata": {"name": name}, "value": value, "description": _PRIORITY_TEXT[name]}
    await api.create_missing(GroupResource("scheduling.k8s.io", "priorityclasses"), priority)


_PRIORITY_TEXT: Final = {
    "system-node-critical": ("Used for system critical pods that must not be moved from their current node."),
    "system-cluster-critical": (
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."
    ),
}


def _roles(api: Internal) -> Iterator[Coroutine[object, object, None]]:
    """What completes the default roles and bindings: one write for each that is not as it should be."""

    def lookup(resource: str, namespace: str, name: str) -> JsonObject | None:
        return api.get(GroupResource("rbac.authorization.k8s.io", resource), namespace, name)

    return (_repair(api, each) for each in repairs(lookup))


async def _repair(api: Internal, repair: Repair) -> None:
    resource = GroupResource("rbac.authorization.k8s.io", repair.resource)
    metadata = repair.object["metadata"]
    namespace, name = metadata.get("namespace") or "", metadata["name"]
    if repair.step is Step.UPDATE:
        await api.change(resource, namespace, name, _always(repair.object))
        return
    if repair.step is Step.RECREATE:
        await api.delete(resource, namespace, name)
    await api.create(resource, repair.object)


def _always(wanted: JsonObject) -> Change:
    return lambda _: wanted


async def _service(api: Internal, port: int) -> None:
    """The Service `kubernetes` in the namespace `default`."""
    labels = {"component": "apiserver", "provider": "kubernetes"}
    service: JsonObject = {
        "metadata": {"name": "kubernetes", "namespace": "default", "labels": labels},
        "spec": {
            "type": "ClusterIP",
            "clusterIP": "10.96.0.1",
            "clusterIPs": ["10.96.0.1"],
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "internalTrafficPolicy": "Cluster",
            "sessionAffinity": "None",
            "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": port}],
        },
    }
    await api.create_missing(GroupResource(_CORE, "services"), service)


async def _endpoints(api: Internal, host: str, port: int, addresses: Sequence[str]) -> None:
    """Where that Service leads: to this server, if there is an address at which others could know it."""
    listening = _address(host)
    published = [each for each in (listening, *map(_address, addresses)) if each is not None and _is_public(each)]
    if not published:
        return
    # What listens on the loopback address alone is there, but not for others.
    ready = listening is None or not listening.is_loopback
    family = f"IPv{published[0].version}"
    address = str(published[0])
    ports = [{"name": "https", "port": port, "protocol": "TCP"}]
    await _put(
        api,
        GroupResource("discovery.k8s.io", "endpointslices"),
        {"kubernetes.io/service-name": "kubernetes"},
        {
            "addressType": family,
            "endpoints": [{"addresses": [address], "conditions": {"ready": ready}}],
            "ports": ports,
        },
    )
    subset = {"addresses" if ready else "notReadyAddresses": [{"ip": address}], "ports": ports}
    skip = {"endpointslice.kubernetes.io/skip-mirror": "true"}
    await _put(api, GroupResource(_CORE, "endpoints"), skip, {"subsets": [subset]})


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address can lead others anywhere, which is what may stand in endpoints."""
    return not (address.is_loopback or address.is_unspecified or address.is_link_local)


async def _put(api: Internal, resource: GroupResource, labels: dict[str, str], wanted: JsonObject) -> None:
    """Make the object `kubernetes` in the namespace `default`, or bring what it says up to date."""
    metadata = {"name": "kubernetes", "namespace": "default", "labels": labels}
    if await api.create_missing(resource, {"metadata": metadata, **wanted}):
        return

    def moved(obj: JsonObject) -> JsonObject | None:
        if obj.get("addressType") != wanted.get("addressType"):
            return None
        return {**obj, **wanted}

    changed = await api.change(resource, "default", "kubernetes", moved)
    if changed is not None and changed.get("addressType") != wanted.get("addressType"):
        # The family of a slice cannot be changed.
        await api.delete(resource, "default", "kubernetes")
        await api.create(resource, {"metadata": metadata, **wanted})
