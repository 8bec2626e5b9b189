"""A tenant as the management API has it: its objects whole, with the fields that Nagaya does not know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import msgspec

from nagaya.api.cluster.annotations import PAUSED
from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.labels import CLUSTER_NAME
from nagaya.api.cluster.secrets import Purpose, secret_name
from nagaya.api.controlplane.data_store import DATA_STORES, DataStore
from nagaya.api.controlplane.hosted_control_plane import HOSTED_CONTROL_PLANES, HostedControlPlane
from nagaya.api.kind import Kind, Object
from nagaya.api.untyped import Untyped
from nagaya.controlplane.hosted.archive.errors import ArchiveError
from nagaya.controlplane.hosted.archive.objects import RESTORING, Names
from nagaya.kube.client import Client
from nagaya.kube.errors import NotFound

RAW_CLUSTERS: Final = Kind(CLUSTERS.group, CLUSTERS.version, CLUSTERS.kind, CLUSTERS.plural, Untyped)
RAW_PLANES: Final = Kind(
    HOSTED_CONTROL_PLANES.group,
    HOSTED_CONTROL_PLANES.version,
    HOSTED_CONTROL_PLANES.kind,
    HOSTED_CONTROL_PLANES.plural,
    Untyped,
)
RAW_SECRETS: Final = Kind("", "v1", "Secret", "secrets", Untyped)

DERIVED: Final = (Purpose.KUBECONFIG,)
"""Secrets that are made of others, for the place where the API is reached: they are made anew."""

T = TypeVar("T", bound=Object)


class Mark(msgspec.Struct, frozen=True):
    """What the annotation of a control plane says that is being restored."""

    archive: str
    """The digest of the archive."""
    replicas: int
    """How many it shall have afterwards."""


@dataclass(frozen=True, slots=True)
class Found:
    """A tenant, as far as it is there."""

    names: Names
    cluster: Untyped | None = None
    control_plane: Untyped | None = None
    secrets: Mapping[str, Untyped] = field(default_factory=dict, repr=False)
    data_store: DataStore | None = None

    @property
    def plane(self) -> HostedControlPlane | None:
        """The control plane with types."""
        return None if self.control_plane is None else HOSTED_CONTROL_PLANES.convert(self.control_plane.raw)

    @property
    def mark(self) -> Mark | None:
        """Which archive is being restored, if one is."""
        return None if self.control_plane is None else mark_of(self.control_plane)

    @property
    def incomplete(self) -> bool:
        """Whether a restore may have left the data in part: it is paused before the first key is touched."""
        return self.mark is not None and self.paused

    @property
    def paused(self) -> bool:
        """Whether nobody looks after the control plane."""
        return (self.cluster is not None and bool(self.cluster.at("spec", "paused"))) or (
            self.control_plane is not None and PAUSED in self.control_plane.metadata.annotations
        )


def mark_of(control_plane: Untyped) -> Mark | None:
    """Which archive is being restored into a control plane, if one is."""
    text = control_plane.metadata.annotations.get(RESTORING)
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=Mark)
    except msgspec.MsgspecError:
        return Mark("", 1)


async def find(client: Client, namespace: str, name: str) -> Found:
    """The tenant of a name: that of its Cluster, or of its HostedControlPlane. Raises ArchiveError if there is none."""
    cluster = await maybe(client, RAW_CLUSTERS, namespace, name)
    if cluster is not None and cluster.at("spec", "controlPlaneRef", "kind") == RAW_PLANES.kind:
        names = Names(namespace, name, str(cluster.at("spec", "controlPlaneRef", "name")))
    else:
        plane = await maybe(client, RAW_PLANES, namespace, name)
        if plane is None:
            raise ArchiveError(
                f"There is no Cluster {namespace}/{name} with a HostedControlPlane, and no HostedControlPlane of this "
                "name. See: kubectl get hostedcontrolplanes -A"
            )
        owner = plane.metadata.labels.get(CLUSTER_NAME, "")
        if not owner:
            raise ArchiveError(f"HostedControlPlane {namespace}/{name} belongs to no Cluster yet.")
        names = Names(namespace, owner, name)
    found = await look(client, names)
    if found.cluster is None:
        raise ArchiveError(f"Cluster {names}, which HostedControlPlane {name} belongs to, does not exist.")
    if found.control_plane is None:
        raise ArchiveError(f"HostedControlPlane {namespace}/{names.control_plane} of Cluster {name} does not exist.")
    return found


async def look(client: Client, names: Names, data_store: str = "", secrets: Iterable[str] = ()) -> Found:
    """What is there of a tenant. `data_store` is the one to look at if there is no control plane that names one, and
    `secrets` are further ones to look for."""
    cluster = await maybe(client, RAW_CLUSTERS, names.namespace, names.cluster)
    plane = await maybe(client, RAW_PLANES, names.namespace, names.control_plane)
    wanted = {secret_name(names.cluster, each) for each in Purpose if each not in DERIVED} | set(secrets)
    if plane is not None:
        wanted |= user_secrets(plane.raw)
        data_store = str(plane.at("spec", "dataStoreRef", "name") or data_store)
    found = {name: await maybe(client, RAW_SECRETS, names.namespace, name) for name in sorted(wanted)}
    store = await maybe(client, DATA_STORES, "", data_store) if data_store else None
    return Found(names, cluster, plane, {name: each for name, each in found.items() if each is not None}, store)


def user_secrets(control_plane: Mapping[str, Any]) -> set[str]:
    """The Secrets of a user without which a control plane cannot read its data."""
    encryption = control_plane.get("spec", {}).get("apiServer", {}).get("encryption") or {}
    name = encryption.get("configSecretRef", {}).get("name")
    return {name} if name else set()


async def maybe(client: Client, kind: Kind[T], namespace: str, name: str) -> T | None:
    """An object, or None."""
    try:
        return await client.get(kind, namespace, name)
    except NotFound:
        return None
