"""A signal while objects are created rolls back, whatever the signal."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from nagaya.cli import create_run
from nagaya.cli.output.ended import Ended
from nagaya.cli.output.exit_code import ExitCode
from nagaya.cli.output.session import Management, Session
from nagaya.kube.client import Client
from nagaya.world import World
from support.transports import Scripted


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_while_objects_are_created_rolls_back(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    rolled_back = asyncio.Event()

    async def create(*_: object) -> None:
        os.kill(os.getpid(), number)
        try:
            await asyncio.Event().wait()
        finally:
            rolled_back.set()

    monkeypatch.setattr(create_run, "create", create)
    world = World()
    session = Session(Client(Scripted(), world=world), world, "https://127.0.0.1:1", "default", Management())
    with pytest.raises(Ended, match="Nothing was made") as ended:
        await create_run._create(session, [])
    assert ended.value.code == ExitCode.INTERRUPTED
    assert rolled_back.is_set()
