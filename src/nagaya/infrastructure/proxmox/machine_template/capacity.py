"""What a Node on a machine from a template will offer, as quantities. Pure.

The cluster autoscaler takes it to decide whether machines of a group that has none would help. What the template leaves
to the template of Proxmox VE is not known here, and left out: a wrong number would do more harm than none. Sockets are
the exception: nearly all templates have one, those with more make larger Nodes than promised, and whoever gives only
the cores would have no group that grows from nothing.

How many pods a Node takes is the kubelet's matter; the autoscaler takes its default of 110 where nothing is told.
"""

from __future__ import annotations

from nagaya.api.proxmox.proxmox_machine_spec import ProxmoxMachineSpec


def capacity(spec: ProxmoxMachineSpec) -> dict[str, str]:
    """Quantities by the names that Nodes have for resources."""
    found: dict[str, str] = {}
    if spec.num_cores is not None:
        found["cpu"] = str(spec.num_cores * (spec.num_sockets or 1))
    if spec.memory_mib is not None:
        found["memory"] = f"{spec.memory_mib}Mi"
    volume = None if spec.disks is None else spec.disks.boot_volume
    if volume is not None:
        found["ephemeral-storage"] = f"{volume.size_gb}Gi"
    return found


def architecture(spec: ProxmoxMachineSpec) -> str:
    """As Nodes name it. The board `virt` is that of ARM; all others are of PCs."""
    board = "" if spec.firmware is None else spec.firmware.machine
    return "arm64" if board == "virt" or board.startswith("virt-") else "amd64"
