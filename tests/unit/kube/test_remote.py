from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

import pytest

from nagaya.kube.connection import Connection
from nagaya.kube.key import Key
from nagaya.kube.remote import Remotes
from support.crates import COLLECTION, CRATES
from support.kube import FakeServer
from support.virtual_run import run, virtual_world
from support.virtual_time import LoopClock

A, B = Key("n", "a"), Key("n", "b")


class Tenants:
    """Servers by URL, and remotes that connect to them."""

    def __init__(self, *urls: str) -> None:
        self.servers = {url: FakeServer() for url in urls}
        self.connected: list[str] = []
        self.told: list[Key] = []
        self.remotes = Remotes(self.connect, virtual_world())
        self.remotes.subscribe(self.told.append)

    def connect(self, connection: Connection) -> FakeServer:
        self.connected.append(connection.server)
        return self.servers[connection.server]

    def offer(self, key: Key, url: str, token: str = "") -> None:
        self.remotes.offer(key, Connection(url, token=token))


def test_a_tenant_is_connected_when_it_is_wanted_and_has_credentials() -> None:
    async def main() -> None:
        tenants = Tenants("one")
        remotes = tenants.remotes
        remotes.want(A)
        await asyncio.sleep(60)
        assert tenants.connected == []
        assert remotes.get(A) is None
        tenants.offer(A, "one")
        await asyncio.sleep(0.1)
        remote = remotes.get(A)
        assert remote is not None
        assert remote.key == A
        assert remotes.connected() == [remote]
        assert tenants.told == [A]
        assert remotes.probe(A).fresh(LoopClock().now())
        remotes.forget(A)
        await asyncio.sleep(0.1)
        assert remotes.get(A) is None
        assert tenants.servers["one"].closed == 1
        await remotes.close()

    run(main())


def test_an_offer_alone_connects_to_nobody() -> None:
    async def main() -> None:
        tenants = Tenants("one")
        tenants.offer(A, "one")
        await asyncio.sleep(60)
        assert tenants.connected == []
        await tenants.remotes.close()

    run(main())


def test_new_credentials_make_the_connection_anew_and_the_same_do_not() -> None:
    async def main() -> None:
        tenants = Tenants("one")
        tenants.remotes.want(A)
        tenants.offer(A, "one", "old")
        await asyncio.sleep(1)
        first = tenants.remotes.get(A)
        tenants.offer(A, "one", "old")
        await asyncio.sleep(1)
        assert tenants.remotes.get(A) is first
        tenants.offer(A, "one", "new")
        await asyncio.sleep(1)
        second = tenants.remotes.get(A)
        assert second is not None
        assert second is not first
        assert second.connection.token == "new"
        tenants.remotes.offer(A, None, "the Secret is gone")
        await asyncio.sleep(1)
        assert tenants.remotes.get(A) is None
        await tenants.remotes.close()

    run(main())


def test_five_failed_probes_disconnect_and_the_next_try_is_half_a_minute_later() -> None:
    async def main() -> None:
        tenants = Tenants("one")
        server, remotes = tenants.servers["one"], tenants.remotes
        remotes.want(A)
        tenants.offer(A, "one")
        await asyncio.sleep(1)
        tenants.told.clear()
        server.hung = True
        await asyncio.sleep(10 + 5 + 1)
        assert remotes.get(A) is not None
        assert remotes.probe(A).failures == 1
        assert "within 5 s" in remotes.probe(A).problem
        assert tenants.told == [A]
        await asyncio.sleep(4 * 15)
        assert remotes.get(A) is None
        assert not remotes.probe(A).fresh(LoopClock().now())
        server.hung = False
        await asyncio.sleep(20)
        assert remotes.get(A) is None
        await asyncio.sleep(15)
        assert remotes.get(A) is not None
        assert remotes.probe(A).failures == 0
        await remotes.close()

    run(main())


def test_a_tenant_that_answers_again_need_not_wait_for_the_next_try() -> None:
    async def main() -> None:
        tenants = Tenants("one")
        server, remotes = tenants.servers["one"], tenants.remotes
        server.hung = True
        remotes.want(A)
        tenants.offer(A, "one")
        await asyncio.sleep(170)  # between two tries
        server.hung = False
        remotes.hurry(A)
        await asyncio.sleep(0.1)
        first = remotes.get(A)
        assert first is not None
        remotes.hurry(A)
        await asyncio.sleep(0.1)
        assert remotes.get(A) is first
        await remotes.close()

    run(main())


def test_a_probe_that_succeeds_again_forgets_the_failures() -> None:
    async def main() -> None:
        tenants = Tenants("one")
        server, remotes = tenants.servers["one"], tenants.remotes
        remotes.want(A)
        tenants.offer(A, "one")
        await asyncio.sleep(1)
        first = remotes.get(A)
        server.down = True
        await asyncio.sleep(25)
        assert remotes.probe(A).failures == 2
        last = remotes.probe(A).last_success
        server.down = False
        tenants.told.clear()
        await asyncio.sleep(10)
        assert remotes.probe(A).failures == 0
        assert tenants.told == [A]
        now = remotes.probe(A).last_success
        assert now is not None
        assert last is not None
        assert now - last > timedelta(seconds=20)
        assert remotes.get(A) is first
        await remotes.close()

    run(main())


