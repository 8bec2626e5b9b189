"""How a machine becomes a node: what kubeadm is told, and what is prepared on the machine before it runs.

The same fields appear in KubeadmConfig, in its template, and in KubeadmControlPlane.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

from nagaya.api.bootstrap.cluster_configuration import ClusterConfiguration
from nagaya.api.bootstrap.disks import DiskSetup
from nagaya.api.bootstrap.files import File
from nagaya.api.bootstrap.init_configuration import InitConfiguration
from nagaya.api.bootstrap.join_configuration import JoinConfiguration
from nagaya.api.bootstrap.users import User
from nagaya.api.model import Model, doc

CLOUD_CONFIG: Final = "cloud-config"
IGNITION: Final = "ignition"

Commands = tuple[Annotated[str, doc("A command line.", minLength=1, maxLength=10240)], ...]
MountPoint = Annotated[
    tuple[Annotated[str, doc("A column of /etc/fstab.", minLength=1, maxLength=512)], ...],
    doc("One mount, by the columns of /etc/fstab.", minItems=1, maxItems=100),
]


class NTP(Model):
    """How the clock of the machine is kept."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    servers: Annotated[
        tuple[Annotated[str, doc("Name or address of a server.", minLength=1, maxLength=512)], ...],
        doc("Time servers to ask. Those of the system if left out.", list_type="atomic", maxItems=100),
    ] = ()
    enabled: Annotated[bool | None, doc("Whether the clock is kept by NTP at all.")] = None


class ContainerLinuxConfig(Model):
    """What is merged into generated Ignition data."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    additional_config: Annotated[
        str,
        doc(
            "Container Linux Config in YAML that is merged into what is generated.",
            minLength=1,
            maxLength=32768,
        ),
    ] = ""
    strict: Annotated[bool | None, doc("If true, warnings about additionalConfig are errors.")] = None


class Ignition(Model):
    """Settings for the format ignition."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    container_linux_config: Annotated[ContainerLinuxConfig, doc("What is merged into the generated Ignition data.")] = (
        ContainerLinuxConfig()
    )


class KubeadmConfigSpec(Model):
    """How a machine becomes a node with kubeadm."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    cluster_configuration: Annotated[
        ClusterConfiguration,
        doc("Settings of the cluster as a whole; used by the machine that starts it."),
    ] = ClusterConfiguration()
    init_configuration: Annotated[
        InitConfiguration,
        doc("Settings of kubeadm init; used by the machine that starts the cluster."),
    ] = InitConfiguration()
    join_configuration: Annotated[JoinConfiguration, doc("Settings of kubeadm join; used by all other machines.")] = (
        JoinConfiguration()
    )
    files: Annotated[
        tuple[File, ...],
        doc("Files to write before any command runs.", list_type="atomic", minItems=1, maxItems=200),
    ] = ()
    disk_setup: Annotated[DiskSetup, doc("Partitions and file systems to make.")] = DiskSetup()
    mounts: Annotated[
        tuple[MountPoint, ...],
        doc(
            "What to mount where, each by the columns of /etc/fstab. Example: [LABEL=data, /var/lib/data].",
            list_type="atomic",
            minItems=1,
            maxItems=100,
        ),
    ] = ()
    boot_commands: Annotated[
        Commands,
        doc(
            "Commands that run early in every boot (cloud-init's bootcmd); cloud-init-per makes one run once. No "
            "effect with ignition.",
            list_type="atomic",
            minItems=1,
            maxItems=1000,
        ),
    ] = ()
    pre_kubeadm_commands: Annotated[
        Commands,
        doc(
            "Commands that run once, as root, before kubeadm.",
            list_type="atomic",
            minItems=1,
            maxItems=1000,
        ),
    ] = ()
    post_kubeadm_commands: Annotated[
        Commands,
        doc(
            "Commands that run once, as root, after kubeadm succeeded.",
            list_type="atomic",
            minItems=1,
            maxItems=1000,
        ),
    ] = ()
    users: Annotated[tuple[User, ...], doc("Accounts to create.", list_type="atomic", minItems=1, maxItems=100)] = ()
    ntp: Annotated[NTP, doc("How the clock of the machine is kept.")] = NTP()
    format: Annotated[
        str,
        doc(
            "What the machine's image understands: cloud-config or ignition. cloud-config if left out.",
            enum=[CLOUD_CONFIG, IGNITION],
        ),
    ] = ""
    verbosity: Annotated[int | None, doc("How much kubeadm prints, as its flag --v; 5 and more for debugging.")] = None
    ignition: Annotated[Ignition, doc("Settings for the format ignition.")] = Ignition()
