"""What a server has from its first moment: its namespaces, the default roles, and the Service that leads to itself.

Run at every start, before the first client is let in. What is there already is left alone, except that the default
roles are completed.
"""

from __future__ import annotations

import ipaddress
from typing import Final

from nagaya.apiserver.authz.reconciliation import Step, repairs
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.internal import Change, Internal

NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
_CORE: Final = ""
_PRIORITIES: Final = {"system-node-critical": 2000001000, "system-cluster-critical": 2000000000}


async def bootstrap(backend: Backend, host: str, port: int) -> None:
    """Make what is missing."""
    api = Internal(backend, "kube-apiserver")
    for name in NAMESPACES:
        await api.create_missing(GroupResource(_CORE, "namespaces"), {"metadata": {"name": name}})
    await _roles(api)
    for name, value in _PRIORITIES.items():
        priority: JsonObject = {"metadata": {"name": name}, "value": value, "description": _PRIORITY_TEXT[name]}
        await api.create_missing(GroupResource("scheduling.k8s.io", "priorityclasses"), priority)
    await _service(api, host, port)


_PRIORITY_TEXT: Final = {
    "system-node-critical": ("Used for system critical pods that must not be moved from their current node."),
    "system-cluster-critical": (
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."
    ),
}


async def _roles(api: Internal) -> None:
    def lookup(resource: str, namespace: str, name: str) -> JsonObject | None:
        return api.get(GroupResource("rbac.authorization.k8s.io", resource), namespace, name)

    for repair in repairs(lookup):
        resource = GroupResource("rbac.authorization.k8s.io", repair.resource)
        metadata = repair.object["metadata"]
        namespace, name = metadata.get("namespace") or "", metadata["name"]
        if repair.step is Step.UPDATE:
            await api.change(resource, namespace, name, _always(repair.object))
            continue
        if repair.step is Step.RECREATE:
            await api.delete(resource, namespace, name)
        await api.create(resource, repair.object)


def _always(wanted: JsonObject) -> Change:
    return lambda _: wanted


async def _service(api: Internal, host: str, port: int) -> None:
    """The Service `kubernetes` in the namespace `default`, with the server behind it."""
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
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return
    if address.is_loopback or address.is_unspecified:
        return  # nobody else could reach the server there, and an EndpointSlice may not say so
    family = f"IPv{address.version}"
    slice_: JsonObject = {
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"kubernetes.io/service-name": "kubernetes"},
        },
        "addressType": family,
        "endpoints": [{"addresses": [str(address)], "conditions": {"ready": True}}],
        "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
    }
    slices = GroupResource("discovery.k8s.io", "endpointslices")
    if not await api.create_missing(slices, slice_):

        def moved(obj: JsonObject) -> JsonObject:
            return {**obj, "endpoints": slice_["endpoints"], "ports": slice_["ports"]}

        await api.change(slices, "default", "kubernetes", moved)
