"""The kubeconfig of a cluster whose control plane nobody looks after: made once, from the cluster's authority.

Where there is a control plane object, its provider makes the kubeconfig and renews it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.secrets import AUTHORITY, secret_of
from nagaya.clusters.certificates.kubeconfig import administrator_kubeconfig
from nagaya.kube.tenant_secrets import SUFFIX, VALUE
from nagaya.pki import keys
from nagaya.pki.secret_data import read_authority
from nagaya.world import Clock


class BadAuthority(ValueError):
    """The Secret with the authority of a cluster cannot be used."""


def kubeconfig_secret(cluster: Cluster, authority: Mapping[str, str], clock: Clock) -> dict[str, Any]:
    """The Secret `<cluster>-kubeconfig`, with an administrator's certificate.

    `authority` is the data of the Secret `<cluster>-ca`. Raises BadAuthority, which names the Secret and the fault.
    """
    name, namespace = cluster.metadata.name, cluster.metadata.namespace
    endpoint = cluster.spec.control_plane_endpoint
    try:
        config = administrator_kubeconfig(name, endpoint, read_authority(authority), keys.generate(), clock)
    except ValueError as error:
        raise BadAuthority(
            f"Secret {namespace}/{name}{AUTHORITY}: {error}. "
            f"It must hold the certificate and the private key of the cluster's authority."
        ) from error
    return secret_of(cluster, SUFFIX, {VALUE: config})
