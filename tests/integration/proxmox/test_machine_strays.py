"""A VM that somebody moves between the upload of its boot data and its start leaves the CD image on a storage that only
the first host has. It holds secrets, so it is removed there, too: whenever that host can be asked."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from nagaya.simulators.proxmox.emulator import Proceed
from nagaya.simulators.proxmox.faults.faults import api_path
from nagaya.simulators.proxmox.request import Answer, Request
from support.proxmox_yard import Yard, play

HOSTS = ("pve1", "pve2", "pve3")


@dataclass(slots=True)
class Mover:
    """Moves a VM to another host when its CD image is uploaded and is about to be put into its drive."""

    yard: Yard
    left: str = ""
    """The host that has the image, once the VM has left it."""
    to: str = ""
    moved: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.yard.there.emulator.around.insert(0, self._around)

    async def _around(self, request: Request, proceed: Proceed) -> Answer:
        path = api_path(request.path) or ""
        if not self.left and path.endswith("/config") and b"user-data" in request.body:
            _, _, self.left, _, vmid, _ = path.split("/")
            self.to = next(each for each in HOSTS if each != self.left)
            client = self.yard.there.client
            task = await client.machines.migrate(self.left, int(vmid), self.to, online=False, with_local_disks=True)
            await client.tasks.wait(task)
            self.moved.set()
        return await proceed(request)


def images(yard: Yard) -> list[tuple[str | None, str]]:
    """The CD images with boot data that there are, with their hosts."""
    return [(each.node, each.id) for each in yard.there.emulator.datacenter.volumes.values() if "user-data" in each.id]


async def moved(yard: Yard) -> Mover:
    """A machine whose VM was moved, made on its second host."""
    mover = Mover(yard)
    await yard.cluster()
    await yard.machine("a")
    (made,) = await yard.provisioned("a")
    assert made.status.proxmox_node == mover.to
    assert {host for host, _ in images(yard)} == {mover.left, mover.to}
    (reservation,) = await yard.reservations()
    assert reservation.status.node == mover.to
    assert set(reservation.status.boot_data_on) == {mover.left, mover.to}
    return mover


def test_the_image_on_the_first_host_goes_when_the_machine_has_its_node() -> None:
    async def scenario(yard: Yard) -> None:
        await moved(yard)
        await yard.node_joined("a")
        await asyncio.sleep(30)
        assert images(yard) == []
        (reservation,) = await yard.reservations()
        assert reservation.status.boot_data_on == ()
        assert (await yard.says("a"))["VirtualMachineHealthy"] == ("True", "Running", "")

    play(scenario)


def test_the_image_on_the_first_host_goes_with_the_machine() -> None:
    async def scenario(yard: Yard) -> None:
        await moved(yard)
        await yard.delete("a")
        await yard.gone("a")
        await yard.nothing_left()

    play(scenario)


def test_what_is_left_on_a_host_that_is_off_is_told_and_goes_when_it_is_back() -> None:
    async def scenario(yard: Yard) -> None:
        mover = await moved(yard)
        yard.control.power_off(mover.left)
        await yard.node_joined("a")
        await asyncio.sleep(120)
        assert [host for host, _ in images(yard)] == [mover.left]
        said = await yard.says("a")
        assert said["Ready"][0] == "True", "the machine is of use"
        status, reason, message = said["VirtualMachineHealthy"]
        assert (status, reason) == ("True", "Running")
        assert f"may still be on {mover.left} (host {mover.left} is off)" in message
        yard.control.power_on(mover.left)
        await asyncio.sleep(120)
        assert images(yard) == []
        assert (await yard.says("a"))["VirtualMachineHealthy"] == ("True", "Running", "")
        (reservation,) = await yard.reservations()
        assert reservation.status.boot_data_on == ()

    play(scenario)


def test_a_machine_that_goes_does_not_wait_for_a_host_that_has_only_its_image() -> None:
    async def scenario(yard: Yard) -> None:
        mover = await moved(yard)
        yard.control.power_off(mover.left)
        await asyncio.sleep(30)
        await yard.delete("a")
        await yard.gone("a", within=120)
        await asyncio.sleep(60)
        (reservation,) = await yard.reservations()
        assert reservation.status.phase in ("Orphaned", "Destroying")
        assert f"may still be on {mover.left} (host {mover.left} is off)" in reservation.status.message
        yard.control.power_on(mover.left)
        await asyncio.sleep(120)
        await yard.nothing_left()

    play(scenario)


@pytest.mark.parametrize("joins", [True, False], ids=["joins", "is-deleted"])
def test_where_the_image_was_put_is_known_to_the_next_process(joins: bool) -> None:
    async def scenario(yard: Yard) -> None:
        mover = Mover(yard)
        await yard.cluster()
        await yard.machine("a")
        async with asyncio.timeout(300):
            await mover.moved.wait()
        await yard.stop()
        await yard.start()
        if joins:
            await yard.provisioned("a")
            await yard.node_joined("a")
            await asyncio.sleep(60)
            assert images(yard) == []
        await yard.delete("a")
        await yard.gone("a")
        await yard.nothing_left()

    play(scenario)


def test_a_host_that_goes_off_when_the_vm_is_destroyed_is_looked_at_when_it_is_back() -> None:
    """The VM was never moved: its CD image is left on its own host, which was off when the VM was found to be gone."""

    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a")
        (made,) = await yard.provisioned("a")
        host, vmid = made.status.proxmox_node, made.spec.virtual_machine_id or 0
        await yard.delete("a")

        async def destroyed() -> bool:
            return vmid not in yard.there.emulator.datacenter.guests

        await yard.until(destroyed, 60, ("a",))
        yard.control.power_off(host)
        assert [each for each, _ in images(yard)] == [host]
        await yard.gone("a")
        (reservation,) = await yard.reservations()
        assert reservation.status.phase == "Orphaned"
        yard.control.power_on(host)
        await asyncio.sleep(120)
        await yard.nothing_left()

    play(scenario)


def test_a_machine_that_is_moved_later_has_no_other_host_asked() -> None:
    """Its boot data are gone by then, and that is known."""

    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a")
        (made,) = await yard.provisioned("a")
        await yard.node_joined("a")
        await asyncio.sleep(60)
        vmid, node = made.spec.virtual_machine_id or 0, made.status.proxmox_node
        client, to = yard.there.client, next(each for each in HOSTS if each != node)
        await client.tasks.wait(await client.machines.migrate(node, vmid, to, online=True, with_local_disks=True))
        yard.there.transport.sent.clear()
        await asyncio.sleep(180)
        assert (await yard.get("a")).status.proxmox_node == to
        assert not [each for each in yard.there.transport.asked() if "/content" in each]
        (reservation,) = await yard.reservations()
        assert reservation.status.boot_data_on == ()

    play(scenario)
