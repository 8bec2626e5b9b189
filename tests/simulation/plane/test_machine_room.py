"""The stand-ins for programs of hosted control planes and for their store behave as those do that they stand for."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from nagaya.controlplane.hosted.data_store.etcd_client import StoreClient
from nagaya.kube.etcd.errors import ConnectionLost, UserExists, UserNotFound
from nagaya.simulators.proxmox.guests.clusters import Clusters
from nagaya.simulators.tenant.shared import Shared
from nagaya.supervision.errors import SupervisionError
from nagaya.supervision.events import Adopted, Event, Exited, Ready, Started
from nagaya.supervision.spec import ProcessSpec
from nagaya.supervision.status import State
from nagaya.wire.etcd.kv import RangeRequest
from support.plane import fast_loop
from support.plane.hosted_order import hosted_disorder
from support.plane.machine_room import ADDRESS, MachineRoom
from support.plane.room_host import RoomSupervisor
from support.plane.scene import Scene, scene
from support.plane.store_room import StoreRoom, StoreWay, client_over
from support.plane.weather import Fate, Mishap, Way, Weather
from support.plane.wish import Wish
from support.virtual_run import virtual_world

ETCD = ProcessSpec("store.etcd", ("/programs/v1/etcd", "--data-dir=a"))


class Host:
    """A room, and the supervisors of it, of which each is a process of controllers."""

    def __init__(self, folder: Path) -> None:
        self.world = virtual_world()
        self.room = MachineRoom(self.world, Clusters(self.world), folder, lambda _: "", Shared())
        self.death = asyncio.Event()
        self.heard: list[Event] = []

    async def supervisor(self) -> RoomSupervisor:
        made = RoomSupervisor(self.room, self.death, self.world, self.heard.append)
        await made.start()
        return made


def in_room(play: Callable[[Host], Awaitable[None]]) -> None:
    async def main() -> None:
        with tempfile.TemporaryDirectory() as folder:
            host = Host(Path(folder))
            try:
                await play(host)
            finally:
                await host.room.close()

    fast_loop.run(main())


def test_a_program_that_dies_is_started_again() -> None:
    async def play(host: Host) -> None:
        supervisor = await host.supervisor()
        await supervisor.ensure(ETCD)
        await asyncio.sleep(2)
        host.room.kill(host.room.programs["store.etcd"])
        assert not host.room.store.answers
        await asyncio.sleep(5)
        assert host.room.store.answers
        assert [type(each) for each in host.heard][:3] == [Started, Ready, Exited]
        assert [each.restarts for each in supervisor.list()] == [1]
        await supervisor.close()

    in_room(play)


def test_a_program_outlives_its_controllers_and_the_next_ones_find_it() -> None:
    async def play(host: Host) -> None:
        first = await host.supervisor()
        await first.ensure(ETCD)
        await asyncio.sleep(2)
        pid = host.room.programs["store.etcd"].pid
        await first.close(leave_running=True)
        second = await host.supervisor()
        assert [each.state for each in second.list()] == [State.UNCLAIMED]
        await second.ensure(ETCD)
        await asyncio.sleep(1)
        assert host.room.programs["store.etcd"].pid == pid
        assert any(isinstance(each, Adopted) for each in host.heard)
        await second.close()

    in_room(play)


def test_another_command_is_another_program() -> None:
    async def play(host: Host) -> None:
        supervisor = await host.supervisor()
        await supervisor.ensure(ETCD)
        pid = host.room.programs["store.etcd"].pid
        await supervisor.ensure(ProcessSpec("store.etcd", ("/programs/v1/etcd", "--data-dir=b")))
        assert host.room.programs["store.etcd"].pid != pid
        assert host.room.problems == []
        await supervisor.close()
        assert host.room.programs == {}

    in_room(play)


def test_controllers_that_were_killed_start_and_end_nothing() -> None:
    async def play(host: Host) -> None:
        supervisor = await host.supervisor()
        await supervisor.ensure(ETCD)
        host.death.set()
        with pytest.raises(SupervisionError, match="killed"):
            await supervisor.stop("store.etcd")
        await supervisor.ensure(ProcessSpec("other.etcd", ("/programs/v1/etcd",)))
        assert [*host.room.programs] == ["store.etcd"]
        await supervisor.close(leave_running=True)

    in_room(play)


def in_store(play: Callable[[StoreClient, StoreRoom, Weather], Awaitable[None]]) -> None:
    async def main() -> None:
        store, weather = StoreRoom(), Weather()
        store.running = True
        way = StoreWay(store, weather, asyncio.Event(), lambda _: None)
        async with await client_over(lambda: way).connect("https://store:2379") as client:
            await play(client, store, weather)

    fast_loop.run(main())


def test_the_store_refuses_what_etcd_refuses() -> None:
    async def play(client: StoreClient, store: StoreRoom, _: Weather) -> None:
        with pytest.raises(UserNotFound):
            await client.auth.user_roles("somebody")
        await client.auth.add_user("somebody")
        with pytest.raises(UserExists):
            await client.auth.add_user("somebody")
        await client.auth.add_role("writer")
        await client.auth.grant_prefix("writer", b"/a/")
        assert not store.admits("/a")
        await client.auth.grant_role("somebody", "writer")
        assert store.admits("/a")
        assert not store.admits("/aa")

    in_store(play)


def test_a_call_to_the_store_takes_effect_and_its_answer_is_lost() -> None:
    async def play(client: StoreClient, store: StoreRoom, weather: Weather) -> None:
        weather.mishaps.append(Mishap(Way.STORES, Fate.LOST, 0))
        with pytest.raises(ConnectionLost):
            await client.kv.put(b"/a/b", b"c")
        assert store.tenants == {"a"}
        assert (await client.kv.range(RangeRequest(key=b"/a/b"))).count == 1

    in_store(play)


def test_what_nobody_wants_is_told() -> None:
    async def main() -> list[str]:
        async with scene(1) as here:
            here.room.start(ProcessSpec("gone.kube-scheduler", ("/programs/v1/kube-scheduler",)))
            (here.room.settings.tenants / "gone").mkdir(parents=True)
            (here.room.settings.tenants / "gone/ports.json").write_text("{}")
            here.room.store.users["tenant-gone"] = []
            return hosted_disorder(here)

    assert fast_loop.run(main()) == [
        "programs kube-scheduler v1 run, and nobody wants them",
        "1 folders of tenants for 0 tenants",
        "1 users in the store for 0 tenants",
    ]


def test_a_hosted_control_plane_is_served_at_its_endpoint_while_its_programs_run() -> None:
    async def main() -> tuple[list[str], list[str]]:
        async with scene(1) as here:
            await here.begin()
            here.wishes["amber"] = wanted = Wish("amber", 2, 0, hosted=True)
            await here.create(*wanted.manifests())
            await asyncio.sleep(120)
            before = [each.way for each in here.room.hosted.values()]
            await _kill(here, "balancer")
            return before, [each.way for each in here.room.hosted.values()]

    assert fast_loop.run(main()) == (["answers"], ["refuses"])


def test_a_port_is_free_when_nothing_listens_there() -> None:
    async def main() -> tuple[bool, bool]:
        async with scene(1) as here:
            command = ("/programs/v1/kube-apiserver", f"--bind-address={ADDRESS}", "--secure-port=16443")
            here.room.start(ProcessSpec("somebody.kube-apiserver-0", command))
            return here.room.is_free(ADDRESS, 16443), here.room.is_free(ADDRESS, 16444)

    assert fast_loop.run(main()) == (False, True)


async def _kill(here: Scene, program: str) -> None:
    for each in [*here.room.programs.values()]:
        if each.kind == program:
            here.room.kill(each)
    await here.room.look()
