"""What the programs of a tenant on this machine are told: from what is declared and decided to `TenantFacts`."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass

from nagaya.api.cluster.cluster import Cluster
from nagaya.api.controlplane.hosted_arguments import (
    KINE,
    KONNECTIVITY_SERVER,
    KUBE_APISERVER,
    KUBE_CONTROLLER_MANAGER,
    KUBE_SCHEDULER,
)
from nagaya.api.controlplane.hosted_control_plane import DEFAULT_REPLICAS, HostedControlPlane
from nagaya.controlplane.hosted.components.facts import ServingFacts, Store, TenantFacts, TunnelFacts
from nagaya.controlplane.hosted.components.network import network_of
from nagaya.controlplane.hosted.control_plane.endpoint import Listening
from nagaya.controlplane.hosted.data_store.tenant_store import KineTenantStore, TenantStore
from nagaya.controlplane.hosted.host import processes
from nagaya.controlplane.hosted.host.settings import HostSettings
from nagaya.controlplane.hosted.host.tenant_folder import TenantFolder
from nagaya.pki.keys import KeyAlgorithm
from nagaya.pki.kubeadm import identities
from nagaya.pki.kubeadm.identities import Identity
from nagaya.pki.kubeadm.inputs import Inputs


@dataclass(frozen=True, slots=True)
class Declared:
    """A control plane, the Cluster that it belongs to, and where it listens."""

    plane: HostedControlPlane
    cluster: Cluster
    listening: Listening

    @property
    def replicas(self) -> int:
        """How many API servers there shall be."""
        declared = self.plane.spec.replicas
        return DEFAULT_REPLICAS if declared is None else declared

    @property
    def tunnelled(self) -> bool:
        """Whether there is a tunnel to the nodes."""
        return self.plane.spec.addons.konnectivity.enabled is True

    @property
    def server(self) -> str:
        """The URL at which programs of this machine find the API."""
        address = self.listening.address
        return f"https://{f'[{address}]' if ':' in address else address}:{self.listening.port}"

    @property
    def advertised(self) -> str:
        """The address that pods find behind the Service `kubernetes`: the endpoint's, if it is one."""
        host = self.listening.endpoint.host
        try:
            return str(ipaddress.ip_address(host.partition("%")[0]))
        except ValueError:
            return self.listening.address

    @property
    def identities(self) -> tuple[Identity, ...]:
        """Who talks to the API from here."""
        found = (identities.CONTROLLER_MANAGER, identities.SCHEDULER)
        return (*found, identities.KONNECTIVITY_SERVER) if self.tunnelled else found

    def port_names(self) -> tuple[str, ...]:
        """The ports on loopback that are needed."""
        found = (processes.CONTROLLER_MANAGER_PORT, processes.SCHEDULER_PORT)
        return (*found, processes.TUNNEL_ADMIN_PORT, processes.TUNNEL_HEALTH_PORT) if self.tunnelled else found

    def inputs(self, settings: HostSettings) -> Inputs:
        """What certificates depend on. The API's is good for every way to it."""
        network = network_of(self.plane.spec.network, self.cluster.spec.cluster_network)
        own = ("localhost", "127.0.0.1", self.listening.address)
        return Inputs(
            cluster_name=self.cluster.metadata.name,
            service_cidrs=network.service_cidrs,
            dns_domain=network.dns_domain,
            endpoint_host=self.listening.endpoint.host,
            advertise_address=self.advertised,
            api_server_sans=tuple(dict.fromkeys((*own, *self.plane.spec.network.cert_sans))),
            algorithm=KeyAlgorithm.ECDSA_P256,
            leaf_validity=settings.leaf_validity,
        )

    def facts(self, version: str, store: Store, folder: TenantFolder, ports: Mapping[str, int]) -> TenantFacts:
        """Everything, for programs of a version."""
        spec = self.plane.spec
        tunnel = None
        if self.tunnelled:
            tunnel = TunnelFacts(
                socket=folder.tunnel_socket,
                bind_address=self.listening.address,
                agent_port=spec.addons.konnectivity.server.port or ports[processes.TUNNEL_AGENT_PORT],
                admin_port=ports[processes.TUNNEL_ADMIN_PORT],
                health_port=ports[processes.TUNNEL_HEALTH_PORT],
            )
        return TenantFacts(
            cluster_name=self.cluster.metadata.name,
            version=version,
            serving=ServingFacts(self.listening.address, self.advertised, self.listening.port),
            store=store,
            network=network_of(spec.network, self.cluster.spec.cluster_network),
            settings=spec,
            folders=folder.folders,
            tunnel=tunnel,
            replicas=self.replicas,
            elected=False,
        )

    def programs(self, store: TenantStore | None) -> tuple[str, ...]:
        """Which programs are needed."""
        found = [KUBE_APISERVER, KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER]
        if isinstance(store, KineTenantStore):
            found.append(KINE)
        if self.tunnelled:
            found.append(KONNECTIVITY_SERVER)
        return tuple(found)
