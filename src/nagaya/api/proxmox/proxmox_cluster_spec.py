"""What the machines of a cluster on Proxmox VE share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

import msgspec

from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.api.model import Model, doc, rule
from nagaya.api.proxmox.addresses import (
    DHCP,
    SOME_IPV4_ADDRESSES,
    SOME_IPV6_ADDRESSES,
    STATIC,
    IPConfig,
    ZoneConfig,
)
from nagaya.api.proxmox.formats import DnsServer, HostName
from nagaya.api.proxmox.life import DeletionPolicy
from nagaya.api.proxmox.network import NetworkSpec
from nagaya.api.proxmox.placement import Placement
from nagaya.api.proxmox.proxmox_machine_spec import ProxmoxMachineSpec
from nagaya.api.proxmox.references import ConnectionReference, PoolReference, SecretReference
from nagaya.api.proxmox.virtual_ip import ControlPlaneVirtualIP

DEFAULT_PORT: Final = 6443
DEFAULT_MEMORY_PERCENT: Final = 100

_CREDENTIALS_RULE: Final = rule(
    "!has(self.connectionRef) || !has(self.credentialsRef)",
    "give connectionRef or credentialsRef, not both: only one of them can say where Proxmox VE is",
)


class SchedulerHints(Model):
    """How much of the hosts is given away."""

    memory_adjustment: Annotated[
        int | None,
        doc(
            "How much memory VMs may have together, in percent of a host's: 300 is three times what there is, 95 keeps "
            "something free, 0 is without limit. 100 if left out.",
            format="int64",
            minimum=0,
        ),
    ] = None


class FailureDomain(Model):
    """Hosts that fail together: one host, a rack, a room."""

    name: Annotated[str, doc("How the failure domain is called.", minLength=1, maxLength=256)]
    nodes: Annotated[
        tuple[HostName, ...],
        doc("The hosts that are in it. The host of that name if left out.", minItems=1, maxItems=128, list_type="set"),
    ] = ()
    control_plane: Annotated[
        bool | None, doc("Whether machines of the control plane may be in it. They may if left out.")
    ] = None

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that are in it."""
        return self.nodes or (self.name,)


class ClassMachineSpec(ProxmoxMachineSpec):
    """Machines of one type, for the patches of a ClusterClass to take from. No controller reads it."""

    network: Annotated[NetworkSpec | None, doc("The network of the VM.")] = None
    machine_type: Annotated[str, doc("Which machines: controlPlane, workerNode, ...", minLength=1, maxLength=63)]


class ProxmoxClusterSpec(Model):
    """What the machines of a cluster share."""

    __schema__: ClassVar[Mapping[str, object]] = {"rules": [_CREDENTIALS_RULE]}

    control_plane_endpoint: Annotated[
        Endpoint,
        doc(
            "Where the API server is reached: an address that no machine has, or a name. Leave the host out if it "
            "comes from controlPlaneEndpointPoolRef, or from an externally managed control plane."
        ),
    ] = Endpoint()
    control_plane_endpoint_pool_ref: Annotated[
        PoolReference | None,
        doc(
            "The pool that the address of the API server is taken from, if controlPlaneEndpoint has no host. The port "
            "is 6443 unless controlPlaneEndpoint has one."
        ),
    ] = None
    control_plane_virtual_ip: Annotated[
        ControlPlaneVirtualIP | None, doc("Who answers at the address of the API server.")
    ] = msgspec.field(default=None, name="controlPlaneVirtualIP")
    external_managed_control_plane: Annotated[
        bool | None,
        doc("Whether the control plane is run elsewhere, and its provider fills in the endpoint.", default=False),
    ] = None
    allowed_nodes: Annotated[
        tuple[HostName, ...],
        doc(
            "The hosts that may have machines. If left out, machines stay on the host of their template.",
            maxItems=128,
            list_type="set",
        ),
    ] = ()
    scheduler_hints: Annotated[SchedulerHints | None, doc("How much of the hosts is given away.")] = None
    ipv4_config: Annotated[
        IPConfig | None,
        doc("The IPv4 addresses of machines.", rules=[SOME_IPV4_ADDRESSES]),
    ] = None
    ipv6_config: Annotated[
        IPConfig | None,
        doc("The IPv6 addresses of machines.", rules=[SOME_IPV6_ADDRESSES]),
    ] = None
    dns_servers: Annotated[
        tuple[DnsServer, ...],
        doc("The name servers of the machines.", minItems=1, maxItems=16, list_type="set"),
    ] = ()
    zone_config: Annotated[
        tuple[ZoneConfig, ...],
        doc("Further networks, by zone.", maxItems=32, list_type="map", list_map_keys=["zone"]),
    ] = ()
    credentials_ref: Annotated[
        SecretReference | None,
        doc(
            "A Secret that says where Proxmox VE is and who asks: url, token, secret, insecure, root_ca. A "
            "ProxmoxConnection can more: give connectionRef instead."
        ),
    ] = None
    connection_ref: Annotated[
        ConnectionReference | None,
        doc(
            "The ProxmoxConnection to use, in the same namespace. The only one there if neither this nor "
            "credentialsRef is given."
        ),
    ] = None
    failure_domains: Annotated[
        tuple[FailureDomain, ...],
        doc(
            "Hosts that fail together. Machines of the control plane are spread over them. There are none if left out.",
            minItems=1,
            maxItems=100,
            list_type="map",
            list_map_keys=["name"],
        ),
    ] = ()
    addressing: Annotated[
        str | None,
        doc(
            "Where network devices that say nothing get their addresses. static: from the pools. dhcp: from the "
            "network; then neither ipv4Config nor ipv6Config nor dnsServers is needed. static if left out.",
            enum=[STATIC, DHCP],
        ),
    ] = None
    placement: Annotated[Placement | None, doc("Rules for the choice of hosts.")] = None
    deletion_policy: DeletionPolicy = None
    machine_spec: Annotated[
        tuple[ClassMachineSpec, ...],
        doc(
            "Machines by type, for the patches of a ClusterClass to take from. No controller reads it.",
            maxItems=16,
            list_type="map",
            list_map_keys=["machineType"],
        ),
    ] = ()
    ssh_authorized_keys: Annotated[
        tuple[Annotated[str, doc("A public key.", maxLength=16384)], ...],
        doc(
            "Keys that may log in to machines, for the patches of a ClusterClass to take from.",
            maxItems=64,
            list_type="set",
        ),
    ] = ()
    virtual_ip_network_interface: Annotated[
        str,
        doc(
            "The network interface that has the address of the control plane, for the patches of a ClusterClass to "
            "take from, and for controlPlaneVirtualIP.",
            maxLength=15,
        ),
    ] = msgspec.field(default="", name="virtualIPNetworkInterface")


_STATIC: Final = "!has(self.addressing) || self.addressing != 'dhcp'"
CLUSTER_RULES: Final = (
    _CREDENTIALS_RULE,
    rule(
        f"!({_STATIC}) || has(self.ipv4Config) || has(self.ipv6Config)",
        "at least one ip config must be set, either ipv4Config or ipv6Config",
    ),
    rule(
        f"!({_STATIC}) || has(self.dnsServers)",
        "dnsServers is needed: give the name servers of the machines, or set addressing to dhcp",
    ),
)
