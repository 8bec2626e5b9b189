"""What machines can ask for beyond CAPMOX, seen at work in the VM that Proxmox VE has."""

from __future__ import annotations

import pytest

from support.proxmox_machine_seen import net, says, vm
from support.proxmox_yard import Yard, play


def test_processors_memory_and_firmware_are_as_asked_for() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine(
            "a",
            cpu={"type": "x86-64-v3", "limitPercent": 150, "units": 2048, "numa": True},
            balloon={"minimumMiB": 1024, "shares": 500},
            firmware={
                "bios": "ovmf",
                "machine": "q35",
                "efiDisk": {"storage": "shared", "type": "4m", "preEnrolledKeys": False},
            },
        )
        await yard.machine("b", balloon={"enabled": False})
        first, second = await yard.provisioned("a", "b")
        config = {name: str(value) for name, value in vm(yard, first).config.items()}
        assert (config["cpu"], config["cpulimit"], config["cpuunits"], config["numa"]) == (
            "x86-64-v3",
            "1.5",
            "2048",
            "1",
        )
        assert (config["balloon"], config["shares"]) == ("1024", "500")
        assert (config["bios"], config["machine"]) == ("ovmf", "q35")
        assert config["efidisk0"].startswith("shared:")
        assert "efitype=4m" in config["efidisk0"]
        assert str(vm(yard, second).config["balloon"]) == "0"
        for name in ("a", "b"):
            await yard.delete(name)
        await yard.gone("a", "b")
        await yard.nothing_left()

    play(scenario)


def test_a_hardware_address_is_fixed_or_follows_from_the_name() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        devices = [net(macAddress="02:00:5e:00:00:01"), net("net1", deriveMacAddress=True)]
        network = {"networkDevices": devices}
        await yard.machine("a", network=network)
        (first,) = await yard.provisioned("a")
        config = vm(yard, first).config
        assert config["net0"].startswith("virtio=02:00:5E:00:00:01,")
        derived = config["net1"].split(",")[0]
        await yard.delete("a")
        await yard.gone("a")
        await yard.machine("a2", network={"networkDevices": [net(), net("net1", deriveMacAddress=True)]})
        (other,) = await yard.provisioned("a2")
        assert vm(yard, other).config["net1"].split(",")[0] != derived

    play(scenario)


def test_boot_data_go_where_the_machine_says() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a", bootDelivery={"slot": "sata3", "storage": "shared"})
        (made,) = await yard.provisioned("a")
        assert str(vm(yard, made).config["sata3"]).startswith(
            f"shared:iso/user-data-{made.spec.virtual_machine_id}.iso"
        )
        await yard.machine("b", bootDelivery={"storage": "local-lvm"})
        message = await says(yard, "b", "WaitingForBootstrapDataReconciliation")
        assert "no storage local-lvm that takes CD images (content iso)" in message
        assert "bootDelivery.storage" in message

    play(scenario)


@pytest.mark.parametrize(
    ("placement", "words"),
    [
        ({"deniedNodes": ["pve1", "pve2", "pve3"]}, "pve1, pve2, pve3: denied"),
        ({"reserve": {"memoryMiB": 62 * 1024}}, "memory: 2.0 GiB free, 4.0 GiB needed"),
        ({"reserve": {"storageGb": 480}}, "storage local-lvm: 16.9 GiB free, 30.0 GiB needed"),
        ({"overcommit": {"memoryPercent": 5}}, "memory: 3.1 GiB free, 4.0 GiB needed"),
        ({"storages": ["local", "nowhere"]}, "storage local is not for disks of VMs"),
    ],
)
@pytest.mark.parametrize("of", ["cluster", "machine"])
def test_rules_for_the_choice_of_a_host_count_whoever_has_them(
    placement: dict[str, object], words: str, of: str
) -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster(**({"placement": placement} if of == "cluster" else {}))
        await yard.machine("a", **({"placement": placement} if of == "machine" else {}))
        assert words in await says(yard, "a", "NoSuitableHost")

    play(scenario)


def test_machines_that_must_be_spread_wait_for_a_host_of_their_own() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster(placement={"spread": "Required"})
        names = ("a", "b", "c", "d")
        for name in names:
            await yard.machine(name)
        await yard.until(lambda: _three(yard, names), 300, names)
        (waiting,) = [name for name in names if not (await yard.get(name)).status.initialization.provisioned]
        message = await says(yard, waiting, "NoSuitableHost")
        assert "they must be on different hosts" in message
        assert "placement.spread to Preferred" in message

    play(scenario)


async def _three(yard: Yard, names: tuple[str, ...]) -> bool:
    made = [each.status for each in [await yard.get(name) for name in names] if each.status.initialization.provisioned]
    return len(made) == 3 and len({each.proxmox_node for each in made}) == 3
