"""Holding on to the Secret that a cluster uses as it is, as CAPMOX does: it is needed until the last VM is gone.

Only a Secret of the cluster's own namespace is held: whoever may make clusters must not prevent that a Secret of
another namespace is deleted. CAPMOX does hold those; its finalizer is removed when the last cluster is gone.
"""

from __future__ import annotations

from dataclasses import dataclass

from nagaya.api.meta import OwnerReference
from nagaya.api.proxmox.group import SECRET_FINALIZER
from nagaya.api.proxmox.proxmox_cluster import PROXMOX_CLUSTERS, ProxmoxCluster
from nagaya.clusters.owners import names, owner, with_owner
from nagaya.infrastructure.proxmox.connection.secrets import CredentialsSecret


@dataclass(frozen=True, slots=True)
class Hold:
    """The metadata that a Secret is to have."""

    finalizers: tuple[str, ...]
    owners: tuple[OwnerReference, ...]


def held(secret: CredentialsSecret, cluster: ProxmoxCluster) -> Hold:
    """While the cluster needs it."""
    metadata = secret.metadata
    finalizers, owners = metadata.finalizers, metadata.owner_references
    if metadata.namespace != cluster.metadata.namespace:
        return Hold(finalizers, owners)
    if SECRET_FINALIZER not in finalizers:
        finalizers = (*finalizers, SECRET_FINALIZER)
    return Hold(finalizers, with_owner(owners, owner(PROXMOX_CLUSTERS, cluster)))


def let_go(secret: CredentialsSecret, cluster: ProxmoxCluster, *, shared: bool) -> Hold:
    """When the cluster is gone. `shared`: others need it still."""
    metadata = secret.metadata
    finalizers = metadata.finalizers
    if not shared:
        finalizers = tuple(each for each in finalizers if each != SECRET_FINALIZER)
    owners = metadata.owner_references
    if metadata.namespace == cluster.metadata.namespace:
        owners = tuple(each for each in owners if not names(each, PROXMOX_CLUSTERS, cluster))
    return Hold(finalizers, owners)
