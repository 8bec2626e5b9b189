"""What is done to a machine whatever it becomes: files, users, disks, commands, and where its programs come from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from nagaya.api.bootstrap.disks import DiskSetup
from nagaya.api.bootstrap.files import TEMPLATE, File
from nagaya.api.bootstrap.kubeadm_config_spec import CLOUD_CONFIG, NTP, Ignition, KubeadmConfigSpec
from nagaya.api.bootstrap.users import User
from nagaya.bootstrap.installation.choice import FROM_IMAGE, Installation
from nagaya.bootstrap.yaml_text import TEMPLATE_TAG


@dataclass(frozen=True, slots=True)
class KubeletFacts:
    """What infrastructure wants the kubelet to be told. An argument that the user gave himself wins."""

    node_ip: str = ""
    """One address, or one of each family joined by a comma."""
    provider_id: str = ""
    cloud_provider_external: bool = False
    """A cloud controller manager will initialise the node."""

    def without_templates(self) -> KubeletFacts:
        """Only what is the same for all machines. Ignition knows no variables: a template would arrive as it is."""
        return replace(
            self,
            node_ip="" if TEMPLATE_TAG.search(self.node_ip) else self.node_ip,
            provider_id="" if TEMPLATE_TAG.search(self.provider_id) else self.provider_id,
        )


NO_FACTS: Final = KubeletFacts()
_NO_NTP: Final = NTP()
_NO_DISKS: Final = DiskSetup()
_NO_IGNITION: Final = Ignition()


@dataclass(frozen=True, slots=True)
class Preparation:
    """A machine before kubeadm runs. Everything that comes from elsewhere is filled in already: no file or user
    refers to a Secret any more, and templates of files are made out."""

    kubernetes_version: str
    """As the Machine has it, such as v1.36.3."""
    format: str = CLOUD_CONFIG
    files: tuple[File, ...] = field(default=(), repr=False)
    users: tuple[User, ...] = field(default=(), repr=False)
    ntp: NTP = _NO_NTP
    disk_setup: DiskSetup = _NO_DISKS
    mounts: tuple[tuple[str, ...], ...] = ()
    boot_commands: tuple[str, ...] = field(default=(), repr=False)
    pre_kubeadm_commands: tuple[str, ...] = field(default=(), repr=False)
    post_kubeadm_commands: tuple[str, ...] = field(default=(), repr=False)
    verbosity: int | None = None
    ignition: Ignition = field(default=_NO_IGNITION, repr=False)
    installation: Installation = FROM_IMAGE
    kubelet: KubeletFacts = NO_FACTS

    def __post_init__(self) -> None:
        for file in self.files:
            if file.content_from is not None or file.content_format == TEMPLATE:
                raise ValueError(f"the content of {file.path} is not made out yet")
        for user in self.users:
            if user.passwd_from is not None:
                raise ValueError(f"the password of {user.name} is not made out yet")

    @classmethod
    def of(
        cls,
        spec: KubeadmConfigSpec,
        kubernetes_version: str,
        *,
        files: tuple[File, ...] | None = None,
        users: tuple[User, ...] | None = None,
        installation: Installation = FROM_IMAGE,
        kubelet: KubeletFacts = NO_FACTS,
    ) -> Preparation:
        """What a KubeadmConfig asks for. `files` and `users` take the place of its own, once they are made out."""
        return cls(
            kubernetes_version=kubernetes_version,
            format=spec.format or CLOUD_CONFIG,
            files=spec.files if files is None else files,
            users=spec.users if users is None else users,
            ntp=spec.ntp,
            disk_setup=spec.disk_setup,
            mounts=spec.mounts,
            boot_commands=spec.boot_commands,
            pre_kubeadm_commands=spec.pre_kubeadm_commands,
            post_kubeadm_commands=spec.post_kubeadm_commands,
            verbosity=spec.verbosity,
            ignition=spec.ignition,
            installation=installation,
            kubelet=kubelet,
        )
