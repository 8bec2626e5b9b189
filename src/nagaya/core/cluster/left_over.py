"""The last look before a Cluster is let go: does the server have something of it that the cache has not heard of?

Watches of different kinds are not in step. A Cluster that is deleted in the moment of its creation may be gone from the
cache's point of view before its machines have appeared in it; once its finalizer is removed nobody would delete them.
"""

from __future__ import annotations

from nagaya.api.cluster import labels
from nagaya.api.cluster.machine import MACHINES
from nagaya.core.cluster.descendants import KINDS
from nagaya.core.cluster.seen import Seen
from nagaya.kube.errors import NotFound
from nagaya.kube.runtime import Runtime


async def left_over(rt: Runtime, seen: Seen) -> str:
    """What the server still has, in words; empty if nothing."""
    namespace, name = seen.cluster.metadata.namespace, seen.cluster.metadata.name
    for kind in KINDS:
        selector = f"{labels.CLUSTER_NAME}={name}"
        if kind is MACHINES and seen.control_plane is not None:
            selector += f",!{labels.CONTROL_PLANE}"  # those are the control plane's to delete
        found = (await rt.client.list(kind, namespace, labels=selector)).items
        if found:
            return f"{kind.kind} {found[0].metadata.name}"
    for referenced in (seen.control_plane, seen.infrastructure):
        if referenced is None or referenced.kind is None:
            continue
        try:
            await rt.client.get(referenced.kind, namespace, referenced.reference.name)
        except NotFound:
            continue
        return f"{referenced.reference.kind} {referenced.reference.name}"
    return ""
