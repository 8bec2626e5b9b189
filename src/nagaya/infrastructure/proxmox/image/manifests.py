"""What a user writes so that machines are made from an image, as manifests to copy from.

A plain image has neither Kubernetes nor the QEMU guest agent in it. The first is installed at boot by the bootstrap
provider if an annotation says so; the second by a command, as nothing else in a cluster needs it.
"""

from __future__ import annotations

from typing import Any, Final

from nagaya.api.bootstrap.annotations import INSTALL
from nagaya.api.proxmox.group import GROUP, VERSION
from nagaya.infrastructure.proxmox.image.wanted import DEFAULT_BRIDGE

PACKAGES: Final = "packages"
AGENT: Final = (
    "apt-get -o DPkg::Lock::Timeout=300 update",
    "DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y qemu-guest-agent",
    "systemctl start qemu-guest-agent",
)
"""The service has no need to be enabled: the device that it talks through starts it."""
_BOOTSTRAP: Final = "bootstrap.cluster.x-k8s.io/v1beta2"
_CONTROL_PLANE: Final = "controlplane.cluster.x-k8s.io/v1beta2"


def selector(origin: str, *, kubernetes: bool) -> dict[str, Any]:
    """How machines find the templates of an image."""
    return {"matchTags": [origin], **({"matchKubernetesVersion": True} if kubernetes else {})}


def manifests(
    origin: str, version: str, *, kubernetes: bool, name: str = "debian", bridge: str = DEFAULT_BRIDGE
) -> list[dict[str, Any]]:
    """A ProxmoxMachineTemplate, and the parts of a KubeadmControlPlane and a KubeadmConfigTemplate that a plain image
    needs: one with Kubernetes in it (`kubernetes`) needs no more than the first."""
    machine = {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "ProxmoxMachineTemplate",
        "metadata": {"name": name},
        "spec": {
            "template": {
                "spec": {
                    "templateSelector": selector(origin, kubernetes=kubernetes),
                    "numCores": 2,
                    "memoryMiB": 4096,
                    # The disk of a plain image has room for little more than the system.
                    "disks": {"bootVolume": {"disk": "scsi0", "sizeGb": 30}},
                    "network": {"networkDevices": [{"name": "net0", "bridge": bridge, "defaultIPv4": True}]},
                }
            }
        },
    }
    if kubernetes:
        return [machine]
    installed = {"metadata": {"annotations": {INSTALL: PACKAGES}}}
    commands = {"preKubeadmCommands": list(AGENT)}
    reference = {"apiGroup": GROUP, "kind": "ProxmoxMachineTemplate", "name": name}
    return [
        machine,
        {
            "apiVersion": _CONTROL_PLANE,
            "kind": "KubeadmControlPlane",
            "metadata": {"name": name},
            "spec": {
                "version": version,
                "machineTemplate": {**installed, "spec": {"infrastructureRef": reference}},
                "kubeadmConfigSpec": commands,
            },
        },
        {
            "apiVersion": _BOOTSTRAP,
            "kind": "KubeadmConfigTemplate",
            "metadata": {"name": name},
            "spec": {"template": {**installed, "spec": commands}},
        },
    ]
