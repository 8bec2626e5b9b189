from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec
import pytest

from nagaya.api.meta import ObjectMeta
from nagaya.kube.cache.cache import Cache, NotCached
from nagaya.kube.cache.change import Change
from nagaya.kube.key import Key
from support.crates import COLLECTION, CRATES, Crate
from support.kube import FakeServer
from support.virtual_run import run, virtual_world


@asynccontextmanager
async def caching(
    server: FakeServer, *, labels: str = "", transform: Callable[[Crate], Crate] | None = None
) -> AsyncIterator[Cache]:
    world = virtual_world()
    cache = Cache(server.client(world), world)
    cache.start(CRATES, labels=labels, transform=transform)
    await cache.synced()
    yield cache
    await cache.close()


def names(cache: Cache) -> list[str]:
    return [obj.metadata.name for obj in cache.list(CRATES)]


def lists(server: FakeServer) -> int:
    return server.calls.count("GET /api/v1/configmaps")


def put(server: FakeServer, name: str, **data: str) -> None:
    server.put(COLLECTION, "n", name, data=data)


def test_what_is_there_and_what_comes_is_kept() -> None:
    async def main() -> None:
        server = FakeServer()
        put(server, "a", colour="red")
        async with caching(server) as cache:
            put(server, "b")
            put(server, "a", colour="blue")
            await asyncio.sleep(0.1)
            assert names(cache) == ["a", "b"]
            found = cache.get(CRATES, Key("n", "a"))
            assert found is not None
            assert found.data == {"colour": "blue"}
            server.remove(COLLECTION, "n", "a")
            await asyncio.sleep(0.1)
            assert cache.get(CRATES, Key("n", "a")) is None

    run(main())


def test_a_subscriber_hears_of_what_is_there_and_then_of_every_change() -> None:
    async def main() -> None:
        server = FakeServer()
        put(server, "a")
        async with caching(server) as cache:
            heard: list[tuple[bool, bool]] = []
            end = cache.subscribe(CRATES, lambda change: heard.append((change.old is None, change.new is None)))
            put(server, "a", x="1")
            server.remove(COLLECTION, "n", "a")
            await asyncio.sleep(0.1)
            assert heard == [(True, False), (False, False), (False, True)]
            end()
            put(server, "b")
            await asyncio.sleep(0.1)
            assert len(heard) == 3

    run(main())


