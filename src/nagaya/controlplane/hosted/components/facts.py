"""Everything that the command lines and configuration files of a tenant's programs depend on, as one value.

Paths are as the programs see them: in a folder of the tenant where they are processes, in mounts where they are pods.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from nagaya.api.controlplane.hosted_addons import DEFAULT_KONNECTIVITY_PORT
from nagaya.api.controlplane.hosted_control_plane import HostedSettings
from nagaya.api.controlplane.hosted_network import DEFAULT_PORT
from nagaya.controlplane.hosted.components.network import TenantNetwork

LOOPBACK: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Folders:
    """Where the programs find their files, and where they leave theirs. Below `pki` names are kubeadm's."""

    pki: str = "/etc/kubernetes/pki"
    kubeconfigs: str = "/etc/kubernetes"
    configuration: str = "/etc/kubernetes/configuration"
    encryption: str = "/etc/kubernetes/encryption"
    logs: str = "/var/log/kubernetes"
    sockets: str = "/run/kubernetes"

    def certificate(self, name: str) -> str:
        """The file of a certificate of kubeadm's, or of a key of it."""
        return f"{self.pki}/{name}"


@dataclass(frozen=True, slots=True)
class ServingFacts:
    """Where API servers listen, and as what they are known."""

    bind_address: str
    advertise_address: str
    """The IP address that pods find behind the Service `kubernetes`. Of the family of the first range of Services.
    As long as it is not known it is empty, and no API server can be started."""
    port: int = DEFAULT_PORT
    port_shared: bool = False
    """Whether several API servers listen at one port of one machine, and the kernel spreads connections over them."""
    drain_seconds: int = 0
    """For how long an API server that ends goes on serving, until nobody sends it new connections any more."""
    watch_seconds: int = 0
    """For how long an API server that ends lets watches end by themselves. 0 leaves it to them, who may take until it
    is killed."""
    balanced: bool = False
    """Whether something in front of it knows when it ends. Then it need not send clients away, who would take that for
    a failure: nobody comes any more, and those who are there are told to connect anew."""


@dataclass(frozen=True, slots=True)
class EtcdStore:
    """The tenant's part of an etcd."""

    servers: tuple[str, ...]
    """URLs, as in `https://10.0.0.1:2379`."""
    prefix: str
    """What all its keys begin with, without a slash at the end: kube-apiserver adds it."""
    ca_file: str
    certificate_file: str
    key_file: str


@dataclass(frozen=True, slots=True)
class KineStore:
    """A kine beside the API server, with a database of its own."""

    socket: str
    """The path of its Unix socket, which nobody but the API server can reach."""
    endpoint: str = field(repr=False, default="")
    """The database, as kine wants it: a secret, if it contains a password."""
    ca_file: str = ""
    certificate_file: str = ""
    key_file: str = ""


Store = EtcdStore | KineStore


@dataclass(frozen=True, slots=True)
class TunnelFacts:
    """Konnectivity's server, beside the API server."""

    socket: str
    """The path of the Unix socket on which it takes the API server's connections."""
    bind_address: str
    agent_port: int = DEFAULT_KONNECTIVITY_PORT
    admin_port: int = 8133
    health_port: int = 8134
    health_bind_address: str = LOOPBACK
    servers: int = 1
    """How many servers there are: agents connect to each of them."""


@dataclass(frozen=True, slots=True)
class LocalPorts:
    """Where kube-controller-manager and kube-scheduler tell how they are. 0 is nowhere."""

    bind_address: str = LOOPBACK
    controller_manager: int = 10257
    scheduler: int = 10259


@dataclass(frozen=True, slots=True)
class TenantFacts:
    """One tenant as its programs need to know it."""

    cluster_name: str
    version: str
    """Of Kubernetes, as in `v1.36.3`."""
    serving: ServingFacts
    store: Store
    network: TenantNetwork = field(default_factory=TenantNetwork)
    settings: HostedSettings = field(default_factory=HostedSettings)
    folders: Folders = Folders()
    ports: LocalPorts = LocalPorts()
    tunnel: TunnelFacts | None = None
    replicas: int = 1
    elected: bool = True
    """Whether one of several is elected to work. Without an election a program that was killed is back at once instead
    of after the 15 s of its predecessor's lease; but somebody must see to it that there are never two."""
