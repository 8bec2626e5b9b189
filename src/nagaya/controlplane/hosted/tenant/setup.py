"""Everything that the objects in a tenant depend on, as one value.

Equal values give equal objects, so whoever keeps a tenant may compare this instead of what is rendered from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_network
from typing import Any, Final, Literal

from nagaya.api.bootstrap.component import Argument
from nagaya.pki.kubeadm.service_addresses import dns_address

REGISTRY: Final = "registry.k8s.io"


@dataclass(frozen=True, slots=True)
class CoreDns:
    """Cluster DNS. What is empty is as kubeadm of the tenant's version has it."""

    image_repository: str = ""
    image_tag: str = ""
    replicas: int | None = None
    """Without a number there are two at first, and then as many as somebody in the tenant scales it to."""
    corefile: str = ""


@dataclass(frozen=True, slots=True)
class KubeProxy:
    """Service addresses on every node."""

    image_repository: str = ""
    image_tag: str = ""
    configuration: Mapping[str, Any] = field(default_factory=dict)
    """Fields of KubeProxyConfiguration that shall be other than kubeadm's."""


@dataclass(frozen=True, slots=True)
class Konnectivity:
    """The way from the API server to kubelets and pods, where machines cannot be reached from outside."""

    server_host: str
    """Where agents find the servers: a name or an address in the API server's certificate."""
    server_port: int = 8132
    mode: Literal["DaemonSet", "Deployment"] = "DaemonSet"
    replicas: int = 2
    """Of the Deployment."""
    host_network: bool = True
    """Agents in the node's own network work before there is a pod network."""
    image_repository: str = ""
    image_tag: str = ""
    extra_args: tuple[Argument, ...] = ()
    tolerations: tuple[Mapping[str, Any], ...] = ({"operator": "Exists"},)


@dataclass(frozen=True, slots=True)
class TenantSetup:
    """One tenant as its objects need to know it."""

    cluster_name: str
    version: str
    """The version that the tenant's API server runs, as in `v1.36.3`."""
    endpoint: str
    """Host and port of the API server as machines reach it."""
    authority: bytes = field(repr=False)
    """The certificates, PEM, that machines may trust the API server by."""
    service_cidrs: tuple[str, ...] = ("10.96.0.0/12",)
    pod_cidrs: tuple[str, ...] = ()
    dns_domain: str = "cluster.local"
    dns_service_ips: tuple[str, ...] = ()
    """Where pods find cluster DNS; without any it is the tenth address of the first service network."""
    image_repository: str = REGISTRY
    kubelet_patches: tuple[Mapping[str, Any], ...] = ()
    """Operations of a JSON patch (RFC 6902) on the KubeletConfiguration that machines get."""
    verified_kubelets: bool = False
    """Whether kubelets shall ask for serving certificates of the cluster's own authority."""
    api_address: str = ""
    """The IP address that pods find behind the Service `kubernetes`; empty where API servers tell it themselves."""
    api_port: int = 6443
    core_dns: CoreDns | None = field(default_factory=CoreDns)
    kube_proxy: KubeProxy | None = field(default_factory=KubeProxy)
    konnectivity: Konnectivity | None = None

    @property
    def cluster_dns(self) -> tuple[str, ...]:
        """The addresses of cluster DNS."""
        return self.dns_service_ips or (dns_address(self.service_cidrs),)

    @property
    def ipv6_first(self) -> bool:
        """Whether services are reached by IPv6 unless something else is asked for."""
        return ip_network(self.service_cidrs[0], strict=False).version == 6
