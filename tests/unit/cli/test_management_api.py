"""What is waited for before controllers begin, and what is said meanwhile."""

from __future__ import annotations

import asyncio

import pytest

from nagaya.api.catalog import PARTS
from nagaya.apiserver.server import ApiServer, Config
from nagaya.cli.in_process import InProcessTransport
from nagaya.cli.management_api import answers, serves
from nagaya.cli.plane import install
from nagaya.kube.client import Client
from nagaya.kube.errors import Unauthorized
from support.kube import FakeServer
from support.virtual_run import run, virtual_world

ADDONS = [each.kind for each in PARTS["addons"]]
SETS = ADDONS[0]
NAME = f"{SETS.plural}.{SETS.group}"


def test_an_api_that_is_away_is_mentioned_once_and_waited_for() -> None:
    async def main() -> None:
        server, told = FakeServer(), list[str]()
        server.down = True
        waiting = asyncio.create_task(answers(server.client(virtual_world()), told.append))
        await asyncio.sleep(60)
        assert len(told) == 1
        assert "connection refused" in told[0]
        server.unauthorized = True
        server.down = False
        with pytest.raises(Unauthorized):
            await waiting

    run(main())


def test_an_api_that_answers_is_not_mentioned() -> None:
    async def main() -> None:
        world, told = virtual_world(), list[str]()
        server = await ApiServer.start(Config(), world)
        try:
            await answers(Client(InProcessTransport(server), world=world), told.append)
        finally:
            await server.stop()
        assert told == []

    run(main())


def test_kinds_are_waited_for_until_their_definitions_are_installed() -> None:
    async def main() -> None:
        world, told = virtual_world(), list[str]()
        server = await ApiServer.start(Config(), world)
        client = Client(InProcessTransport(server), world=world, field_manager="test")
        try:
            waiting = asyncio.create_task(serves(client, ADDONS, told.append))
            await asyncio.sleep(1000)
            assert not waiting.done()
            assert len(told) == 1
            assert all(f"{kind.plural}.{kind.group}" in told[0] for kind in ADDONS)
            assert "nagaya crds --only addons | kubectl apply --server-side -f -" in told[0]
            await install(client, ["addons"])
            async with asyncio.timeout(1):
                await waiting
            assert told[1:] == ["The management API has all kinds now."]
            await serves(client, ADDONS, told.append)
            assert len(told) == 2, "what is there is not mentioned"
        finally:
            await server.stop()

    run(main())
