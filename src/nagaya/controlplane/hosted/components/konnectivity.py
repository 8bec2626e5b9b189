"""The command line of Konnectivity's server: the near end of the tunnel to the nodes.

It takes connections of the API server on a Unix socket, and of agents by TLS with the API server's own certificate.
Agents prove themselves by tokens that the tenant's API confirms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from nagaya.api.bootstrap.component import Argument
from nagaya.api.controlplane.hosted_arguments import KONNECTIVITY_SERVER
from nagaya.controlplane.hosted.components.arguments import merged
from nagaya.controlplane.hosted.components.facts import LOOPBACK, Folders, TunnelFacts
from nagaya.pki.kubeadm import identities
from nagaya.pki.kubeadm.layout import certificate_file, key_file
from nagaya.pki.kubeadm.leaves import API_SERVER

AGENT: Final = "konnectivity-agent"
AGENT_NAMESPACE: Final = "kube-system"
AUDIENCE: Final = "system:konnectivity-server"


def arguments(tunnel: TunnelFacts, folders: Folders, given: Sequence[Argument] = ()) -> tuple[str, ...]:
    """What the server is started with."""
    fixed = {
        "admin-bind-address": LOOPBACK,
        "admin-port": str(tunnel.admin_port),
        "agent-bind-address": tunnel.bind_address,
        "agent-namespace": AGENT_NAMESPACE,
        "agent-port": str(tunnel.agent_port),
        "agent-service-account": AGENT,
        "authentication-audience": AUDIENCE,
        "cluster-cert": folders.certificate(certificate_file(API_SERVER.name)),
        "cluster-key": folders.certificate(key_file(API_SERVER.name)),
        "health-bind-address": tunnel.health_bind_address,
        "health-port": str(tunnel.health_port),
        "kubeconfig": f"{folders.kubeconfigs}/{identities.KONNECTIVITY_SERVER.file}",
        "mode": "grpc",
        "server-count": str(tunnel.servers),
        "server-port": "0",
        "uds-name": tunnel.socket,
    }
    return merged(KONNECTIVITY_SERVER, fixed, {"logtostderr": "true"}, given)