def test_a_subscriber_that_fails_harms_nobody_else(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        server = FakeServer()
        async with caching(server) as cache:
            heard: list[Change[Crate]] = []

            def bad(change: Change[Crate]) -> None:
                raise ValueError("no")

            cache.subscribe(CRATES, bad)
            cache.subscribe(CRATES, heard.append)
            put(server, "a")
            put(server, "b")
            await asyncio.sleep(0.1)
            assert len(heard) == 2
            assert names(cache) == ["a", "b"]

    run(main())
    assert "a subscriber failed" in caplog.text


def test_a_broken_watch_is_taken_up_where_it_ended() -> None:
    async def main() -> None:
        server = FakeServer()
        async with caching(server) as cache:
            put(server, "a")
            await asyncio.sleep(10)
            server.drop_watches()
            put(server, "b")
            await asyncio.sleep(10)
            assert names(cache) == ["a", "b"]
            server.end_watches()
            put(server, "c")
            await asyncio.sleep(10)
            assert names(cache) == ["a", "b", "c"]
            assert lists(server) == 1

    run(main())


def test_forgotten_history_leads_to_a_list_that_reports_deletions() -> None:
    async def main() -> None:
        server = FakeServer()
        put(server, "a")
        put(server, "b")
        async with caching(server) as cache:
            gone: list[str] = []
            cache.subscribe(
                CRATES, lambda change: gone.append(change.object.metadata.name) if change.new is None else None
            )
            await asyncio.sleep(10)
            server.drop_watches()
            server.remove(COLLECTION, "n", "a")
            put(server, "c")
            server.forget_history()
            await asyncio.sleep(20)
            assert names(cache) == ["b", "c"]
            assert gone == ["a"]
            assert lists(server) == 2

    run(main())


def test_a_server_that_is_away_is_asked_less_and_less_and_found_again() -> None:
    async def main() -> None:
        server = FakeServer()
        async with caching(server) as cache:
            server.down = True
            server.drop_watches()
            await asyncio.sleep(1)
            calls = len(server.calls)
            await asyncio.sleep(3600)
            # Every try of the reflector is up to four of the client.
            assert len(server.calls) - calls < 4 * 3600 / 30 + 30
            assert "connection refused" in cache.unfollowed()[0]
            server.down = False
            put(server, "a")
            await asyncio.sleep(65)
            assert names(cache) == ["a"]
            assert cache.unfollowed() == []

    run(main())


def test_a_server_that_stumbles_is_worth_no_warning_and_one_that_stays_away_is(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def warned() -> list[str]:
        return [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]

    async def main() -> None:
        server = FakeServer()
        async with caching(server) as cache:
            server.down = True
            server.drop_watches()
            await asyncio.sleep(1)
            server.down = False
            await asyncio.sleep(60)
            assert cache.unfollowed() == []
            assert not warned()
            server.down = True
            server.drop_watches()
            await asyncio.sleep(600)
            (told,) = warned()
            assert "cannot be followed" in told
            server.down = False

    run(main())


def test_trouble_is_over_when_a_watch_holds_also_if_nothing_happens() -> None:
    async def main() -> None:
        server = FakeServer()
        async with caching(server) as cache:
            server.down = True
            server.drop_watches()
            await asyncio.sleep(30)
            assert cache.unfollowed()
            server.down = False
            await asyncio.sleep(70)
            assert cache.unfollowed() == []
            assert lists(server) == 1

    run(main())


def test_an_object_that_cannot_be_read_hides_no_other_and_is_reported() -> None:
    async def main() -> None:
        server = FakeServer()
        put(server, "a")
        server.put(COLLECTION, "n", "bad", data=["no", "mapping"])
        async with caching(server) as cache:
            assert names(cache) == ["a"]
            (problem,) = cache.unreadable()
            assert "n/bad cannot be read" in problem
            server.put(COLLECTION, "n", "a", data="worse")
            put(server, "c")
            await asyncio.sleep(0.1)
            assert names(cache) == ["a", "c"]
            assert len(cache.unreadable()) == 2
            put(server, "bad", now="fine")
            server.remove(COLLECTION, "n", "a")
            await asyncio.sleep(0.1)
            assert names(cache) == ["bad", "c"]
            assert cache.unreadable() == []

    run(main())


def test_our_own_write_is_seen_before_the_watch_brings_it_and_told_once() -> None:
    async def main() -> None:
        server = FakeServer()
        async with caching(server) as cache:
            server.lag = 5.0
            heard: list[Change[Crate]] = []
            cache.subscribe(CRATES, heard.append)
            made = await server.client(virtual_world()).create(CRATES, {"metadata": {"name": "a", "namespace": "n"}})
            cache.wrote(CRATES, made)
            assert names(cache) == ["a"]
            await asyncio.sleep(20)
            assert len(heard) == 1

    run(main())


def test_a_transform_trims_what_is_kept_also_of_our_own_writes() -> None:
    async def main() -> None:
        server = FakeServer()
        put(server, "a", big="x" * 100)
        async with caching(server, transform=lambda obj: msgspec.structs.replace(obj, data={})) as cache:
            assert cache.list(CRATES)[0].data == {}
            made = CRATES.convert(server.put(COLLECTION, "n", "b", data={"big": "y"}))
            cache.wrote(CRATES, made)
            assert cache.list(CRATES)[1].data == {}

    run(main())


def test_a_selection_follows_labels() -> None:
    async def main() -> None:
        server = FakeServer()
        server.put(COLLECTION, "n", "a", metadata={"labels": {"team": "blue"}})
        put(server, "b")
        async with caching(server, labels="team=blue") as cache:
            assert names(cache) == ["a"]
            server.put(COLLECTION, "n", "b", metadata={"labels": {"team": "blue"}})
            server.put(COLLECTION, "n", "a", metadata={"labels": {"team": "red"}})
            await asyncio.sleep(0.1)
            assert names(cache) == ["b"]

    run(main())


def test_starting_twice_has_no_effect_but_another_selection_is_refused() -> None:
    async def main() -> None:
        server = FakeServer()
        async with caching(server) as cache:
            cache.start(CRATES)
            await asyncio.sleep(1)
            assert lists(server) == 1
            with pytest.raises(ValueError, match="cached for"):
                cache.start(CRATES, namespace="other")

    run(main())


def test_a_kind_that_was_not_started_is_not_taken_for_empty() -> None:
    world = virtual_world()
    cache = Cache(FakeServer().client(world), world)
    with pytest.raises(NotCached, match="configmaps is not in the cache"):
        cache.list(CRATES)


def test_kinds_may_be_started_before_the_loop_runs() -> None:
    server = FakeServer()
    put(server, "a")
    world = virtual_world()
    cache = Cache(server.client(world), world)
    cache.start(CRATES)
    assert not cache.is_synced(CRATES)

    async def main() -> None:
        await cache.synced(CRATES)
        assert names(cache) == ["a"]
        await cache.close()

    run(main())


def test_what_was_started_before_the_loop_ran_is_followed_when_somebody_says_so() -> None:
    server = FakeServer()
    put(server, "a")
    world = virtual_world()
    cache = Cache(server.client(world), world)
    cache.start(CRATES)

    async def main() -> None:
        await asyncio.sleep(10)
        assert server.calls == []
        cache.follow()
        cache.follow()
        await asyncio.sleep(10)
        assert names(cache) == ["a"]
        assert server.calls == [f"GET /{COLLECTION}", f"WATCH /{COLLECTION}"]
        await cache.close()

    run(main())


def test_equal_labels_are_kept_once() -> None:
    async def main() -> None:
        server = FakeServer()
        for name in ("a", "b"):
            server.put(COLLECTION, "n", name, metadata={"labels": {"team": "the same long value"}})
        async with caching(server) as cache:
            one, two = cache.list(CRATES)
            assert one.metadata.labels["team"] is two.metadata.labels["team"]
            assert one.metadata.namespace is two.metadata.namespace

    run(main())


def test_current_waits_for_what_the_watch_has_not_told_yet() -> None:
    async def main() -> None:
        server = FakeServer()
        async with caching(server) as cache:
            server.lag = 30.0
            put(server, "a")
            assert names(cache) == []
            await cache.current()
            assert names(cache) == ["a"]

    run(main())


def test_of_several_namespaces_each_is_followed_and_no_other() -> None:
    async def main() -> None:
        server = FakeServer()
        for namespace in ("a", "b", "c"):
            server.put(COLLECTION, namespace, "old", data={"colour": "red"})
        world = virtual_world()
        cache = Cache(server.client(world), world, namespaces=("c", "a"))
        cache.start(CRATES)
        cache.add_index(CRATES, "colour", lambda crate: crate.data.values())
        told: list[Change[Crate]] = []
        await cache.synced()
        end = cache.subscribe(CRATES, told.append)
        assert lists(server) == 0
        assert [Key.of(each.object) for each in told] == [Key("a", "old"), Key("c", "old")]
        for namespace in ("c", "b", "a"):
            server.put(COLLECTION, namespace, "new", data={"colour": "red"})
        server.remove(COLLECTION, "c", "old")
        await asyncio.sleep(0.1)
        found = [Key("a", "new"), Key("a", "old"), Key("c", "new")]
        assert [Key.of(each) for each in cache.list(CRATES)] == found
        assert [Key.of(each) for each in cache.by(CRATES, "colour", "red")] == found
        assert [Key.of(each) for each in cache.list(CRATES, "c")] == [Key("c", "new")]
        assert cache.list(CRATES, "b") == []
        assert cache.get(CRATES, Key("a", "new")) is not None
        assert cache.get(CRATES, Key("b", "new")) is None
        assert cache.is_synced(CRATES)
        heard = len(told)
        cache.wrote(CRATES, Crate(metadata=msgspec.convert({"namespace": "b", "name": "x"}, ObjectMeta)))
        end()
        server.put(COLLECTION, "a", "later")
        await cache.current()
        assert len(told) == heard == 5
        assert len(cache.list(CRATES)) == 4
        await cache.close()

    run(main())
