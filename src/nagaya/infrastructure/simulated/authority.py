"""The Secret `<cluster>-ca`: the authority of a cluster, which its API and its kubeconfig are made from."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

from nagaya.api.cluster import labels
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.kube.key import Key
from nagaya.pki.authority import CertificateAuthority
from nagaya.world import Clock

SUFFIX: Final = "-ca"
SECRET_TYPE: Final = "cluster.x-k8s.io/secret"  # noqa: S105 - no password; how Secrets of clusters are marked
_CERTIFICATE, _KEY = "tls.crt", "tls.key"


def authority_key(cluster: Key) -> Key:
    """The key of the Secret."""
    return Key(cluster.namespace, cluster.name + SUFFIX)


def authority_secret(cluster: Cluster, clock: Clock) -> dict[str, Any]:
    """A Secret with a new authority, which goes with its Cluster."""
    made = CertificateAuthority.create("kubernetes", clock)
    name, namespace = authority_key(Key.of(cluster)).name, cluster.metadata.namespace
    owner = {"apiVersion": CLUSTERS.api_version, "kind": CLUSTERS.kind}
    owner |= {"name": cluster.metadata.name, "uid": cluster.metadata.uid}
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {labels.CLUSTER_NAME: cluster.metadata.name},
            "ownerReferences": [owner],
        },
        "type": SECRET_TYPE,
        "data": {
            _CERTIFICATE: base64.b64encode(made.certificate_pem).decode(),
            _KEY: base64.b64encode(made.key_pem).decode(),
        },
    }


def read_authority(data: Mapping[str, str]) -> CertificateAuthority:
    """The authority in the data of a Secret. Raises ValueError, without content, if there is none."""
    return CertificateAuthority.load(_decoded(data, _CERTIFICATE), _decoded(data, _KEY))


def _decoded(data: Mapping[str, str], name: str) -> bytes:
    value = data.get(name)
    if not value:
        raise ValueError(f"it has no {name}")
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error as error:
        raise ValueError(f"{name} is not Base64: {error}") from error
