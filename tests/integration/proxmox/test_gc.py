"""Leftovers in an emulated data center: what is provably ours goes, and nothing else, whatever happens on the way."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from nagaya.api.proxmox.proxmox_virtual_machine import PROXMOX_VIRTUAL_MACHINES
from nagaya.cli.gc import remove
from nagaya.infrastructure.proxmox.client import Endpoint, Trust
from nagaya.infrastructure.proxmox.client.transport import Answer, ReplyLost, Request, Transport
from nagaya.infrastructure.proxmox.connection.establishing.management import TOKENS_TO_REMOVE
from nagaya.insight.leftovers.gathering import Leftovers
from nagaya.kube.patches import Merge
from nagaya.simulators.proxmox.state.access import Token, User
from support.proxmox_plane import KINDS, NAMESPACE
from support.proxmox_remains import Remains, play


def going(found: Leftovers) -> list[str]:
    return [each.what for each in found.going()]


def staying(found: Leftovers) -> dict[str, str]:
    return {each.what: each.why for each in found.staying()}


def test_without_leftovers_there_is_nothing_to_do() -> None:
    async def scenario(there: Remains) -> None:
        await there.connect()
        async with there.found() as found:
            assert (found.going(), found.staying(), found.unseen()) == ([], [], [])

    play(scenario)


def test_a_vm_whose_machine_is_gone_goes_with_all_that_is_its() -> None:
    async def scenario(there: Remains) -> None:
        await there.connect()
        await there.orphan()
        await there.boot_image(100)
        async with there.found() as found:
            name = f"ProxmoxVirtualMachine {there.datacenter_id}-100"
            boot = "local:iso/user-data-100.iso on pve1"
            assert going(found) == ["VM 100 (a) on pve1 with its disks", boot, name]
            (vm, *_) = found.going()
            assert "uid u-1" in vm.proof
            assert "pool nagaya" in vm.proof
            assert "ProxmoxMachine default/a (uid u-1) is gone" in vm.proof
        assert there.vms == {100}
        assert await there.collect() == []
        assert there.vms == set()
        assert there.volumes == set()
        assert await there.reservations() == []
        assert "VM 100 (a): The VM on pve1 is turned off." in there.told
        assert await there.collect() == []

    play(scenario)


def test_a_machine_that_is_there_keeps_its_vm() -> None:
    async def scenario(there: Remains) -> None:
        await there.connect()
        uid = await there.machine(virtualMachineID=100)
        await there.orphan(uid=uid)
        async with there.found() as found:
            assert (found.going(), found.staying()) == ([], [])

    play(scenario)


def test_a_machine_that_comes_back_meanwhile_keeps_its_vm() -> None:
    """As a restored one does: it has the VMID in its spec."""

    async def scenario(there: Remains) -> None:
        await there.connect()
        await there.orphan()
        async with there.found() as found:
            assert len(going(found)) == 2
            await there.machine(virtualMachineID=100)
            (said,) = await remove(there.client, found, there.told.append)
        assert "ProxmoxMachine default/a is there by now" in said
        assert there.vms == {100}
        assert there.emulator.datacenter.guests[100].running

    play(scenario)


def test_a_vm_of_another_management_api_is_never_touched() -> None:
    """It has a marker, is in the pool, and even has the name of a machine that we had."""

    async def scenario(there: Remains) -> None:
        await there.connect()
        await there.orphan()
        await there.vm(200, uid="another-plane", name="a", start=True)
        await asyncio.sleep(11)
        async with there.found() as found:
            (why,) = (why for what, why in staying(found).items() if what == "VM 200 (a) on pve1")
            assert "uid another-plane" in why
            assert "another Nagaya's" in why
        assert await there.collect() == []
        assert there.vms == {200}
        assert there.emulator.datacenter.guests[200].running

    play(scenario)


def test_a_reservation_that_was_carried_here_proves_nothing() -> None:
    """Somebody has moved a part of another management API here: the machine is still there, and its VM is its."""

    async def scenario(there: Remains) -> None:
        await there.connect()
        there.controllers = there.client
        await there.orphan()
        async with there.found() as found:
            assert going(found) == []
            assert "but by test: it came with a move" in staying(found)["VM 100 (a) on pve1"]
        assert await there.collect() == []
        assert there.emulator.datacenter.guests[100].running

    play(scenario)


def test_a_cluster_that_is_paused_may_be_on_its_way_elsewhere() -> None:
    async def scenario(there: Remains) -> None:
        await there.connect()
        await there.orphan()
        reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "ProxmoxCluster", "name": "shop"}
        content = {"metadata": {"name": "shop", "namespace": NAMESPACE}, "spec": {"infrastructureRef": reference}}
        await there.client.create(KINDS["Cluster"], content)
        async with there.found() as found:
            assert len(going(found)) == 2
            await there.client.patch(KINDS["Cluster"], NAMESPACE, "shop", Merge({"spec": {"paused": True}}))
            (said,) = await remove(there.client, found, there.told.append)
            assert "Cluster default/shop is paused" in said
        async with there.found() as found:
            assert going(found) == []
        assert there.vms == {100}

    play(scenario)


def test_a_foreign_vm_of_the_same_name_is_not_even_mentioned() -> None:
    async def scenario(there: Remains) -> None:
        await there.connect()
        await there.orphan()
        await there.vm(200, name="a", start=True)
        await asyncio.sleep(11)
        async with there.found() as found:
            assert staying(found) == {}
        assert await there.collect() == []
        assert there.vms == {200}

    play(scenario)


def test_a_vmid_that_somebody_else_has_by_now_is_given_up_and_his_vm_stays() -> None:
    async def scenario(there: Remains) -> None:
        await there.connect()
        await there.reserve(100, uid="u-1")
        await there.vm(100, name="accounts", start=True)
        await asyncio.sleep(11)
        async with there.found() as found:
            assert going(found) == [f"ProxmoxVirtualMachine {there.datacenter_id}-100"]
            assert "a VM that Nagaya did not make (accounts)" in staying(found)["VM 100 on pve1"]
        assert await there.collect() == []
        assert there.vms == {100}
        assert await there.reservations() == []

    play(scenario)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ({"name": "b"}, "it is called b and not a"),
        ({"pool": ""}, "it is in no pool"),
        ({"template": True}, "a template"),
    ],
    ids=["another name", "another pool", "a template"],
)
def test_a_vm_with_our_marker_that_is_not_as_it_was_made_is_not_touched(made: dict[str, Any], why: str) -> None:
    async def scenario(there: Remains) -> None:
        await there.connect()
        await there.orphan(start=False)
        guest, pools = there.emulator.datacenter.guests[100], there.emulator.datacenter.pools
        guest.config["name"] = made.get("name", "a")
        if made.get("template"):
            guest.config["template"] = 1
        if "pool" in made:
            pools["nagaya"].vms.discard(100)
        await asyncio.sleep(11)
        async with there.found() as found:
            assert going(found) == []
            assert why in staying(found)["VM 100 (a) on pve1"]
        assert await there.collect() == []
        assert 100 in there.emulator.datacenter.guests
        assert len(await there.reservations()) == 1

    play(scenario)


@pytest.mark.parametrize("reserved", [True, False])
def test_a_half_cloned_vm_is_not_touched(reserved: bool) -> None:
    async def scenario(there: Remains) -> None:
        await there.connect()
        if reserved:
            await there.reserve(100, uid="u-1")
        await there.vm(100, name="a", pool="")
        guest = there.emulator.datacenter.guests[100]
        guest.config = {"lock": "clone", "description": "qmclone temporary file\n"}
        await asyncio.sleep(11)
        async with there.found() as found:
            assert going(found) == []
            ((what, why),) = staying(found).items()
            assert what.startswith("VM 100")
            assert "qm unlock" in why
        assert await there.collect() == []
        assert there.vms == {100}

    play(scenario)


def test_a_boot_image_without_its_vm_goes_if_the_vmid_is_reserved_here() -> None:
    async def scenario(there: Remains) -> None:
        await there.connect()
        await there.reserve(100, uid="u-1")
        await asyncio.sleep(5)
        ours = await there.boot_image(100, "pve2")
        theirs = await there.boot_image(300, "pve2")
        async with there.found() as found:
            reservation = f"ProxmoxVirtualMachine {there.datacenter_id}-100"
            assert going(found) == [f"{ours} on pve2", reservation]
            assert "CAPMOX" in staying(found)[f"{theirs} on pve2"]
        assert await there.collect() == []
        assert there.volumes == {theirs}
        assert await there.reservations() == []

    play(scenario)


def test_a_disk_that_is_older_than_the_reservation_is_somebody_elses() -> None:
    async def scenario(there: Remains) -> None:
        await there.connect()
        old = await there.boot_image(100)
        await asyncio.sleep(60)
        await there.reserve(100, uid="u-1")
        async with there.found() as found:
            assert "before the VMID was reserved" in staying(found)[f"{old} on pve1"]
        assert await there.collect() == []
        assert there.volumes == {old}
        assert await there.reservations() == []

    play(scenario)


def test_a_reservation_that_an_earlier_run_has_begun_to_remove_is_let_go() -> None:
    async def scenario(there: Remains) -> None:
        await there.connect()
        made = await there.reserve(100, uid="u-1")
        await there.client.delete(PROXMOX_VIRTUAL_MACHINES, "", made.metadata.name)
        assert len(await there.reservations()) == 1
        assert await there.collect() == []
        assert await there.reservations() == []

    play(scenario)


def test_an_entry_of_the_ha_manager_without_its_vm_goes() -> None:
    async def scenario(there: Remains) -> None:
        await there.connect()
        await there.orphan(start=False)
        await there.proxmox.high_availability.manage(100, state="stopped")
        await there.proxmox.tasks.wait(await there.proxmox.machines.destroy("pve1", 100))
        there.emulator.datacenter.ha.resources["vm:100"] = {"state": "stopped"}
        there.emulator.datacenter.ha.resources["vm:300"] = {"state": "stopped"}
        async with there.found() as found:
            assert "HA resource vm:100" in going(found)
        assert await there.collect() == []
        assert [*there.emulator.datacenter.ha.resources] == ["vm:300"]

    play(scenario)


def test_what_is_on_a_host_that_is_off_waits_for_it_and_the_rest_goes() -> None:
    async def scenario(there: Remains) -> None:
        await there.connect()
        await there.orphan()
        await there.reserve(101, uid="u-2", name="b")
        await there.vm(101, uid="u-2", name="b", node="pve2")
        await there.reserve(102, uid="u-3", name="c", node="pve2")
        await asyncio.sleep(11)
        there.control.power_off("pve2")
        await asyncio.sleep(30)
        async with there.found() as found:
            assert going(found)[0] == "VM 100 (a) on pve1 with its disks"
            told = staying(found)
            assert "Host pve2 is off" in told["VM 101 (b) on pve2"]
            assert "host pve2 is off" in told[f"ProxmoxVirtualMachine {there.datacenter_id}-102"]
            assert any("pve2 is off" in each for each in found.unseen())
        (said,) = await there.collect()
        assert "disks may be left where nobody can look now: host pve2 is off" in said
        assert there.vms == {101}
        there.control.power_on("pve2")
        await asyncio.sleep(60)
        assert await there.collect() == []
        assert there.vms == set()
        assert await there.reservations() == []

    play(scenario)


def test_rights_that_hide_something_are_told_and_what_is_hidden_stays() -> None:
    async def scenario(there: Remains) -> None:
        await there.orphan()
        access = there.emulator.datacenter.access
        access.users["nagaya@pve"] = User(tokens={"blind": Token("secret")})
        access.roles["Blind"] = frozenset({"Sys.Audit"})
        for kind, subject in (("user", "nagaya@pve"), ("token", "nagaya@pve!blind")):
            access.acl["/", kind, subject, "Blind"] = True
        await there.connect(token="nagaya@pve!blind", secret="secret")
        async with there.found() as found:
            assert going(found) == []
            assert "may not" in staying(found)["VM 100 (a) on pve1"]
            assert any("lacks VM.Audit on /pool/nagaya" in each and "pveum" in each for each in found.unseen())
        assert await there.collect() == []
        assert there.vms == {100}

    play(scenario)


def test_a_connection_that_does_not_work_is_told_and_nothing_is_done_there() -> None:
    async def scenario(there: Remains) -> None:
        await there.connect(secret="wrong")
        await there.orphan()
        async with there.found() as found:
            assert going(found) == []
            assert any("ProxmoxConnection default/pve" in each for each in found.unseen())
            assert "no connection leads to its data center" in next(iter(staying(found).values()))
        assert there.vms == {100}

    play(scenario)


@dataclass(slots=True)
class Dying:
    """A way to Proxmox VE whose caller dies at a call: before it is sent, or when it has taken effect."""

    inner: Transport
    death: asyncio.Event
    calls: int
    late: bool

    async def send(self, endpoint: Endpoint, trust: Trust, request: Request) -> Answer:
        self.calls -= 1
        if self.calls > 0 or (self.late and not self.calls):
            answer = await self.inner.send(endpoint, trust, request)
        if self.calls <= 0:
            self.death.set()
            await asyncio.Event().wait()
        return answer

    async def close(self) -> None:
        await self.inner.close()


async def killed(there: Remains, number: int, late: bool) -> bool:
    """Run it until so many calls were made. Whether it came to its end before."""
    death = asyncio.Event()
    there.wrap = lambda inner: Dying(inner, death, number, late)
    run, dying = asyncio.create_task(there.collect()), asyncio.create_task(death.wait())
    await asyncio.wait([run, dying], return_when=asyncio.FIRST_COMPLETED)
    ended = run.done()
    for task in (run, dying):
        task.cancel()
    await asyncio.gather(run, dying, return_exceptions=True)
    there.wrap = lambda inner: inner
    return ended


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.long("runs the command once for each of its calls")
def test_a_run_that_is_killed_at_any_call_is_completed_by_the_next(late: bool) -> None:
    async def scenario(there: Remains) -> None:
        await there.connect()
        await there.vm(200, uid="another-plane", name="a", start=True)
        for number in range(1, 200):
            await there.orphan()
            await there.boot_image(100)
            ended = await killed(there, number, late)
            assert await there.collect() == []
            assert there.vms == {200}
            assert await there.reservations() == []
            assert not [each for each in there.volumes if "100" in each]
            if ended:
                assert number > 15
                return
        raise AssertionError("it never came to an end")

    play(scenario)


@dataclass(slots=True)
class Losing:
    """A way to Proxmox VE on which the reply to one of the calls that change something is lost."""

    inner: Transport
    number: int

    async def send(self, endpoint: Endpoint, trust: Trust, request: Request) -> Answer:
        answer = await self.inner.send(endpoint, trust, request)
        if request.method != "GET":
            self.number -= 1
            if not self.number:
                raise ReplyLost("the connection broke")
        return answer

    async def close(self) -> None:
        await self.inner.close()


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_reply_that_is_lost_leads_to_another_look(number: int) -> None:
    async def scenario(there: Remains) -> None:
        await there.connect()
        await there.orphan()
        await there.boot_image(100)
        there.wrap = lambda inner: Losing(inner, number)
        assert await there.collect() == []
        assert there.vms == set()
        assert there.volumes == set()
        assert await there.reservations() == []

    play(scenario)


def test_an_address_without_a_claim_goes_and_claims_that_somebody_has_stay() -> None:
    async def scenario(there: Remains) -> None:
        pool = {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "pool"}
        spec = {"addresses": ["10.0.0.10-10.0.0.20"], "prefix": 24, "gateway": "10.0.0.1"}
        await there.client.create(
            KINDS["InClusterIPPool"], {"metadata": {"name": "pool", "namespace": NAMESPACE}, "spec": spec}
        )
        uid = await there.machine("alive")
        owner = {"apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha2", "kind": "ProxmoxMachine", "name": "alive"}
        for name, owners in (("by-hand", []), ("alive", [{**owner, "uid": uid}])):
            metadata = {"name": name, "namespace": NAMESPACE, "ownerReferences": owners}
            await there.client.create(KINDS["IPAddressClaim"], {"metadata": metadata, "spec": {"poolRef": pool}})
        content = {"claimRef": {"name": "nobody"}, "poolRef": pool, "address": "10.0.0.10", "prefix": 24}
        await there.client.create(
            KINDS["IPAddress"], {"metadata": {"name": "nobody", "namespace": NAMESPACE}, "spec": content}
        )
        async with there.found() as found:
            (address,) = found.going()
            assert address.what == "IPAddress default/nobody (10.0.0.10)"
        assert await there.collect() == []
        left = (await there.client.list(KINDS["IPAddressClaim"])).items
        assert sorted(each.metadata.name for each in left) == ["alive", "by-hand"]
        assert (await there.client.list(KINDS["IPAddress"])).items == []

    play(scenario)


def test_tokens_of_an_interrupted_connect_are_told_with_what_completes_it() -> None:
    async def scenario(there: Remains) -> None:
        await there.connect()
        noted = Merge({"metadata": {"annotations": {TOKENS_TO_REMOVE: "nagaya@pve!old"}}})
        await there.client.patch(KINDS["Secret"], NAMESPACE, "pve", noted)
        async with there.found() as found:
            (told,) = found.staying()
            assert told.what == "token nagaya@pve!old"
            assert told.remedy == "nagaya proxmox connect pve1 -n default --name pve"

    play(scenario)
