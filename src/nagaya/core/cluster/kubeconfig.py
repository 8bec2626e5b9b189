"""The kubeconfig of a cluster whose control plane nobody looks after: made once, from the cluster's authority.

Where there is a control plane object, its provider makes the kubeconfig and renews it.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

from nagaya.api.cluster import labels
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.kube.tenant_secrets import SUFFIX, VALUE
from nagaya.pki import certificates, keys, kubeconfig
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.kubeconfig import ClientCertificate
from nagaya.world import Clock

AUTHORITY_SUFFIX: Final = "-ca"
SECRET_TYPE: Final = "cluster.x-k8s.io/secret"  # noqa: S105 - no password; how Secrets of clusters are marked
_ADMIN: Final = CertificateSpec("kubernetes-admin", ("system:masters",))
_CERTIFICATE, _KEY = "tls.crt", "tls.key"


class BadAuthority(ValueError):
    """The Secret with the authority of a cluster cannot be used."""


def kubeconfig_secret(cluster: Cluster, authority: Mapping[str, str], clock: Clock) -> dict[str, Any]:
    """The Secret `<cluster>-kubeconfig`, with an administrator's certificate.

    `authority` is the data of the Secret `<cluster>-ca`. Raises BadAuthority, which names the Secret and the fault.
    """
    name, namespace = cluster.metadata.name, cluster.metadata.namespace
    try:
        signer = CertificateAuthority.load(_decoded(authority, _CERTIFICATE), _decoded(authority, _KEY))
        certificate, key = signer.issue_pair(_ADMIN, clock)
    except ValueError as error:
        raise BadAuthority(
            f"Secret {namespace}/{name}{AUTHORITY_SUFFIX}: {error}. "
            f"It must hold the certificate and the private key of the cluster's authority."
        ) from error
    config = kubeconfig.build(
        f"https://{cluster.spec.control_plane_endpoint}",
        signer.certificate_pem,
        ClientCertificate(certificates.to_pem(certificate), keys.to_pem(key)),
        cluster=name,
        user=f"{name}-admin",
    )
    return {
        "metadata": {
            "name": name + SUFFIX,
            "namespace": namespace,
            "labels": {labels.CLUSTER_NAME: name},
            "ownerReferences": [
                {
                    "apiVersion": CLUSTERS.api_version,
                    "kind": CLUSTERS.kind,
                    "name": name,
                    "uid": cluster.metadata.uid,
                }
            ],
        },
        "type": SECRET_TYPE,
        "data": {VALUE: base64.b64encode(kubeconfig.to_yaml(config)).decode()},
    }


def _decoded(data: Mapping[str, str], name: str) -> bytes:
    value = data.get(name)
    if not value:
        raise ValueError(f"it has no {name}")
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error as error:
        raise ValueError(f"{name} is not Base64: {error}") from error
