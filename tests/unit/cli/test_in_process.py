from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from nagaya.apiserver.server import ApiServer, Config
from nagaya.cli.in_process import InProcessTransport
from nagaya.kube.transport import AnswerLost, Call, Unreachable
from nagaya.world import World
from support.in_process import MovingClock

WHO = Call(
    "POST",
    "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    {},
    {"content-type": "application/json"},
    b'{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}',
)
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def clock() -> MovingClock:
    return MovingClock()


@pytest.fixture
async def server(clock: MovingClock) -> AsyncIterator[ApiServer]:
    server = await ApiServer.start(Config(), World(clock=clock))
    yield server
    await server.stop()


async def test_the_caller_is_who_it_says(server: ApiServer) -> None:
    for transport, name, group in (
        (InProcessTransport(server), "nagaya", "system:masters"),
        (InProcessTransport(server, "bob", ("team",)), "bob", "team"),
    ):
        answer = await transport.send(WHO)
        user = json.loads(answer.body)["status"]["userInfo"]
        assert user["username"] == name
        assert group in user["groups"]


async def test_the_caller_is_known_for_as_long_as_the_server_runs(server: ApiServer, clock: MovingClock) -> None:
    transport = InProcessTransport(server)
    for _ in range(5):
        assert (await transport.send(WHO)).status == 201
        clock.passed += timedelta(days=25)


async def test_queries_arrive_as_they_are(server: ApiServer) -> None:
    transport = InProcessTransport(server)
    answer = await transport.send(Call("GET", CONFIG_MAPS, {"labelSelector": "a in (b,c),d!=e f"}))
    assert answer.status == 400
    answer = await transport.send(Call("GET", CONFIG_MAPS, {"fieldSelector": "metadata.name=kube-root-ca.crt"}))
    assert answer.status == 200
    assert len(json.loads(answer.body)["items"]) == 1


async def test_leaving_a_watch_ends_it(server: ApiServer) -> None:
    transport = InProcessTransport(server)
    async with transport.stream(Call("GET", CONFIG_MAPS, {"watch": "true"})) as answer:
        assert answer.status == 200
        async for chunk in answer:
            assert json.loads(chunk.splitlines()[0])["type"] == "ADDED"
            break
    await server.settled()


async def test_a_refused_watch_has_a_body(server: ApiServer) -> None:
    transport = InProcessTransport(server)
    async with transport.stream(Call("GET", CONFIG_MAPS, {"watch": "true", "resourceVersion": "x"})) as answer:
        assert answer.status == 500
        assert json.loads(await answer.body())["kind"] == "Status"


async def test_others_have_their_turn(server: ApiServer) -> None:
    transport = InProcessTransport(server)
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    for _ in range(10):
        await transport.send(Call("GET", "/version"))
    task.cancel()
    assert turns >= 10


async def test_a_call_has_its_time(server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(request: object) -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr(server, "handle", never)
    with pytest.raises(AnswerLost, match=r"within 0\.01 s"):
        await InProcessTransport(server).send(Call("GET", "/version", timeout=0.01))


async def test_a_server_that_has_stopped_is_unreachable() -> None:
    server = await ApiServer.start()
    transport = InProcessTransport(server)
    await server.stop()
    with pytest.raises(Unreachable, match="has stopped"):
        await transport.send(Call("GET", "/version"))
