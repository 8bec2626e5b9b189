"""Whether the objects of an archive are those of one tenant, and such as the API would accept from the tenant. Pure.

Who restores an archive is an administrator, while its content may come from a tenant. So an archive must not be a way
to create objects that the tenant may not create: of other kinds, in other namespaces, of other names, with settings
that admission refuses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from nagaya.api.admission import cluster, hosted_control_plane
from nagaya.api.admission.field_error import FieldError, aggregate
from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.secrets import TYPE, Purpose, secret_name
from nagaya.api.controlplane.hosted_control_plane import HOSTED_CONTROL_PLANES
from nagaya.api.kind import Kind
from nagaya.clusters.certificates.held import CLUSTER_SECRETS
from nagaya.controlplane.hosted.archive.found import user_secrets
from nagaya.controlplane.hosted.archive.objects import Content
from nagaya.controlplane.hosted.archive.reader import Contents

_SECRET_TYPES: Final = (TYPE, "Opaque", "")
_SECRET_FIELDS: Final = frozenset({"apiVersion", "kind", "metadata", "type", "data", "immutable"})


def forged(contents: Contents) -> str:
    """Why an archive is not one of a tenant; empty if it is."""
    return next(_forged(contents), "")


def not_admitted(control_plane: Content | None, owner: Content | None) -> str:
    """What admission refuses of the objects that are to be made; empty if nothing."""
    problems: list[FieldError] = []
    if control_plane is not None:
        problems += hosted_control_plane.validate(hosted_control_plane.default(control_plane, None), None)
    if owner is not None:
        problems += cluster.validate(cluster.default(owner, None), None)
    return aggregate(problems) if problems else ""


def _forged(contents: Contents) -> Iterator[str]:
    head = contents.head
    yield from _not(contents.cluster, CLUSTERS, head.namespace, head.cluster)
    yield from _not(contents.control_plane, HOSTED_CONTROL_PLANES, head.namespace, head.control_plane)
    reference = CLUSTERS.convert(contents.cluster).spec.control_plane_ref
    wanted = (HOSTED_CONTROL_PLANES.group, HOSTED_CONTROL_PLANES.kind, head.control_plane)
    if reference is None or (reference.api_group, reference.kind, reference.name) != wanted:
        yield f"its Cluster refers to another control plane than HostedControlPlane {head.control_plane}"
    known = {secret_name(head.cluster, each) for each in Purpose} | user_secrets(contents.control_plane)
    for name, secret in contents.secrets.items():
        yield from _not(secret, CLUSTER_SECRETS, head.namespace, name)
        if name not in known:
            yield f"Secret {name} is none of the tenant's"
        if secret.get("type", "") not in _SECRET_TYPES or secret.keys() - _SECRET_FIELDS:
            yield f"Secret {name} is of another type than Secrets of tenants, or has fields besides data"


def _not(content: Mapping[str, Any], kind: Kind[Any], namespace: str, name: str) -> Iterator[str]:
    """Why content is not the object of a kind and a name."""
    metadata = content.get("metadata")
    found = (content.get("apiVersion"), content.get("kind"))
    if found != (kind.api_version, kind.kind) or not isinstance(metadata, Mapping):
        yield f"there is something else in the place of {kind.kind} {name}"
    elif (metadata.get("namespace"), metadata.get("name")) != (namespace, name):
        yield f"{kind.kind} {name} has another name or is in another namespace than {namespace}"
    else:
        try:
            kind.convert(content)
        except msgspec.ValidationError as error:
            yield f"{kind.kind} {name} has a field of a wrong type ({error})"
