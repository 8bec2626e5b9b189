"""Guests that take too long: after the documented time the condition says so, with what is known, and it goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from nagaya.api.contract.bootstrap import SENTINEL
from nagaya.infrastructure.proxmox.privileges.place import Scope
from nagaya.infrastructure.proxmox.privileges.setup import setup
from nagaya.simulators.proxmox.guests.passive import PassiveGuests, PassiveMachine
from nagaya.simulators.proxmox.guests.tenants import OUTPUT
from nagaya.simulators.proxmox.pace import Pace
from support.proxmox_rights import go_on_with
from support.proxmox_yard import Yard, play

TOKEN = "abcdef.0123456789abcdef"


@contextmanager
def never(what: str) -> Iterator[pytest.MonkeyPatch]:
    """Guests of which something never becomes true, for as long as nobody undoes it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PassiveMachine, what, property(lambda machine: False))
        yield patch


def backend(yard: Yard) -> PassiveGuests:
    there = yard.there.emulator.machines.backend
    assert isinstance(there, PassiveGuests)
    return there


def inside(yard: Yard) -> PassiveMachine:
    (machine,) = backend(yard).machines.values()
    return machine


def test_capmox_291_an_agent_that_never_answers_is_told_and_waited_for() -> None:
    async def scenario(yard: Yard) -> None:
        with never("awake") as patch:
            await yard.cluster()
            await yard.machine("a", timeouts={"bootSeconds": 600})
            await asyncio.sleep(500)
            _, reason, message = (await yard.says("a"))["VirtualMachineProvisioned"]
            assert (reason, "min" in message) == ("WaitingForGuestAgent", False)
            await asyncio.sleep(400)
            _, reason, message = (await yard.says("a"))["VirtualMachineProvisioned"]
            assert reason == "WaitingForGuestAgent"
            assert "QEMU guest agent is not running" in message
            assert "The VM has run for more than 10 min on" in message
            assert "qm terminal 100" in message
            patch.undo()
            await yard.provisioned("a")

    play(scenario)


def test_capmox_506_a_cloud_init_that_never_ends_is_told_with_what_it_says() -> None:
    async def scenario(yard: Yard) -> None:
        with never("_settled") as patch:
            await yard.cluster()
            await yard.machine("a", timeouts={"bootSeconds": 600})
            await asyncio.sleep(60)
            inside(yard).disk.files[OUTPUT] = (
                f"[init] begins\nkubeadm join --token {TOKEN}\nwaiting for the API\n".encode()
            )
            await asyncio.sleep(800)
            _, reason, message = (await yard.says("a"))["VirtualMachineProvisioned"]
            assert reason == "WaitingForCloudInit"
            assert "status: running" in message
            assert "waiting for the API" in message
            assert TOKEN not in message
            asked = [each for each in yard.there.transport.asked() if each.endswith("/agent/exec")]
            assert len(asked) <= 2 * 8, "a guest that is late is asked once a minute"
            patch.undo()
            await yard.provisioned("a")

    play(scenario)


def test_capmox_9_a_cloud_init_that_failed_is_told_and_its_secrets_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    error = f"('scripts-user', RuntimeError('kubeadm join --token {TOKEN} failed'))"
    monkeypatch.setattr(PassiveMachine, "_errors", property(lambda machine: (error,)))

    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a")
        await asyncio.sleep(60)
        _, reason, message = (await yard.says("a"))["VirtualMachineProvisioned"]
        assert reason == "CloudInitFailed"
        assert "scripts-user" in message
        assert TOKEN not in message
        monkeypatch.undo()
        await yard.provisioned("a")

    play(scenario)


def test_a_machine_whose_node_never_comes_says_what_the_guest_says() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a")
        await yard.provisioned("a")
        inside(yard).disk.files[OUTPUT] = b"error: nothing answers at 10.0.0.5:6443\n"
        await asyncio.sleep(1500)
        assert (await yard.says("a"))["VirtualMachineHealthy"][:2] == ("True", "Running")
        await asyncio.sleep(500)
        status, reason, message = (await yard.says("a"))["VirtualMachineHealthy"]
        assert (status, reason) == ("Unknown", "WaitingForBootstrapReady")
        assert "nothing answers at 10.0.0.5:6443" in message
        assert (await yard.says("a"))["Ready"][0] == "True"
        await yard.node_joined("a")
        await asyncio.sleep(120)
        assert (await yard.says("a"))["VirtualMachineHealthy"][:2] == ("True", "Running")

    play(scenario)


