"""The balancer as a program: a signal ends it, but not before its last client has gone."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from nagaya.controlplane.hosted.host.balancer.front import Balancer, Client
from nagaya.controlplane.hosted.host.balancer.program import serve

SIGNALS = (signal.SIGTERM, signal.SIGINT)


@pytest.fixture
async def unheard() -> AsyncIterator[list[int]]:
    """The signals that the program did not take, which would end the tests otherwise."""
    found: list[int] = []
    before = {number: signal.signal(number, lambda taken, _: found.append(taken)) for number in SIGNALS}
    yield found
    loop = asyncio.get_running_loop()
    for number, handler in before.items():
        loop.remove_signal_handler(number)
        signal.signal(number, handler)


@pytest.mark.parametrize("number", SIGNALS)
async def test_a_signal_ends_it_also_before_an_api_server_is_ready_and_another_one_does_no_harm(
    tmp_path: Path, unheard: list[int], number: signal.Signals
) -> None:
    serving = asyncio.create_task(serve("127.0.0.1", 0, str(tmp_path / "balancer.json")))
    await asyncio.sleep(0)  # it begins
    signal.raise_signal(number)
    signal.raise_signal(number)
    assert unheard == []
    async with asyncio.timeout(60):
        await serving


async def test_its_end_waits_for_the_last_client_and_no_longer() -> None:
    balancer = Balancer("nowhere")
    await balancer.empty()
    clients = [Client(balancer) for _ in range(3)]
    for client in clients:
        balancer.entered(client)
    ending = asyncio.create_task(balancer.empty())
    for client in clients[:2]:
        balancer.left(client)
        balancer.left(client)
        await _turns()
        assert not ending.done()
    balancer.left(clients[2])
    await _turns()
    assert ending.done()
    await ending


async def _turns() -> None:
    """Let everything happen that happens without time."""
    for _ in range(5):
        await asyncio.sleep(0)
