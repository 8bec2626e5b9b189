"""Nagaya's webhooks in a thread of their own, for tests that act from outside."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from nagaya.api.definition import Definition
from nagaya.cli.admission import AdmissionServer
from nagaya.kube import kubeconfig
from nagaya.kube.client import Client
from nagaya.kube.http import HttpTransport
from nagaya.world import World

_CLOSING = 0.3  # seconds that connections take to say goodbye


@contextmanager
def answering(path: Path, definitions: Iterable[Definition]) -> Iterator[None]:
    """Have the API behind a kubeconfig ask for defaults, checks and conversion, as `nagaya controllers --admission`
    does."""
    begun, ended = threading.Event(), asyncio.Event()
    problems: list[BaseException] = []
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        world = World()
        client = Client(HttpTransport(kubeconfig.load(path), world=world), world=world, field_manager="nagaya")
        rules = AdmissionServer(client, world, definitions, stop_timeout=240.0)
        try:
            await rules.start("127.0.0.1", 0)
            begun.set()
            await ended.wait()
        finally:
            await rules.stop()
            await client.close()
            await asyncio.sleep(_CLOSING)

    def run() -> None:
        try:
            loop.run_until_complete(serve())
        except BaseException as error:
            problems.append(error)
        finally:
            begun.set()
            loop.close()

    thread = threading.Thread(target=run, name="answering")
    thread.start()
    try:
        begun.wait()
        if problems:
            raise problems[0]
        yield
    finally:
        if not problems:
            loop.call_soon_threadsafe(ended.set)
        thread.join()