def test_refused_credentials_lead_to_a_new_connection_at_once() -> None:
    async def main() -> None:
        tenants = Tenants("one")
        server = tenants.servers["one"]
        tenants.remotes.want(A)
        tenants.offer(A, "one")
        await asyncio.sleep(1)
        server.unauthorized = True
        await asyncio.sleep(10)
        assert tenants.remotes.get(A) is None
        assert len(tenants.connected) == 2, "tried again at once, and then after a pause"
        server.unauthorized = False
        await asyncio.sleep(31)
        assert tenants.remotes.get(A) is not None
        await tenants.remotes.close()

    run(main())


def test_a_hung_tenant_delays_no_other() -> None:
    async def main() -> None:
        tenants = Tenants("one", "two")
        tenants.servers["one"].hung = True
        for key, url in ((A, "one"), (B, "two")):
            tenants.remotes.want(key)
            tenants.offer(key, url)
        await asyncio.sleep(0.1)
        assert tenants.remotes.get(A) is None
        assert tenants.remotes.get(B) is not None
        await tenants.remotes.close()

    run(main())


def test_credentials_that_cannot_be_used_are_reported_and_tried_again() -> None:
    async def main() -> None:
        tenants = Tenants()
        tenants.remotes.want(A)
        tenants.offer(A, "nowhere")
        await asyncio.sleep(1)
        assert "KeyError" in tenants.remotes.probe(A).problem
        tenants.servers["nowhere"] = FakeServer()
        await asyncio.sleep(31)
        assert tenants.remotes.get(A) is not None
        await tenants.remotes.close()

    run(main())


def test_a_tenant_that_is_just_starting_is_tried_soon_and_then_ever_less_often() -> None:
    async def main() -> None:
        tenants = Tenants()
        tenants.remotes.want(A)
        tenants.offer(A, "starting")
        begin, tried = asyncio.get_running_loop().time(), []
        for _ in range(1200):
            while len(tried) < len(tenants.connected):
                tried.append(round(asyncio.get_running_loop().time() - begin))
            await asyncio.sleep(0.1)
        assert tried == [0, 1, 3, 7, 15, 31, 61, 91]
        await tenants.remotes.close()

    run(main())


def test_nobody_is_warned_of_a_tenant_that_comes_up_or_stumbles_but_of_one_that_stays_away(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        tenants = Tenants("one")
        server = tenants.servers["one"]
        server.down = True
        tenants.remotes.want(A)
        tenants.offer(A, "one")
        await asyncio.sleep(40)
        server.down = False
        await asyncio.sleep(40)
        assert tenants.remotes.get(A) is not None
        server.down = True
        await asyncio.sleep(25)
        server.down = False
        await asyncio.sleep(25)
        assert not _warnings(caplog)
        server.down = True
        await asyncio.sleep(600)
        (told,) = _warnings(caplog)
        assert told.startswith("tenant n/a: cannot be reached, 5 times in a row:")
        await tenants.remotes.close()

    run(main())


def test_a_tenant_that_never_answers_is_warned_of_in_the_end(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        tenants = Tenants("one")
        tenants.servers["one"].down = True
        tenants.remotes.want(A)
        tenants.offer(A, "one")
        await asyncio.sleep(1200)
        (told,) = _warnings(caplog)
        assert "10 times in a row" in told
        await tenants.remotes.close()

    run(main())


def _warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]


def test_a_tenant_has_a_cache_of_its_own_that_ends_with_the_connection() -> None:
    async def main() -> None:
        tenants = Tenants("one")
        server = tenants.servers["one"]
        server.put(COLLECTION, "n", "x")
        tenants.remotes.want(A)
        tenants.offer(A, "one")
        await asyncio.sleep(1)
        remote = tenants.remotes.get(A)
        assert remote is not None
        seen: list[str] = []
        for _ in range(2):
            remote.watch("nodes", CRATES, lambda change: seen.append(change.object.metadata.name))
        await asyncio.sleep(1)
        assert seen == ["x"]
        tenants.remotes.forget(A)
        await asyncio.sleep(1)
        server.put(COLLECTION, "n", "y")
        await asyncio.sleep(60)
        assert seen == ["x"]
        await tenants.remotes.close()

    run(main())


def test_nothing_is_remembered_of_tenants_that_are_gone() -> None:
    async def main() -> None:
        tenants = Tenants("one")
        for _ in range(2):
            tenants.remotes.want(A)
            tenants.offer(A, "one")
            await asyncio.sleep(1)
            assert tenants.remotes.get(A) is not None
            tenants.remotes.offer(A, None, "the Secret is gone")
            assert "Secret" in tenants.remotes.probe(A).problem
            await asyncio.sleep(1)
            tenants.remotes.forget(A)
            assert tenants.remotes._tenants == {}
        tenants.remotes.offer(B, None)
        assert tenants.remotes._tenants == {}
        await tenants.remotes.close()

    run(main())


def test_no_task_of_a_tenant_outlives_the_remotes() -> None:
    async def main() -> None:
        tenants = Tenants("one")
        tenants.remotes.want(A)
        tenants.offer(A, "one")
        await asyncio.sleep(1)
        await tenants.remotes.close()
        assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []
        assert tenants.servers["one"].closed == 1

    run(main())
