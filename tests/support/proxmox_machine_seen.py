"""What became of a machine of the yard: its VM in Proxmox VE, what its guest is told, and what it says of itself."""

from __future__ import annotations

from typing import Any

import yaml

from nagaya.api.ipam.global_in_cluster_ip_pool import GLOBAL_IN_CLUSTER_IP_POOLS
from nagaya.api.ipam.in_cluster_ip_pool import IN_CLUSTER_IP_POOLS
from nagaya.api.kind import Kind
from nagaya.api.proxmox.proxmox_machine import ProxmoxMachine
from nagaya.api.untyped import Untyped
from nagaya.simulators.proxmox.guests.boot_data import read_boot_data
from nagaya.simulators.proxmox.state.guest import Guest
from support.proxmox_yard import NAMESPACE, Yard

EVENTS = Kind("events.k8s.io", "v1", "Event", "events", Untyped)


def vm(yard: Yard, made: ProxmoxMachine) -> Guest:
    """Its VM."""
    return yard.there.emulator.datacenter.guests[made.spec.virtual_machine_id or 0]


def told(yard: Yard, made: ProxmoxMachine) -> tuple[dict[str, Any], dict[str, Any]]:
    """What its guest is told of the network, and of itself."""
    name = f"user-data-{made.spec.virtual_machine_id}.iso"
    (image,) = [each for each in yard.there.emulator.datacenter.volumes.values() if each.id.endswith(name)]
    data = read_boot_data(image.data or b"")
    assert data is not None
    return yaml.safe_load(data.network)["network"], yaml.safe_load(data.meta)


def net(name: str = "net0", **device: Any) -> dict[str, Any]:
    """A network device."""
    return {"name": name, "bridge": "vmbr0", **device}


def pool(name: str, kind: str = "InClusterIPPool") -> dict[str, str]:
    """A reference to a pool of addresses."""
    return {"apiGroup": "ipam.cluster.x-k8s.io", "kind": kind, "name": name}


async def make_pool(
    yard: Yard, name: str, network: str, *, prefix: int = 24, metric: str = "", everywhere: bool = False
) -> None:
    """A pool with eleven addresses: `network` is what they begin with. `everywhere`: it is one for all namespaces."""
    metadata = {"name": name, "annotations": {"metric": metric} if metric else {}}
    spec = {"addresses": [f"{network}10-{network}20"], "prefix": prefix, "gateway": f"{network}1"}
    if everywhere:
        await yard.user.create(GLOBAL_IN_CLUSTER_IP_POOLS, {"metadata": metadata, "spec": spec})
    else:
        await yard.user.create(IN_CLUSTER_IP_POOLS, {"metadata": {**metadata, "namespace": NAMESPACE}, "spec": spec})


async def says(yard: Yard, name: str, reason: str, type: str = "VirtualMachineProvisioned", *, words: str = "") -> str:
    """The message of a machine, once it says something for this reason, with these words."""

    async def said() -> bool:
        found = (await yard.says(name)).get(type)
        return found is not None and found[1] == reason and words in found[2]

    await yard.until(said, 600, (name,))
    return (await yard.says(name))[type][2]


async def events(yard: Yard, name: str, reason: str) -> list[str]:
    """What is in the events of a machine for a reason."""
    assert yard.recorder is not None
    await yard.recorder.flush()
    listed = (await yard.user.list(EVENTS, NAMESPACE)).items
    return [
        str(each.at("note")) for each in listed if (each.at("regarding", "name"), each.at("reason")) == (name, reason)
    ]
