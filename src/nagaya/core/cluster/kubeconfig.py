"""The kubeconfig of a cluster whose control plane nobody looks after: made once, from the cluster's authority.

Where there is a control plane object, its provider makes the kubeconfig and renews it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.secrets import AUTHORITY, secret_of
from nagaya.kube.tenant_secrets import SUFFIX, VALUE
from nagaya.pki import certificates, keys, kubeconfig
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.kubeconfig import ClientCertificate
from nagaya.pki.secret_data import read_authority
from nagaya.world import Clock

_ADMIN: Final = CertificateSpec("kubernetes-admin", ("system:masters",))


class BadAuthority(ValueError):
    """The Secret with the authority of a cluster cannot be used."""


def kubeconfig_secret(cluster: Cluster, authority: Mapping[str, str], clock: Clock) -> dict[str, Any]:
    """The Secret `<cluster>-kubeconfig`, with an administrator's certificate.

    `authority` is the data of the Secret `<cluster>-ca`. Raises BadAuthority, which names the Secret and the fault.
    """
    name, namespace = cluster.metadata.name, cluster.metadata.namespace
    try:
        signer = read_authority(authority)
        certificate, key = signer.issue_pair(_ADMIN, clock)
    except ValueError as error:
        raise BadAuthority(
            f"Secret {namespace}/{name}{AUTHORITY}: {error}. "
            f"It must hold the certificate and the private key of the cluster's authority."
        ) from error
    config = kubeconfig.build(
        f"https://{cluster.spec.control_plane_endpoint}",
        signer.certificate_pem,
        ClientCertificate(certificates.to_pem(certificate), keys.to_pem(key)),
        cluster=name,
        user=f"{name}-admin",
    )
    return secret_of(cluster, SUFFIX, {VALUE: kubeconfig.to_yaml(config)})
