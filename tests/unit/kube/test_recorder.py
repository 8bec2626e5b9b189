from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.apiserver.server import ApiServer
from nagaya.cli.in_process import InProcessTransport
from nagaya.kube.client import Client
from nagaya.kube.recorder import BURST, EVENTS, QUEUED, SERIES_END, Recorder
from support.transports import Losing
from support.virtual_run import run, virtual_world

CONFIG_MAPS = Kind("", "v1", "ConfigMap", "configmaps", Untyped)
NODES = Kind("", "v1", "Node", "nodes", Untyped, namespaced=False)


def thing(name: str = "thing", namespace: str = "default") -> Untyped:
    return Untyped({"metadata": {"name": name, "namespace": namespace, "uid": f"uid-of-{name}"}})


class Scene:
    def __init__(self, server: ApiServer, way: Losing, recorder: Recorder, dropped: list[str]) -> None:
        self.server, self.way, self.recorder, self.dropped = server, way, recorder, dropped

    async def events(self) -> list[dict[str, Any]]:
        listing = await self.recorder.client.list(EVENTS)
        return [dict(each.raw) for each in listing.items]


def play(scene: Callable[[Scene], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        world = virtual_world()
        server = await ApiServer.start(world=world)
        way = Losing(InProcessTransport(server))
        dropped: list[str] = []
        recorder = Recorder(Client(way, world=world), world, on_drop=dropped.append)
        sending = asyncio.create_task(recorder.run())
        await scene(Scene(server, way, recorder, dropped))
        assert not sending.done(), sending.exception()
        sending.cancel()
        await server.stop()

    run(main())


def test_an_event_tells_what_happened_to_what() -> None:
    async def scene(here: Scene) -> None:
        here.recorder.normal(CONFIG_MAPS, thing(), "Made", "The thing was made.", action="Create")
        await asyncio.sleep(1)
        (event,) = await here.events()
        assert event["note"] == "The thing was made."
        assert event["type"] == "Normal"
        assert event["reason"] == "Made"
        assert event["action"] == "Create"
        assert event["reportingController"] == "nagaya"
        regarding = {"apiVersion": "v1", "kind": "ConfigMap", "name": "thing", "uid": "uid-of-thing"}
        assert event["regarding"] == {**regarding, "namespace": "default"}
        assert "series" not in event

    play(scene)


def test_the_same_event_again_is_a_series_that_is_written_when_it_begins_and_ends() -> None:
    async def scene(here: Scene) -> None:
        for _ in range(10):
            here.recorder.warning(CONFIG_MAPS, thing(), "Failed", "It does not work.")
            await asyncio.sleep(1)
        (event,) = await here.events()
        assert event["series"]["count"] == 2
        assert len(here.way.writes()) == 2
        await asyncio.sleep(SERIES_END + 1)
        (event,) = await here.events()
        assert event["series"]["count"] == 10
        assert len(here.way.writes()) == 3
        await asyncio.sleep(10 * SERIES_END)
        assert len(here.way.writes()) == 3
        here.recorder.warning(CONFIG_MAPS, thing(), "Failed", "It does not work.")
        await asyncio.sleep(1)
        assert len(here.way.writes()) == 4

    play(scene)


def test_events_that_come_before_the_first_is_sent_are_one_write() -> None:
    async def scene(here: Scene) -> None:
        for _ in range(5):
            here.recorder.warning(CONFIG_MAPS, thing(), "Failed", "It does not work.")
        await asyncio.sleep(1)
        (event,) = await here.events()
        assert event["series"]["count"] == 5
        assert len(here.way.writes()) == 1

    play(scene)


def test_a_series_whose_event_has_expired_starts_anew() -> None:
    async def scene(here: Scene) -> None:
        here.recorder.normal(CONFIG_MAPS, thing(), "Made", "Made.")
        await asyncio.sleep(1)
        (event,) = await here.events()
        await here.recorder.client.delete(EVENTS, "default", event["metadata"]["name"])
        here.recorder.normal(CONFIG_MAPS, thing(), "Made", "Made.")
        await asyncio.sleep(1)
        (event,) = await here.events()
        assert event["series"]["count"] == 2

    play(scene)


def test_one_object_cannot_flood_the_api() -> None:
    async def scene(here: Scene) -> None:
        for number in range(BURST + 10):
            here.recorder.normal(CONFIG_MAPS, thing(), "Made", f"Number {number}.")
        here.recorder.normal(CONFIG_MAPS, thing("other"), "Made", "Made.")
        await asyncio.sleep(1)
        assert len(await here.events()) == BURST + 1
        assert here.dropped == ["too many events of one object"] * 10
        await asyncio.sleep(601)
        for number in range(10):
            here.recorder.normal(CONFIG_MAPS, thing(), "Made", f"Again {number}.")
        assert len(here.dropped) == 10 + 8

    play(scene)


def test_events_wait_while_the_api_is_away() -> None:
    async def scene(here: Scene) -> None:
        here.way.refuse = True
        here.recorder.normal(CONFIG_MAPS, thing(), "Made", "Made.")
        await asyncio.sleep(30)
        here.way.refuse = False
        await asyncio.sleep(30)
        assert len(await here.events()) == 1

    play(scene)


def test_an_event_whose_answer_was_lost_is_there_once() -> None:
    async def scene(here: Scene) -> None:
        here.way.lose_answers = True
        here.recorder.normal(CONFIG_MAPS, thing(), "Made", "Made.")
        await asyncio.sleep(5)
        here.way.lose_answers = False
        here.recorder.normal(CONFIG_MAPS, thing(), "Made", "Made.")
        await asyncio.sleep(30)
        (event,) = await here.events()
        assert event["series"]["count"] == 2

    play(scene)


def test_what_waits_is_bounded_and_recording_never_waits() -> None:
    async def scene(here: Scene) -> None:
        here.way.hang = True
        for number in range(QUEUED + 50):
            here.recorder.normal(CONFIG_MAPS, thing(f"thing-{number}"), "Made", "Made.")
        assert here.dropped == ["the queue is full"] * 50

    play(scene)


def test_what_waits_is_sent_at_an_orderly_stop() -> None:
    async def main() -> None:
        world = virtual_world()
        server = await ApiServer.start(world=world)
        recorder = Recorder(Client(InProcessTransport(server), world=world), world)
        recorder.normal(CONFIG_MAPS, thing(), "Made", "Made.")
        await recorder.flush()
        assert len((await recorder.client.list(EVENTS)).items) == 1
        await server.stop()

    run(main())


def test_names_and_notes_fit_whatever_they_are_made_of() -> None:
    async def scene(here: Scene) -> None:
        here.recorder.normal(CONFIG_MAPS, thing("n" * 250), "Made", "ü" * 2000)
        here.recorder.normal(NODES, thing("system:strange", ""), "Made", "Made.")
        await asyncio.sleep(1)
        events = await here.events()
        assert len(events) == 2
        assert {event["metadata"]["namespace"] for event in events} == {"default"}
        assert max(len(event["note"].encode()) for event in events) <= 1024
        assert here.dropped == []

    play(scene)


def test_an_event_that_is_refused_holds_nothing_up() -> None:
    async def scene(here: Scene) -> None:
        here.recorder.normal(CONFIG_MAPS, thing(namespace="missing"), "Made", "Made.")
        here.recorder.normal(CONFIG_MAPS, thing(), "Made", "Made.")
        await asyncio.sleep(1)
        assert len(await here.events()) == 1
        assert here.dropped == ["refused"]

    play(scene)
