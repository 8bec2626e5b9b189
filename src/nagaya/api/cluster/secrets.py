"""Secrets of a cluster: how they are named and marked, so that all providers find them and they go with the cluster."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

from nagaya.api.cluster import labels
from nagaya.api.cluster.cluster import CLUSTERS, Cluster

TYPE: Final = "cluster.x-k8s.io/secret"
AUTHORITY: Final = "-ca"
"""What the name of a Cluster gets for the Secret with its certificate authority."""


def secret_of(cluster: Cluster, suffix: str, data: Mapping[str, bytes]) -> dict[str, Any]:
    """The Secret `<cluster><suffix>`, which belongs to its Cluster."""
    metadata = cluster.metadata
    owner = {
        "apiVersion": CLUSTERS.api_version,
        "kind": CLUSTERS.kind,
        "name": metadata.name,
        "uid": metadata.uid,
    }
    return {
        "metadata": {
            "name": metadata.name + suffix,
            "namespace": metadata.namespace,
            "labels": {labels.CLUSTER_NAME: metadata.name},
            "ownerReferences": [owner],
        },
        "type": TYPE,
        "data": {name: base64.b64encode(value).decode() for name, value in data.items()},
    }
