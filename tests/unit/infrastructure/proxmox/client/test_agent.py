"""Calls to the guest agents of an emulated data center: bytes go in as they are, programs are followed to their end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from nagaya.infrastructure.proxmox.client.agent import LARGEST_WRITE, Agent
from nagaya.infrastructure.proxmox.client.errors import AgentFailed
from nagaya.simulators.proxmox.guests.passive import PassiveGuests
from support.proxmox_transport import DataCenter, data_center
from support.virtual_run import run


@asynccontextmanager
async def booted() -> AsyncIterator[tuple[Agent, DataCenter]]:
    async with data_center() as there:
        client = there.client
        await client.tasks.wait(await client.machines.clone("pve1", 9001, 101, name="one", full=False))
        await client.tasks.wait(await client.machines.start("pve1", 101))
        await asyncio.sleep(30)
        yield client.agent, there


def test_bytes_arrive_as_they_are_up_to_what_one_call_takes() -> None:
    async def main() -> None:
        async with booted() as (agent, there):
            content = bytes(range(256)) * 180
            await agent.write_bytes("pve1", 101, "/etc/x", content)
            backend = there.emulator.machines.backend
            assert isinstance(backend, PassiveGuests)
            assert backend.machines[101].disk.files["/etc/x"] == content
            await agent.write_bytes("pve1", 101, "/etc/x", b"x" * (LARGEST_WRITE // 4 * 3))
            with pytest.raises(ValueError, match="at once"):
                await agent.write_bytes("pve1", 101, "/etc/x", b"x" * (LARGEST_WRITE // 4 * 3 + 1))

    run(main())


def test_a_program_is_followed_to_its_end_or_to_the_end_of_patience() -> None:
    async def main() -> None:
        async with booted() as (agent, _):
            done = await agent.run("pve1", 101, ["sh", "-c", "echo out; echo err >&2; false"])
            assert (done.exited, done.code, done.output, done.errors) == (True, 1, "out\n", "err\n")
            assert (await agent.run("pve1", 101, ["sleep", "10"])).exited
            assert not (await agent.run("pve1", 101, ["sleep", "100"], patience=5)).exited

    run(main())


def test_a_file_that_is_not_there_and_a_folder_that_is_not_there_are_errors_of_the_agent() -> None:
    async def main() -> None:
        async with booted() as (agent, _):
            with pytest.raises(AgentFailed):
                await agent.read("pve1", 101, "/etc/nothing")
            with pytest.raises(AgentFailed):
                await agent.write_bytes("pve1", 101, "/nowhere/x", b"x")

    run(main())


def test_nothing_that_goes_into_a_guest_is_in_the_trace() -> None:
    async def main() -> None:
        async with booted() as (agent, there):
            await agent.write_bytes("pve1", 101, "/etc/x", b"very secret")
            await agent.run("pve1", 101, ["echo", "very-secret"])
            traced = "".join(map(str, there.client.trace.of_machine(101)))
            assert "file-write" in traced
            assert "secret" not in traced
            assert "dmVyeSBzZWNyZXQ" not in traced

    run(main())