def test_a_bootstrap_that_failed_though_cloud_init_is_content_is_told_soon() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a", provider=True)
        await yard.machine("by-hand")
        await yard.provisioned("a", "by-hand")
        for each in backend(yard).machines.values():
            each.disk.files[OUTPUT] = f"error execution phase: connection refused\nkubeadm --token {TOKEN}\n".encode()
        await asyncio.sleep(130)
        status, reason, message = (await yard.says("a"))["VirtualMachineHealthy"]
        assert (status, reason) == ("False", "CloudInitFailed")
        assert "bootstrap-success.complete is not there" in message
        assert "connection refused" in message
        assert "delete the Machine" in message
        assert TOKEN not in message
        assert (await yard.says("by-hand"))["VirtualMachineHealthy"][:2] == ("True", "Running"), "it promised no file"
        await yard.node_joined("a")
        await asyncio.sleep(120)
        assert (await yard.says("a"))["VirtualMachineHealthy"][:2] == ("True", "Running")

    play(scenario)


def test_a_bootstrap_that_succeeded_is_waited_for() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a", provider=True)
        await yard.provisioned("a")
        inside(yard).disk.files[SENTINEL] = b"success\n"
        await asyncio.sleep(300)
        assert (await yard.says("a"))["VirtualMachineHealthy"][:2] == ("True", "Running")

    play(scenario)


def test_a_start_that_takes_too_long_is_told_with_its_task() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a")
        await asyncio.sleep(200)
        assert (await yard.says("a"))["VirtualMachineProvisioned"][1] == "WaitingForVMPowerUp"
        await asyncio.sleep(300)
        _, reason, message = (await yard.says("a"))["VirtualMachineProvisioned"]
        assert reason == "PoweringOnFailed"
        assert "UPID:pve1:" in message
        assert "for more than 300 s" in message
        await yard.provisioned("a", within=1200)

    play(scenario, pace=Pace(start=900))


def connected(yard: Yard, lacking: str = "") -> None:
    """Go on with a token that has what `nagaya proxmox connect` gives, but for one right."""
    scope = Scope("nagaya", templates=(9001, 9002, 9003), storages=("local-lvm",), iso_storage="local")
    go_on_with(yard.there, setup((9, 2), scope), lacking=lacking)


def test_a_guest_that_may_not_be_asked_is_told_with_the_right_for_it() -> None:
    async def scenario(yard: Yard) -> None:
        connected(yard, lacking="VM.GuestAgent.FileRead")
        await yard.cluster()
        await yard.machine("a", timeouts={"bootSeconds": 300})
        (machine,) = await yard.provisioned("a")
        await asyncio.sleep(500)
        _, reason, message = (await yard.says("a"))["VirtualMachineHealthy"]
        assert reason == "WaitingForBootstrapReady"
        assert "VM.GuestAgent.FileRead" in message
        assert f"on /vms/{machine.spec.virtual_machine_id}" in message

    play(scenario)


def test_what_a_guest_says_is_read_where_no_program_may_be_run_in_it() -> None:
    async def scenario(yard: Yard) -> None:
        connected(yard)
        await yard.cluster()
        await yard.machine("a", provider=True)
        await yard.provisioned("a")
        inside(yard).disk.files[OUTPUT] = f"error: connection refused\nkubeadm --token {TOKEN}\n".encode()
        await asyncio.sleep(130)
        _, reason, message = (await yard.says("a"))["VirtualMachineHealthy"]
        assert reason == "CloudInitFailed"
        assert "The output of cloud-init ends: error: connection refused" in message
        assert TOKEN not in message

    play(scenario)


def test_a_guest_that_gets_no_address_is_told_with_what_to_look_for() -> None:
    async def scenario(yard: Yard) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(PassiveMachine, "_network_get_interfaces", lambda machine, arguments: [])
            await yard.cluster(addressing="dhcp")
            await yard.machine("a", timeouts={"bootSeconds": 600})
            await asyncio.sleep(500)
            _, reason, message = (await yard.says("a"))["VirtualMachineProvisioned"]
            assert (reason, message) == (
                "WaitingForClusterAPIMachineAddresses",
                "The guest has no address yet: waiting for DHCP.",
            )
            await asyncio.sleep(400)
            _, reason, message = (await yard.says("a"))["VirtualMachineProvisioned"]
            assert reason == "WaitingForClusterAPIMachineAddresses"
            assert "The VM has run for more than 10 min on" in message
            assert "Is there a DHCP server on the network of its bridge" in message
            patch.undo()
            await yard.provisioned("a")

    play(scenario)
