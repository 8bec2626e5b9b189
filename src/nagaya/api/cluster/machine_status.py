"""What is known of a machine."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, ClassVar

import msgspec

from nagaya.api.cluster.formats import DNS_SUBDOMAIN
from nagaya.api.cluster.state import Conditions, ObservedGeneration
from nagaya.api.cluster.v1beta1 import DEPRECATED, DeprecatedFailureStatus
from nagaya.api.model import Model, doc


class NodeReference(Model):
    """The Node of a machine, in the cluster that it belongs to."""

    name: Annotated[str, doc("The name of the Node.", minLength=1, maxLength=253, pattern=DNS_SUBDOMAIN)]


class NodeSwap(Model):
    """Swap space of a node."""

    capacity: Annotated[int | None, doc("How much there is, in bytes.", format="int64")] = None


class NodeInfo(Model):
    """What a node says about its system."""

    machine_id: Annotated[str, doc("The machine-id of the operating system.")] = msgspec.field(name="machineID")
    system_uuid: Annotated[str, doc("The UUID of the hardware, as SMBIOS tells it.")] = msgspec.field(name="systemUUID")
    boot_id: Annotated[str, doc("A new one with every boot.")] = msgspec.field(name="bootID")
    kernel_version: Annotated[str, doc("The version of the kernel, as from `uname -r`.")]
    os_image: Annotated[str, doc("The name of the operating system, as in /etc/os-release.")]
    container_runtime_version: Annotated[str, doc("The container runtime and its version: containerd://2.1.4.")]
    kubelet_version: Annotated[str, doc("The version of the kubelet.")]
    kube_proxy_version: Annotated[str, doc("Always empty: nodes no longer tell it.")]
    operating_system: Annotated[str, doc("What the kubelet was built for: linux or windows.")]
    architecture: Annotated[str, doc("What the kubelet was built for: amd64, arm64 and so on.")]
    swap: Annotated[NodeSwap | None, doc("Swap space, if the node reports it.")] = None


class MachineAddress(Model):
    """An address of a machine."""

    type: Annotated[
        str,
        doc(
            "What kind of address it is, and who can use it.",
            enum=["Hostname", "ExternalIP", "InternalIP", "ExternalDNS", "InternalDNS"],
        ),
    ]
    address: Annotated[str, doc("The address itself: an IP address or a name.", minLength=1, maxLength=256)]


class MachineInitialization(Model):
    """How far the machine has come into being. What became true stays true, whatever happens later."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    infrastructure_provisioned: Annotated[
        bool | None, doc("Whether the infrastructure provider has provided the machine.")
    ] = None
    bootstrap_data_secret_created: Annotated[
        bool | None, doc("Whether the data that the machine boots with has been made.")
    ] = None


class MachineDeletionStatus(Model):
    """When the steps of the deletion began that have a time limit."""

    wait_for_pre_drain_hook_start_time: Annotated[
        datetime | None, doc("Since when the deletion waits for pre-drain hooks.")
    ] = None
    node_drain_start_time: Annotated[
        datetime | None, doc("Since when the Node is drained; spec.deletion.nodeDrainTimeoutSeconds counts from here.")
    ] = None
    wait_for_node_volume_detach_start_time: Annotated[
        datetime | None,
        doc(
            "Since when the deletion waits for volumes to be detached; spec.deletion.nodeVolumeDetachTimeoutSeconds "
            "counts from here."
        ),
    ] = None
    wait_for_pre_terminate_hook_start_time: Annotated[
        datetime | None, doc("Since when the deletion waits for pre-terminate hooks.")
    ] = None


class MachineStatus(Model):
    """What is known of a machine."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    conditions: Annotated[
        Conditions,
        doc(
            "What holds of the machine: Available, Ready, UpToDate, BootstrapConfigReady, InfrastructureReady, "
            "NodeReady, NodeHealthy, Updating, Deleting, Paused; with a MachineHealthCheck also HealthCheckSucceeded "
            "and OwnerRemediated; and what others add, such as the control plane."
        ),
    ] = ()
    initialization: Annotated[
        MachineInitialization, doc("How far the machine has come into being. What became true stays true.")
    ] = MachineInitialization()
    node_ref: Annotated[NodeReference | None, doc("The Node that runs on the machine, once there is one.")] = None
    node_info: Annotated[NodeInfo | None, doc("What the Node says about its system.")] = None
    last_updated: Annotated[datetime | None, doc("When the phase last changed.")] = None
    addresses: Annotated[
        tuple[MachineAddress, ...],
        doc("Addresses of the machine, as the infrastructure provider tells them.", maxItems=256, list_type="atomic"),
    ] = ()
    failure_domain: Annotated[
        str, doc("The failure domain that the machine was placed in.", minLength=1, maxLength=256)
    ] = ""
    phase: Annotated[
        str,
        doc(
            "The state of the machine in one word. Programs should read conditions instead.",
            enum=[
                "Pending",
                "Provisioning",
                "Provisioned",
                "Running",
                "Updating",
                "Deleting",
                "Deleted",
                "Failed",
                "Unknown",
            ],
        ),
    ] = ""
    certificates_expiry_date: Annotated[
        datetime | None, doc("When the first of the machine's certificates runs out. Control plane machines only.")
    ] = None
    observed_generation: ObservedGeneration = None
    deletion: Annotated[
        MachineDeletionStatus, doc("When the steps of a deletion began. Only on machines that are being deleted.")
    ] = MachineDeletionStatus()
    deprecated: Annotated[DeprecatedFailureStatus, DEPRECATED] = DeprecatedFailureStatus()
