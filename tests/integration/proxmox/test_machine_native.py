"""Boot data by Proxmox VE's own cloud-init drive and the guest agent, where no CD image may be uploaded."""

from __future__ import annotations

import asyncio
import base64
import logging
from dataclasses import replace
from typing import Any

import pytest
import yaml

from nagaya.infrastructure.proxmox.boot.native import MARKER, SEED, read_marker
from nagaya.infrastructure.proxmox.client import Endpoint, Trust
from nagaya.infrastructure.proxmox.client.transport import Answer, ReplyLost, Request
from nagaya.infrastructure.proxmox.privileges.operations import Feature
from nagaya.infrastructure.proxmox.privileges.place import Place, Scope
from nagaya.infrastructure.proxmox.privileges.roles import privileges
from nagaya.infrastructure.proxmox.privileges.setup import setup
from nagaya.infrastructure.proxmox.virtual_machine.link import Link
from nagaya.kube.patches import Merge
from nagaya.simulators.proxmox.guests.disk import INSTANCE
from nagaya.simulators.proxmox.guests.passive import PassiveGuests, PassiveMachine
from support.proxmox_rights import go_on_with
from support.proxmox_yard import NAMESPACE, SECRETS, Yard, play

SECRET = "a-token-that-nobody-may-see"


def without_uploads(yard: Yard) -> None:
    assert isinstance(yard.links.link, Link)
    yard.links.link = replace(yard.links.link, uploads=False)


def guest(yard: Yard, vmid: int | None) -> PassiveMachine:
    backend = yard.there.emulator.machines.backend
    assert isinstance(backend, PassiveGuests)
    return backend.machines[vmid or 0]


async def with_secret(yard: Yard, name: str, content: str) -> None:
    data = {"value": base64.b64encode(content.encode()).decode()}
    await yard.user.patch(SECRETS, NAMESPACE, name, Merge({"data": data}))


