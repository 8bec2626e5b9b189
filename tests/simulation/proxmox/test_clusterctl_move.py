"""Clusters that move with `clusterctl move` between management APIs that lead to the same data center: whose a VM is,
its marker says, whatever records the APIs have kept."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
import pytest

from nagaya.api.cluster.annotations import PAUSED
from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES
from nagaya.api.proxmox.proxmox_virtual_machine import PROXMOX_VIRTUAL_MACHINES
from nagaya.cli.gc import remove
from nagaya.clusters.management import identity
from nagaya.infrastructure.proxmox.client import Endpoint, Facts, Proxmox, Trust
from nagaya.infrastructure.proxmox.client.transport import Answer, Request
from nagaya.infrastructure.proxmox.virtual_machine.marker import CLAIM, Marker, marked, read
from nagaya.insight.leftovers.gathering import gathered
from nagaya.kube.client import Client
from nagaya.kube.definitions import DEFINITIONS
from nagaya.kube.errors import AlreadyExists
from nagaya.kube.patches import Merge
from nagaya.moving.item import MOVE
from support.clusterctl_move import Clusterctl, Interrupted
from support.lab import SECRETS
from support.proxmox_second_town import second_town
from support.proxmox_town import Town, play, town
from support.proxmox_town_life import CREATE, DELETE, SCALE_UP, live
from support.proxmox_town_manifests import Shop
from support.proxmox_town_order import disorder
from support.proxmox_transport import ToEmulator, Valid

pytestmark = pytest.mark.long("plays a cluster's whole life on two planes")


async def collect(here: Town) -> list[str]:
    """What `nagaya gc --yes` removes at a plane."""

    def open(facts: Facts) -> Proxmox:
        return Proxmox(facts, here.world, transport=Valid(ToEmulator(here.emulator)))

    async with gathered(here.client, here.world, open) as found:
        going = [each.what for each in found.going()]
        await remove(here.client, found, lambda _: None)
        return going


def vms(here: Town) -> dict[int, str]:
    """All VMs but templates: what was made anew, restarted or stopped is not the same."""
    return {
        vmid: f"{guest.node} {guest.config.get('smbios1')} {guest.running}"
        for vmid, guest in here.datacenter.guests.items()
        if not guest.template
    }


async def connect(source: Town, target: Town) -> None:
    """Both planes have the credentials, and the source gets a connection again when its own has moved."""
    if not [
        each for each in (await target.client.list(SECRETS, target.namespace)).items if each.metadata.name == "pve"
    ]:
        data = (await source.client.get(SECRETS, source.namespace, "pve")).raw["data"]
        await target.client.create(SECRETS, {"metadata": {"name": "pve", "namespace": "default"}, "data": data})


async def reservations(here: Town) -> dict[int, Any]:
    return {each.spec.vmid: each for each in await here.all("ProxmoxVirtualMachine")}


def marker_of(here: Town, vmid: int) -> Marker:
    found = read(str(here.datacenter.guests[vmid].config["description"]))
    assert found is not None
    return found


def forget_plane(here: Town) -> None:
    """Markers as the version before wrote them."""
    for guest in here.datacenter.guests.values():
        if (known := read(str(guest.config.get("description", "")))) is not None:
            old = Marker(known.machine, known.uid, known.cluster)
            guest.config["description"] = marked(str(guest.config["description"]), old)


async def forget_claims(here: Town) -> None:
    """Objects as the version before wrote them."""
    for each in await here.all("ProxmoxVirtualMachine"):
        await here.client.patch(PROXMOX_VIRTUAL_MACHINES, "", each.metadata.name, Merge({"spec": {"claim": None}}))
    for each in await here.all("ProxmoxMachine"):
        await here.merge("ProxmoxMachine", each.metadata.name, {"metadata": {"annotations": {CLAIM: None}}})


async def label_reservations(here: Town) -> None:
    """Have clusterctl copy reservations, as the definitions of the version before did."""
    name = "proxmoxvirtualmachines.infrastructure.cluster.x-k8s.io"
    await here.client.patch(DEFINITIONS, "", name, Merge({"metadata": {"labels": {MOVE: ""}}}))


async def addresses(here: Town) -> dict[str, str]:
    """What is claimed, by whom."""
    found = {each.metadata.name: each.spec.address for each in await here.all("IPAddress")}
    return {each.metadata.name: found.get(each.metadata.name, "") for each in await here.all("IPAddressClaim")}


async def move(source: Town, target: Town, stop_before: str = "") -> None:
    """Move, and have a connection to the same data center at both ends."""
    await connect(source, target)
    await Clusterctl(source.client, target.client, source.namespace).move(stop_before)
    if not [each for each in await source.all("ProxmoxConnection") if each.metadata.name == "pve"]:
        await source.create(source.shop.connection())


def test_gc_finds_nothing_to_destroy_at_any_plane_while_a_cluster_moves_there_and_back_twice() -> None:
    async def main() -> None:
        async with town(Shop(1, 2)) as first, second_town(first) as second:
            await first.begin()
            await live(first, (CREATE,))
            await second.begin()
            before, clones = vms(first), len(first.clones)
            source, target = first, second
            for _ in range(4):
                await move(source, target)
                assert await collect(source) == [], "before the other plane has taken over"
                await target.until("the cluster to be there", partial(target.has, 1, 2), patience=900)
                assert await collect(source) == []
                assert await collect(target) == []
                await asyncio.sleep(400)
                assert await reservations(source) == {}, "they are released"
                assert await collect(source) == []
                assert vms(first) == before
                assert len(first.clones) + len(second.clones) - clones in (0, clones)
                assert not await disorder(target)
                source, target = target, source
            await live(first, (DELETE,))
            assert await collect(second) == []

    play(main())


@pytest.mark.parametrize("stop_before", [pytest.param("delete", marks=pytest.mark.exhaustive), "resume"])
def test_while_a_move_is_interrupted_nobody_destroys_anything(stop_before: str) -> None:
    """Before the source has given its objects up, both planes have them; afterwards nobody looks after the cluster."""

    async def main() -> None:
        async with town(Shop(1, 1)) as first, second_town(first) as second:
            await first.begin()
            await live(first, (CREATE,))
            await second.begin()
            before = vms(first)
            with pytest.raises(Interrupted):
                await move(first, second, stop_before)
            if stop_before == "resume":
                await first.create(first.shop.connection())
            for _ in range(2):
                assert (await collect(first), await collect(second)) == ([], [])
                await asyncio.sleep(700)
            assert vms(first) == before
            assert {marker_of(first, vmid).plane for vmid in before if vmid > 102} == {await plane(first)}
            await second.merge("Cluster", "shop", {"spec": {"paused": None}})
            await second.until("the cluster to be there", partial(second.has, 1, 1), patience=900)
            assert (await collect(first), await collect(second)) == ([], [])
            assert vms(first) == before
            assert {marker_of(first, vmid).plane for vmid in before if vmid > 102} == {await plane(second)}

    play(main())


@pytest.mark.parametrize(
    "copied",
    [
        pytest.param(True, id="reservations are copied", marks=pytest.mark.exhaustive),
        pytest.param(False, id="reservations stay"),
    ],
)
def test_a_cluster_moves_back_past_reservations_that_were_left_though_their_vmids_are_others_now(copied: bool) -> None:
    async def main() -> None:
        async with town(Shop(1, 2)) as first, second_town(first) as second:
            await first.begin()
            await live(first, (CREATE,))
            await second.begin()
            await connect(first, second)
            if copied:
                await label_reservations(first)
                await label_reservations(second)
            # Without a connection the source cannot know what became of its VMs.
            await Clusterctl(first.client, second.client).move()
            await second.until("the cluster to be there", partial(second.has, 1, 2), patience=900)
            left = set(await reservations(first))
            assert len(left) == 3
            workers = sorted([await second.vm_of(each) for each in await second.workers()])
            await live(second, (SCALE_UP,))
            await second.merge("MachineDeployment", second.shop.deployment, {"spec": {"replicas": 0}})
            await second.until("the workers to go", partial(second.has, 1, 0))
            await asyncio.sleep(60)
            for vmid in workers[:1]:  # somebody else takes one of the VMIDs
                first.datacenter.guests[vmid] = replace(first.datacenter.guests[100], vmid=vmid)
                first.datacenter.guests[vmid].config = {**first.datacenter.guests[100].config, "name": "theirs"}
                first.datacenter.pools["nagaya"].vms.add(vmid)
            await second.merge("MachineDeployment", second.shop.deployment, {"spec": {"replicas": 2}})
            await second.until("new workers", partial(second.has, 1, 2))
            again = {await second.vm_of(each) for each in await second.workers()}
            assert again & left, "a VMID is used again"
            before, claimed = vms(first), await addresses(second)
            await Clusterctl(second.client, first.client).move()
            await first.until("the cluster to be back", partial(first.has, 1, 2), patience=900)
            await asyncio.sleep(700)
            assert set(await reservations(first)) == {await first.vm_of(each) for each in await first.all("Machine")}
            assert (await collect(first), await addresses(first), vms(first)) == ([], claimed, before)
            assert not [each for each in await first.all("ProxmoxMachine") if "Mismatch" in str(each.status.conditions)]
            first.strangers.add(workers[0])
            await live(first, (DELETE,))
            assert workers[0] in first.datacenter.guests

    play(main())


async def plane(here: Town) -> str:
    return await identity(here.client)


@pytest.mark.parametrize("upgraded", ["both", pytest.param("target", marks=pytest.mark.exhaustive)])
def test_vms_of_an_earlier_version_are_marked_by_the_plane_that_has_their_machines(upgraded: str) -> None:
    """They were moved before the upgrade: both planes have reservations with the uid of the marker."""

    async def main() -> None:
        async with town(Shop(1, 1)) as first, second_town(first) as second:
            await first.begin()
            await live(first, (CREATE,))
            await end(first)
            forget_plane(first)
            await forget_claims(first)
            await label_reservations(first)
            await move(first, second)
            before = vms(first)
            assert set(await reservations(first)) == set(await reservations(second)) != set()
            assert await collect(first) == [], "nobody has said at the source whose they are"
            if upgraded == "both":
                await first.start()
                await asyncio.sleep(400)
                assert {marker_of(first, vmid).plane for vmid in before if vmid > 102} == {""}
            await second.begin()
            await second.until("the cluster to be there", partial(second.has, 1, 1), patience=900)
            assert {marker_of(first, vmid).plane for vmid in before if vmid > 102} == {await plane(second)}
            assert (await collect(first), await collect(second)) == ([], [])
            if upgraded == "both":
                await asyncio.sleep(400)
                assert await reservations(first) == {}
            assert vms(first) == before
            await live(second, (DELETE,))

    play(main())


def test_a_machine_that_was_deleted_without_its_vm_is_told_from_one_that_has_vanished() -> None:
    """Somebody takes finalizers away: from a machine that is being deleted, and from one of a paused cluster."""

    async def main() -> None:
        async with town(Shop(1, 2)) as here:
            await here.begin()
            await live(here, (CREATE,))
            deleted, vanished = [each.spec.infrastructure_ref.name for each in await here.workers()]
            vmids = {each.spec.name: each.spec.vmid for each in await here.all("ProxmoxVirtualMachine")}
            await here.merge("ProxmoxMachine", deleted, {"metadata": {"annotations": {PAUSED: ""}}})
            await take_away(here, deleted)
            await asyncio.sleep(1)
            assert (await reservations(here))[vmids[deleted]].status.phase == "Abandoned"
            await here.merge("Cluster", "shop", {"spec": {"paused": True}})
            await asyncio.sleep(10)
            await take_away(here, vanished)
            await asyncio.sleep(1)
            told = (await reservations(here))[vmids[vanished]].status
            assert told.phase == "Present"
            assert "Do not destroy the VM before you know that its cluster was not moved" in told.message
            assert await collect(here) == [], "of a paused cluster nothing goes"
            await here.merge("Cluster", "shop", {"spec": {"paused": False}})
            assert (await collect(here))[0].startswith(f"VM {vmids[deleted]} ({deleted})")
            assert vmids[deleted] not in here.datacenter.guests
            assert here.datacenter.guests[vmids[vanished]].running
            said = Merge({"status": {"phase": "Abandoned"}})
            name = (await reservations(here))[vmids[vanished]].metadata.name
            await here.client.patch(PROXMOX_VIRTUAL_MACHINES, "", name, said, subresource="status")
            assert (await collect(here))[0].startswith(f"VM {vmids[vanished]} ({vanished})")
            assert vmids[vanished] not in here.datacenter.guests

    play(main())


async def end(here: Town) -> None:
    """End the controllers."""
    assert here.buried is not None
    here.mortal.death.set()
    await here.buried


async def take_away(here: Town, name: str) -> None:
    """Delete a ProxmoxMachine behind the back of its controller."""
    await here.client.delete(PROXMOX_MACHINES, here.namespace, name)
    await here.merge("ProxmoxMachine", name, {"metadata": {"finalizers": None}})


def test_whoever_takes_a_vm_over_while_gc_is_at_work_keeps_it() -> None:
    """Between any two of its calls, until gc has said in the VM that it destroys it: nobody takes that VM over."""

    async def main() -> None:
        async with town(Shop(1, 1)) as first:
            await first.begin()
            await live(first, (CREATE,))
            (worker,) = [each.spec.infrastructure_ref.name for each in await first.workers()]
            (vmid,) = [each.spec.vmid for each in await first.all("ProxmoxVirtualMachine") if each.spec.name == worker]
            await first.merge("ProxmoxMachine", worker, {"metadata": {"annotations": {PAUSED: ""}}})
            await take_away(first, worker)
            await asyncio.sleep(1)
            await end(first)
            guest = first.datacenter.guests[vmid]
            mine, count, reservation = str(guest.config["description"]), 1, (await reservations(first))[vmid]
            while await taken_over_at(first, vmid, count):
                assert guest.running, f"turned off at call {count}"
                assert marker_of(first, vmid).plane == "other"
                guest.config["description"] = mine
                await reserve_again(first, reservation)
                count += 1
                assert count < 60
            assert count > 5
            assert vmid not in first.datacenter.guests

    play(main())


async def reserve_again(here: Town, reservation: Any) -> None:
    """Make a reservation anew that gc has released, as the controllers would have made it."""
    controllers = Client(here.transport(), world=here.world)
    metadata = {"name": reservation.metadata.name, "finalizers": [*reservation.metadata.finalizers]}
    content = {"metadata": metadata, "spec": msgspec.to_builtins(reservation.spec)}
    with contextlib.suppress(AlreadyExists):
        await controllers.create(PROXMOX_VIRTUAL_MACHINES, content)
    told = Merge({"status": msgspec.to_builtins(reservation.status)})
    await controllers.patch(PROXMOX_VIRTUAL_MACHINES, "", reservation.metadata.name, told, subresource="status")
    await controllers.close()


async def taken_over_at(here: Town, vmid: int, count: int) -> bool:
    """Run gc, and have another plane take a VM over right before a call of its removal. Whether it could."""
    made, done = 0, False

    class Rival(Valid):
        async def send(self, endpoint: Endpoint, trust: Trust, request: Request) -> Answer:
            nonlocal made, done
            guest = here.datacenter.guests.get(vmid)
            made += begun
            if made == count and guest is not None and not marker_of(here, vmid).leaving:
                known = replace(marker_of(here, vmid), plane="other")
                guest.config["description"] = marked(str(guest.config["description"]), known)
                done = True
            return await super().send(endpoint, trust, request)

    def open(facts: Facts) -> Proxmox:
        return Proxmox(facts, here.world, transport=Rival(ToEmulator(here.emulator)))

    begun = 0
    async with gathered(here.client, here.world, open) as found:
        begun = 1
        await remove(here.client, found, lambda _: None)
    return done
