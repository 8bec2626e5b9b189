"""The refusal of a write that was meant for another object of the same name.

The real server's message quotes the place of the object in its own store. Ours keeps objects elsewhere, but the words
are what clients see, so the place is named as there.
"""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.resource import Resource

# Names from the first days of Kubernetes.
_OLD_PLACES: Final = {
    "replicationcontrollers": "controllers",
    "endpoints": "services/endpoints",
    "nodes": "minions",
    "services": "services/specs",
    "networking.k8s.io/ingresses": "ingress",
}
_GROUPED: Final = ("apiextensions.k8s.io", "apiregistration.k8s.io")  # served by parts that keep to their group


def other_uid(resource: Resource, key: str, uid: str, old: JsonObject) -> str:
    """Why an object is not the one with that uid."""
    return (
        f"StorageError: invalid object, Code: 4, Key: /registry/{_place(resource)}/{key}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, "
        f"UID in object meta: {old['metadata']['uid']}"
    )


def _place(resource: Resource) -> str:
    if not resource.builtin or resource.gvr.group in _GROUPED:
        return resource.table
    return _OLD_PLACES.get(resource.table) or resource.gvr.resource
