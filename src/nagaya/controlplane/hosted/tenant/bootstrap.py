"""What a machine may do on its way in: with a bootstrap token first, with its own certificate afterwards.

In the order of a join: find the cluster as nobody (`cluster-info`), read the configuration, look whether its name is
taken, ask for a certificate and have it approved, and later have it renewed. The last two let the API server ask
kubelets for logs, and the administrators of a kubeconfig be administrators.
"""

from __future__ import annotations

from typing import Final

from nagaya.controlplane.hosted.tenant.access import (
    cluster_binding,
    cluster_role,
    group,
    reading_config_map,
    rule,
    user,
)
from nagaya.controlplane.hosted.tenant.kinds import PUBLIC, SYSTEM, Manifest, config_map
from nagaya.controlplane.hosted.tenant.setup import TenantSetup
from nagaya.pki import kubeconfig
from nagaya.pki.kubeadm import identities

BOOTSTRAP_TOKENS: Final = "system:bootstrappers:kubeadm:default-node-token"
CLUSTER_INFO: Final = "cluster-info"
_KUBELET_CLIENT: Final = "kube-apiserver-kubelet-client"
_REQUESTS: Final = "system:certificates.k8s.io:certificatesigningrequests"


def objects(setup: TenantSetup) -> tuple[Manifest, ...]:
    """The objects, in the order of a join."""
    tokens, nodes = group(BOOTSTRAP_TOKENS), group(identities.NODES)
    return (
        cluster_info(setup),
        *reading_config_map(PUBLIC, "kubeadm:bootstrap-signer-clusterinfo", CLUSTER_INFO, user("system:anonymous")),
        *reading_config_map(SYSTEM, "kubeadm:nodes-kubeadm-config", "kubeadm-config", tokens, nodes),
        *reading_config_map(SYSTEM, "kubeadm:kubelet-config", "kubelet-config", nodes, tokens),
        cluster_role("kubeadm:get-nodes", rule(["get"], ["nodes"])),
        cluster_binding("kubeadm:get-nodes", "kubeadm:get-nodes", tokens),
        cluster_binding("kubeadm:kubelet-bootstrap", "system:node-bootstrapper", tokens),
        cluster_binding("kubeadm:node-autoapprove-bootstrap", f"{_REQUESTS}:nodeclient", tokens),
        cluster_binding("kubeadm:node-autoapprove-certificate-rotation", f"{_REQUESTS}:selfnodeclient", nodes),
        cluster_binding("kubeadm:apiserver-kubelet-client", "system:kubelet-api-admin", user(_KUBELET_CLIENT)),
        cluster_binding(identities.CLUSTER_ADMINS, "cluster-admin", group(identities.CLUSTER_ADMINS)),
    )


def cluster_info(setup: TenantSetup) -> Manifest:
    """Where the cluster is and how to recognise it, for those who have nothing but a token.

    The signatures that prove it to the owner of a token are added by the tenant's own kube-controller-manager, under
    keys of their own.
    """
    content = kubeconfig.build(f"https://{setup.endpoint}", setup.authority, None, cluster="")
    return config_map(PUBLIC, CLUSTER_INFO, {"kubeconfig": kubeconfig.to_yaml(content).decode()})
