"""The typed calls, each against the emulated data center; each request is checked against PVE's schema on the way."""

from __future__ import annotations

import asyncio
import hashlib

import pytest

from nagaya.infrastructure.proxmox.client import Password, Upload
from nagaya.infrastructure.proxmox.client.access import Grant
from nagaya.infrastructure.proxmox.client.errors import (
    AgentNotReady,
    Conflict,
    HostUnreachable,
    NotFound,
    ParameterError,
    TaskFailed,
    WrongState,
)
from nagaya.infrastructure.proxmox.client.proxmox import Proxmox
from nagaya.infrastructure.proxmox.client.upid import Upid
from nagaya.simulators.proxmox.layouts.demo import PASSWORD
from nagaya.simulators.proxmox.state.node import Unreachable
from support.proxmox_transport import data_center
from support.virtual_run import run


async def done(client: Proxmox, task: Upid) -> None:
    await client.tasks.wait(task)


@pytest.mark.parametrize("version", ["9.2.11", "8.4.1"])
def test_a_machine_lives_from_clone_to_destruction(version: str) -> None:
    async def main() -> None:
        async with data_center(version=version) as center:
            client = center.client
            machines = client.machines
            assert await client.cluster.is_free(101)
            await done(client, await machines.clone("pve1", 9001, 101, name="one", pool="nagaya", description="first"))
            assert not await client.cluster.is_free(101)
            with pytest.raises(Conflict):
                await machines.clone("pve1", 9001, 101, name="two")
            config = await machines.config("pve1", 101)
            assert (config.get("name"), config.template, len(config.uuid)) == ("one", False, 36)
            assert config.disks["scsi0"].get("size") == "20G"
            assert config.networks["net0"].get("bridge") == "vmbr0"
            key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJqB2V8s0b2dq2W8d0G6iX9y9n4m4n0s0l2f5v8m1k3o a+b@c"
            await machines.configure(
                "pve1",
                101,
                {"cores": 4, "onboot": True, "tags": "b;a", "sshkeys": key},
                delete=["serial0"],
                digest=config.digest,
            )
            with pytest.raises(Conflict, match="file change by other user"):
                await machines.configure("pve1", 101, {"cores": 2}, digest=config.digest)
            await done(client, await machines.begin_configure("pve1", 101, {"scsi1": "local-lvm:4"}))
            changed = await machines.config("pve1", 101)
            assert (changed.get("cores"), changed.tags, changed.get("serial0")) == ("4", ("a", "b"), "")
            assert "scsi1" in changed.disks
            await done(client, await machines.resize("pve1", 101, "scsi0", "40G"))
            with pytest.raises(TaskFailed, match="shrinking") as raised:
                await done(client, await machines.resize("pve1", 101, "scsi0", "10G"))
            assert isinstance(raised.value.because, ParameterError)
            with pytest.raises(WrongState):
                await machines.reset("pve1", 101)
            await done(client, await machines.start("pve1", 101))
            status = await machines.status("pve1", 101)
            assert (status.running, status.agent, status.template) == (True, True, False)
            await machines.configure("pve1", 101, {"memory": "4096"})
            assert [change.name for change in await machines.pending("pve1", 101)] == ["memory"]
            with pytest.raises(WrongState):
                await machines.destroy("pve1", 101)
            await done(client, await machines.reset("pve1", 101))
            await done(client, await machines.reboot("pve1", 101))
            await done(client, await machines.shutdown("pve1", 101, timeout=30, force=True))
            await done(client, await machines.stop("pve1", 101, overrule_shutdown=True))
            await done(client, await machines.destroy("pve1", 101))
            with pytest.raises(NotFound) as missing:
                await machines.config("pve1", 101)
            assert missing.value.what == "machine"
            assert all(volume.vmid != 101 for volume in await client.storages.content("pve1", "local-lvm"))
            assert [row["vmid"] for row in await machines.on("pve1")] == [9001]

    run(main())


