"""Secrets of a cluster: how they are named and marked, so that all providers find them and they go with the cluster."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from nagaya.api.cluster import labels
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.meta import OwnerReference

TYPE: Final = "cluster.x-k8s.io/secret"
"""The type of Secrets that controllers made. One of another type is a user's, and stays as it is."""


class Purpose(StrEnum):
    """What a Secret of a cluster is for: its name is the Cluster's, a hyphen, and this."""

    CLUSTER_AUTHORITY = "ca"
    SERVICE_ACCOUNTS = "sa"
    FRONT_PROXY_AUTHORITY = "proxy"
    ETCD_AUTHORITY = "etcd"
    API_SERVER_ETCD_CLIENT = "apiserver-etcd-client"
    """What the API server shows to an etcd that somebody else runs; always given by the user."""
    KUBECONFIG = "kubeconfig"


AUTHORITY: Final = f"-{Purpose.CLUSTER_AUTHORITY}"
"""What the name of a Cluster gets for the Secret with its certificate authority."""


def secret_name(cluster: str, purpose: Purpose) -> str:
    """The name of a Secret of a cluster."""
    return f"{cluster}-{purpose}"


def new_secret(
    namespace: str, cluster: str, purpose: Purpose, data: Mapping[str, bytes], owner: OwnerReference
) -> dict[str, Any]:
    """A Secret of a cluster, which goes with its owner."""
    return _secret(namespace, secret_name(cluster, purpose), cluster, data, owner)


def secret_of(cluster: Cluster, suffix: str, data: Mapping[str, bytes]) -> dict[str, Any]:
    """The Secret `<cluster><suffix>`, which belongs to its Cluster."""
    metadata = cluster.metadata
    owner = OwnerReference(api_version=CLUSTERS.api_version, kind=CLUSTERS.kind, name=metadata.name, uid=metadata.uid)
    return _secret(metadata.namespace, metadata.name + suffix, metadata.name, data, owner)


def _secret(
    namespace: str, name: str, cluster: str, data: Mapping[str, bytes], owner: OwnerReference
) -> dict[str, Any]:
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {labels.CLUSTER_NAME: cluster},
            "ownerReferences": [msgspec.to_builtins(owner)],
        },
        "type": TYPE,
        "data": {each: base64.b64encode(value).decode() for each, value in data.items()},
    }