def test_a_machine_boots_without_an_image_on_any_storage(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def scenario(yard: Yard) -> None:
        without_uploads(yard)
        await yard.cluster()
        await yard.machine("a")
        await with_secret(yard, "a", f"#cloud-config\nruncmd: [echo {SECRET}]\n")
        (made,) = await yard.provisioned("a")
        assert not any("upload" in each for each in yard.there.transport.asked())
        inside = guest(yard, made.spec.virtual_machine_id)
        uuid = (made.spec.provider_id or "").removeprefix("proxmox://")
        meta = yaml.safe_load(inside.disk.files[f"{SEED}/meta-data"])
        assert (meta["instance-id"], meta["local-hostname"]) == (uuid, "a")
        assert SECRET in inside.disk.files[f"{SEED}/user-data"].decode()
        assert inside.hostname == "a"
        config = yard.there.emulator.datacenter.guests[made.spec.virtual_machine_id or 0].config
        assert config["ipconfig0"] == "ip=10.0.0.10/24,gw=10.0.0.1"
        assert str(config["ciupgrade"]) == "0"
        assert made.status.bootstrap_data_provided
        assert SECRET not in caplog.text
        assert SECRET not in "".join(map(str, yard.there.client.trace.calls()))
        await yard.node_joined("a")
        await asyncio.sleep(30)
        assert inside is guest(yard, made.spec.virtual_machine_id)
        assert SECRET not in inside.disk.files[f"{SEED}/user-data"].decode()
        await yard.delete("a")
        await yard.gone("a")
        await yard.nothing_left()

    play(scenario)


def test_a_guest_that_is_well_is_not_asked_again_also_not_by_the_next_process() -> None:
    async def scenario(yard: Yard) -> None:
        without_uploads(yard)
        await yard.cluster()
        await yard.machine("a")
        await yard.provisioned("a")
        await yard.node_joined("a")
        await asyncio.sleep(30)
        await yard.stop()
        yard.there.transport.sent.clear()
        await yard.start()
        await asyncio.sleep(200)
        asked = [each for each in yard.there.transport.asked() if "/agent/" in each]
        assert [each.split("/")[-1] for each in asked] == ["file-read"]
        assert not [each for each in yard.there.transport.asked() if not each.startswith("GET")]

    play(scenario)


def test_boot_data_larger_than_one_call_arrive_whole() -> None:
    async def scenario(yard: Yard) -> None:
        without_uploads(yard)
        await yard.cluster()
        content = "#cloud-config\n" + "".join(f"# line {number} äöü\n" for number in range(12_000))
        await yard.machine("a")
        await with_secret(yard, "a", content)
        (made,) = await yard.provisioned("a")
        files = guest(yard, made.spec.virtual_machine_id).disk.files
        assert files[f"{SEED}/user-data"].decode() == content
        assert not [each for each in files if ".part" in each]

    play(scenario)


@pytest.mark.parametrize("part", [b"mkdir", b"user-data&", b"sha256sum", b".nagaya", b"clean"])
def test_a_lost_reply_of_the_agent_is_made_good(part: bytes) -> None:
    async def scenario(yard: Yard) -> None:
        without_uploads(yard)
        await yard.cluster()
        lost: list[str] = []
        send = yard.there.transport.send

        async def losing(endpoint: Endpoint, trust: Trust, request: Request) -> Answer:
            answer = await send(endpoint, trust, request)
            if request.method == "POST" and "/agent/" in request.path and part in request.body and len(lost) < 2:
                lost.append(request.path)
                raise ReplyLost("the reply is lost")
            return answer

        vars(yard.there.transport)["send"] = losing
        await yard.machine("a")
        (made,) = await yard.provisioned("a", within=600)
        assert lost
        marker = read_marker(guest(yard, made.spec.virtual_machine_id).disk.files[MARKER].decode())
        assert marker is not None
        assert (marker.machine, marker.restarts) == (made.metadata.uid, 1)
        await yard.delete("a")
        await yard.gone("a")
        await yard.nothing_left()

    play(scenario)


def test_a_process_that_ends_at_any_moment_hands_over_once() -> None:
    async def scenario(yard: Yard) -> None:
        without_uploads(yard)
        await yard.cluster()
        await yard.machine("a")
        for seconds in (3.0, 5.1, 1.3, 0.7, 1.1, 0.4, 0.9, 1.7, 0.3, 2.3, 0.6, 3.1, 1.9):
            await asyncio.sleep(seconds)
            await yard.stop()
            await yard.start()
        (made,) = await yard.provisioned("a")
        marker = read_marker(guest(yard, made.spec.virtual_machine_id).disk.files[MARKER].decode())
        assert marker is not None
        assert marker.restarts == 1
        assert len([each for each in yard.there.emulator.datacenter.guests if each < 9000]) == 1

    play(scenario)


def test_a_guest_whose_cloud_init_takes_no_seed_is_not_restarted_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nagaya.simulators.proxmox.guests.disk.GuestDisk.seed", lambda disk: None)

    async def scenario(yard: Yard) -> None:
        without_uploads(yard)
        await yard.cluster()
        await yard.machine("a")
        await asyncio.sleep(900)
        _, reason, message = (await yard.says("a"))["VirtualMachineProvisioned"]
        assert reason == "WaitingForBootstrapData"
        assert "was restarted 3 times" in message
        assert "bootDelivery.method to iso" in message

    play(scenario)


def test_an_agent_that_lets_no_programs_be_run_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("nagaya.simulators.proxmox.guests.passive.PassiveMachine._exec")

    async def scenario(yard: Yard) -> None:
        without_uploads(yard)
        await yard.cluster()
        await yard.machine("a")
        await asyncio.sleep(120)
        _, _, message = (await yard.says("a"))["VirtualMachineProvisioned"]
        assert "guest-exec" in message

    play(scenario)


@pytest.mark.parametrize("version", ["9.2.11", "8.4.5"])
def test_a_token_that_may_not_upload_is_enough_with_the_rights_in_guests(version: str) -> None:
    async def scenario(yard: Yard) -> None:
        release = (9, 2) if version.startswith("9") else (8, 4)
        scope = Scope("nagaya", templates=(9001, 9002, 9003), storages=("local-lvm",), bridges=("vmbr0",))
        go_on_with(yard.there, setup(release, scope, features=(Feature.ALWAYS, Feature.NATIVE)))
        without_uploads(yard)
        await yard.cluster()
        await yard.machine("a")
        await yard.provisioned("a")
        await yard.node_joined("a")
        await asyncio.sleep(30)
        await yard.delete("a")
        await yard.gone("a")
        await yard.nothing_left()

    play(scenario, version=version)


@pytest.mark.parametrize(
    ("link", "spec", "words"),
    [
        ({"uploads": False, "enters": False}, {}, ("Datastore.AllocateTemplate", "VM.GuestAgent.Unrestricted")),
        ({"enters": False}, {"bootDelivery": {"method": "native"}}, ("VM.GuestAgent.Unrestricted", "VM.Monitor")),
        ({"uploads": False}, {"bootDelivery": {"method": "iso"}}, ("Datastore.AllocateTemplate",)),
        ({"uploads": False}, {"checks": {"skipQemuGuestAgent": True}}, ("checks.skipQemuGuestAgent",)),
    ],
    ids=["neither", "native-asked-for", "iso-asked-for", "no-agent"],
)
def test_a_way_that_is_closed_is_told_with_what_opens_it(
    link: dict[str, Any], spec: dict[str, Any], words: tuple[str, ...]
) -> None:
    async def scenario(yard: Yard) -> None:
        assert isinstance(yard.links.link, Link)
        yard.links.link = replace(yard.links.link, **link)
        await yard.cluster()
        await yard.machine("a", **spec)
        await asyncio.sleep(60)
        _, reason, message = (await yard.says("a"))["VirtualMachineProvisioned"]
        assert reason == "NotAuthorized"
        assert all(word in message for word in words)

    play(scenario)


def test_a_machine_that_asks_for_it_has_it_though_images_could_be_uploaded() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a", bootDelivery={"method": "native"})
        (made,) = await yard.provisioned("a")
        assert f"{SEED}/user-data" in guest(yard, made.spec.virtual_machine_id).disk.files
        assert not any("upload" in each for each in yard.there.transport.asked())

    play(scenario)


def test_a_template_without_a_cloud_init_drive_gets_one() -> None:
    async def scenario(yard: Yard) -> None:
        without_uploads(yard)
        datacenter = yard.there.emulator.datacenter
        for vmid in (9001, 9002, 9003):
            del datacenter.guests[vmid].config["ide2"]
        await yard.cluster()
        await yard.machine("a")
        (made,) = await yard.provisioned("a")
        config = datacenter.guests[made.spec.virtual_machine_id or 0].config
        assert "cloudinit" in str(config["ide2"])
        await yard.delete("a")
        await yard.gone("a")
        left = [each.id for each in datacenter.volumes.values() if f"vm-{made.spec.virtual_machine_id}-" in each.id]
        assert left == []

    play(scenario)


def test_rights_that_come_while_a_guest_is_on_its_way_change_nothing_for_it() -> None:
    async def scenario(yard: Yard) -> None:
        without_uploads(yard)
        await yard.cluster()
        await yard.machine("a")

        async def runs() -> bool:
            return any(each.running for each in yard.there.emulator.datacenter.guests.values())

        await yard.until(runs, 60, ("a",))
        assert isinstance(yard.links.link, Link)
        yard.links.link = replace(yard.links.link, uploads=True)
        (made,) = await yard.provisioned("a")
        assert f"{SEED}/user-data" in guest(yard, made.spec.virtual_machine_id).disk.files

    play(scenario)


def test_the_rights_for_it_are_named_as_the_version_has_them() -> None:
    assert "VM.Monitor" in privileges(Place.MACHINES, (8, 4), (Feature.NATIVE,))
    assert "VM.GuestAgent.Unrestricted" in privileges(Place.MACHINES, (9, 2), (Feature.NATIVE,))


def test_a_guest_that_stopped_on_its_way_to_the_restart_is_told_to_restart_once_more() -> None:
    """As if the program had forgotten the instance and ended before it restarted the guest."""

    async def scenario(yard: Yard) -> None:
        without_uploads(yard)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(PassiveMachine, "_reboot", lambda machine: None)
            patch.setattr(PassiveMachine, "_settled", property(lambda machine: INSTANCE in machine.disk.files))
            await yard.cluster()
            await yard.machine("a", timeouts={"bootSeconds": 300})
            await asyncio.sleep(200)
            message = (await yard.says("a"))["VirtualMachineProvisioned"][2]
            assert "starts for the first time" in message
        await yard.provisioned("a", within=600)

    play(scenario)