def test_machines_are_made_moved_and_turned_into_templates() -> None:
    async def main() -> None:
        async with data_center() as center:
            client = center.client
            machines = client.machines
            options = {"name": "made", "memory": 512, "scsi0": "shared:8,format=qcow2", "net0": "virtio,bridge=vmbr0"}
            await done(client, await machines.create("pve1", 300, options, pool="nagaya"))
            with pytest.raises(Conflict):
                await machines.create("pve2", 300, options)
            await done(client, await machines.snapshot("pve1", 300, "before", description="x"))
            assert [each["name"] for each in await machines.snapshots("pve1", 300)] == ["before", "current"]
            await done(client, await machines.roll_back("pve1", 300, "before"))
            await done(client, await machines.delete_snapshot("pve1", 300, "before"))
            await done(client, await machines.migrate("pve1", 300, "pve2", online=False))
            assert (await machines.config("pve2", 300)).get("name") == "made"
            with pytest.raises(NotFound):
                await machines.config("pve1", 300)
            await done(client, await machines.template("pve2", 300))
            assert (await machines.config("pve2", 300, current=True)).template

    run(main())


def test_the_agent_answers_when_the_guest_is_up() -> None:
    async def main() -> None:
        async with data_center() as center:
            client = center.client
            await done(client, await client.machines.clone("pve1", 9001, 101, name="one"))
            with pytest.raises(WrongState):
                await client.agent.ping("pve1", 101)
            await done(client, await client.machines.start("pve1", 101))
            with pytest.raises(AgentNotReady):
                await client.agent.ping("pve1", 101)
            await asyncio.sleep(30)
            await client.agent.ping("pve1", 101)
            interfaces = await client.agent.interfaces("pve1", 101)
            assert next(each.name for each in interfaces) == "lo"
            assert all("/" in address for each in interfaces for address in each.addresses)
            assert (await client.agent.system("pve1", 101))["id"]
            await client.agent.write("pve1", 101, "/tmp/x", "hello äöü")
            assert await client.agent.read("pve1", 101, "/tmp/x") == "hello äöü"
            pid = await client.agent.execute("pve1", 101, ["echo", "a b"])
            await asyncio.sleep(2)
            ended = await client.agent.execution("pve1", 101, pid)
            assert (ended.exited, ended.code) == (True, 0)
            with pytest.raises(ValueError, match="at once"):
                await client.agent.write("pve1", 101, "/tmp/x", "x" * 100_000)

    run(main())


def test_files_come_and_go() -> None:
    async def main() -> None:
        async with data_center() as center:
            client = center.client
            storages = client.storages
            assert {each.name for each in await storages.on("pve1", content="iso", enabled=True)} == {"local", "shared"}
            status = await storages.status("pve1", "local-lvm")
            assert (status.type, status.active, status.shared) == ("lvmthin", True, False)
            content = b"\x00" * 32769 + b"CD001" + b"\r\n--x\r\n" * 500
            digest = hashlib.sha256(content).hexdigest()
            await done(client, await storages.upload("pve1", "local", "iso", Upload("b.iso", content), checksum=digest))
            (volume,) = await storages.content("pve1", "local", content="iso")
            assert (volume.id, volume.size) == ("local:iso/b.iso", len(content))
            await done(client, await storages.delete("pve1", volume.id))
            assert await storages.content("pve1", "local", content="iso") == []
            with pytest.raises(NotFound):
                await storages.status("pve1", "nosuch")
            with pytest.raises(TaskFailed):
                await done(
                    client,
                    await storages.download("pve1", "local", "import", "https://example.org/a.qcow2", "a.qcow2"),
                )
            center.emulator.datacenter.nodes["pve2"].online = False
            with pytest.raises(HostUnreachable):
                await storages.upload("pve2", "local", "iso", Upload("b.iso", content))
            with pytest.raises(ValueError, match="no name of a file"):
                Upload('a".iso', b"")

    run(main())


