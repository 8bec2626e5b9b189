"""What a machine says when it cannot be made or cannot go: what is wrong, by what evidence, and what to do about it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from nagaya.api.ipam.in_cluster_ip_pool import IN_CLUSTER_IP_POOLS
from nagaya.kube.patches import Merge
from support.proxmox_machine_seen import net, pool, says
from support.proxmox_yard import NAMESPACE, Yard, play

TEMPLATES = (9001, 9002, 9003)


async def nothing(_: Yard) -> None:
    """All is as usual."""


async def locked_templates(yard: Yard) -> None:
    for vmid in TEMPLATES:
        yard.there.emulator.datacenter.guests[vmid].config["lock"] = "backup"


async def no_quorum(yard: Yard) -> None:
    yard.control.expect_votes(9)


async def one_host_off(yard: Yard) -> None:
    yard.control.power_off("pve3")
    await asyncio.sleep(30)


async def one_address(yard: Yard) -> None:
    change = Merge({"spec": {"addresses": ["10.0.0.10"]}})
    await yard.user.patch(IN_CLUSTER_IP_POOLS, NAMESPACE, "harbour-v4-icip", change)
    await yard.machine("first")
    await yard.provisioned("first")


@dataclass(frozen=True, slots=True)
class Trouble:
    """What is wrong, and what has to be said of it."""

    spec: dict[str, Any]
    reason: str
    evidence: str
    remedy: str
    before: Callable[[Yard], Awaitable[None]] = nothing


BAD_DISK = {"bootVolume": {"disk": "virtio0", "sizeGb": 40}}
TROUBLES = {
    "no-template": Trouble(
        {"templateSelector": {"matchTags": ["talos"]}},
        "TemplateNotFound",
        "no template has the tags talos; there are: 9001 (kubernetes;kubernetes-v1.36.3)",
        "`nagaya proxmox image add` makes one",
    ),
    "template-with-more-tags": Trouble(
        {"templateSelector": {"matchTags": ["kubernetes"]}},
        "TemplateNotFound",
        "no template has the tags kubernetes and no others",
        "set matchPolicy to uniqueSubset or bestSubset",
    ),
    "no-template-of-that-id": Trouble(
        {"templateSelector": None, "sourceNode": "pve1", "templateID": 777},
        "TemplateNotFound",
        "there is no template 777 (it was to be on pve1)",
        "Look at templateID.",
    ),
    "storage-full": Trouble(
        {"disks": {"bootVolume": {"disk": "scsi0", "sizeGb": 900}}},
        "NoSuitableHost",
        "pve1, pve2, pve3: storage local-lvm: 496.9 GiB free, 900.0 GiB needed",
        "name another one (storage, placement.storages), or ask for less (disks)",
    ),
    "wrong-bridge": Trouble(
        {"network": {"networkDevices": [net(bridge="vmbr7")]}},
        "NoSuitableHost",
        "no bridge vmbr7 that may be used (there are: vmbr0)",
        "name one that there is (network.networkDevices[].bridge)",
    ),
    "host-off": Trouble(
        {"allowedNodes": ["pve3"]},
        "NoSuitableHost",
        "pve1, pve2: not among the allowed hosts; pve3: off",
        "It is looked for again.",
        one_host_off,
    ),
    "pool-missing": Trouble(
        {"pool": "nobodys"},
        "CloningFailed",
        "pool 'nobodys' does not exist",
        "`pvesh create /pools --poolid NAME`",
    ),
    "address-pool-missing": Trouble(
        {"network": {"networkDevices": [net(ipPoolRef=[pool("nowhere")])]}},
        "WaitingForStaticIPAllocation",
        "from InClusterIPPool nowhere: InClusterIPPool fleet/nowhere does not exist",
        "Create it",
    ),
    "address-pool-used-up": Trouble(
        {},
        "WaitingForStaticIPAllocation",
        "has no free address: 1 of 1 are in use",
        "Add a range to spec.addresses of the pool",
        one_address,
    ),
    "template-locked": Trouble(
        {}, "CloningFailed", "VM is locked (backup)", "`qm unlock 9001` on the host", locked_templates
    ),
    "no-quorum": Trouble({}, "CloningFailed", "no quorum", "`pvecm status`", no_quorum),
    "no-such-disk": Trouble(
        {"disks": BAD_DISK},
        "VMProvisionFailed",
        "disks.bootVolume.disk is virtio0, and the template has no such disk (it has scsi0)",
        "Make another ProxmoxMachineTemplate",
    ),
}  # fmt: skip


@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES)
def test_what_keeps_a_machine_from_being_made_is_said_with_what_to_do(trouble: Trouble) -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await trouble.before(yard)
        await yard.machine("a", **trouble.spec)
        message = await says(yard, "a", trouble.reason, words=trouble.evidence)
        assert trouble.remedy in message
        assert (await yard.says("a"))["Ready"] == ("False", trouble.reason, message)

    play(scenario)


def test_what_keeps_a_machine_from_going_is_said_with_what_to_do() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a")
        await yard.machine("b")
        (first, _) = await yard.provisioned("a", "b")
        yard.control.power_off(first.status.proxmox_node)
        await asyncio.sleep(60)
        await yard.delete("a")
        message = await says(yard, "a", "WaitingForHost", "Deleting")
        assert f"Host {first.status.proxmox_node} is off since" in message
        assert "deletionPolicy: Release lets the machine go" in message
        yard.control.power_on(first.status.proxmox_node)
        await yard.gone("a")
        yard.control.expect_votes(9)
        await yard.delete("b")
        message = await says(yard, "b", "DeletionFailed", "Deleting")
        assert "Permission denied" in message
        assert "More than half of the cluster's hosts must be on and connected (`pvecm status`)" in message
        yard.control.expect_votes(None)
        await yard.gone("b", within=900)
        await yard.nothing_left()

    play(scenario)