def test_pools_users_roles_rights_and_tokens() -> None:
    async def main() -> None:
        async with data_center(credentials=Password("root@pam", PASSWORD)) as center:
            client = center.client
            pools, access = client.pools, client.access
            await pools.create("team", "theirs")
            with pytest.raises(Conflict):
                await pools.create("team")
            await pools.add("team", machines=[9001], storages=["shared"])
            pool = await pools.get("team")
            assert (pool.comment, pool.machines, pool.storages) == ("theirs", (9001,), ("shared",))
            with pytest.raises(WrongState):
                await pools.delete("team")
            await pools.remove("team", machines=[9001], storages=["shared"])
            assert set(await pools.names()) == {"nagaya", "team"}
            await access.create_user("nagaya@pve", "machines")
            assert set(await access.users()) == {"root@pam", "nagaya@pve"}
            await access.create_role("Nagaya", ["VM.Audit", "VM.Clone"])
            await access.update_role("Nagaya", ["VM.Audit"])
            assert (await access.roles())["Nagaya"] == {"VM.Audit"}
            token = await access.create_token("nagaya@pve", "main")
            assert token.id == "nagaya@pve!main"
            assert token.secret not in repr(token)
            with pytest.raises(Conflict):
                await access.create_token("nagaya@pve", "main")
            assert await access.tokens("nagaya@pve") == ("main",)
            user = Grant("/pool/team", "Nagaya", "nagaya@pve", "user")
            await access.grant(user)
            await access.grant(Grant("/pool/team", "Nagaya", token.id, "token", propagate=False))
            assert user in await access.grants()
            held = await access.permissions("/pool/team", token.id)
            assert held == {"/pool/team": {"VM.Audit": False}}
            await access.grant(user, revoke=True)
            assert user not in await access.grants()
            await access.delete_token("nagaya@pve", "main")
            with pytest.raises(NotFound):
                await access.delete_token("nagaya@pve", "main")
            await access.delete_role("Nagaya")
            await access.delete_user("nagaya@pve")
            await pools.delete("team")
            with pytest.raises(NotFound):
                await pools.get("team")

    run(main())


def test_the_cluster_and_its_hosts() -> None:
    async def main() -> None:
        async with data_center() as center:
            cluster = center.client.cluster
            assert (await cluster.version()).release == (9, 2)
            assert await cluster.next_id() == 100
            assert not await cluster.is_free(9001)
            assert {row["type"] for row in await cluster.status()} == {"cluster", "node"}
            assert "vmbr0" in await cluster.bridges("pve1")
            status = await cluster.host_status("pve3")
            assert (status.cpus, status.memory) == (16, 64 << 30)
            assert isinstance(await cluster.options(), dict)
            with pytest.raises(NotFound) as raised:
                await cluster.host_status("pve9")
            assert raised.value.what == "host"

    run(main())


def test_high_availability() -> None:
    async def main() -> None:
        async with data_center() as center:
            client, available = center.client, center.client.high_availability
            for vmid in (101, 102):
                await done(client, await client.machines.clone("pve1", 9001, vmid, name=f"m{vmid}"))
                await available.manage(vmid, state="stopped")
            with pytest.raises(Conflict):
                await available.manage(101)
            assert set(await available.resources()) == {101, 102}
            await available.set_state(101, "ignored")
            await available.keep_apart("apart", [101, 102])
            await available.change_rule("apart", [102, 101])
            assert list(await available.rules()) == ["apart"]
            await available.delete_rule("apart")
            assert await available.status()
            await available.release(101)
            with pytest.raises(NotFound):
                await available.release(101)

    run(main())


def test_a_host_that_answers_nothing_delays_only_its_own_calls() -> None:
    async def main() -> None:
        async with data_center() as center:
            client, node = center.client, center.emulator.datacenter.nodes["pve2"]
            node.online, node.unreachable = False, Unreachable.SILENT
            loop = asyncio.get_running_loop()
            slow = loop.create_task(client.cluster.host_status("pve2"))
            await asyncio.sleep(0)
            began = loop.time()
            for name in ("pve1", "pve3"):
                await client.cluster.host_status(name)
            assert loop.time() == began
            with pytest.raises(HostUnreachable, match="Connection timed out"):
                await slow
            assert loop.time() - began == 30
            with pytest.raises(HostUnreachable, match="pve2 is unreachable: Connection timed out") as raised:
                await client.cluster.host_status("pve2")
            assert raised.value.since, "it was not even tried"
            assert loop.time() - began == 30

    run(main())


def test_another_endpoint_is_asked_when_the_first_is_off() -> None:
    async def main() -> None:
        async with data_center() as center:
            center.emulator.datacenter.nodes["pve1"].online = False
            await center.client.pools.create("team")
            assert [node for node, _ in center.transport.sent] == ["pve1", "pve2"]

    run(main())
