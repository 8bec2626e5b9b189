from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any

import pytest

from nagaya.apiserver.server import ApiServer, Config
from nagaya.apiserver.storage.watch import BATCH
from nagaya.apiserver.web.request import Request
from nagaya.world import World
from support.in_process import ADMIN

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


class LoopClock:
    """The time of the event loop, which tests may make virtual."""

    def now(self) -> datetime:
        return datetime(2026, 11, 1, 12, 0, tzinfo=UTC)

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop that does not sleep: when there is nothing to do, it is the time of the next timer."""

    _now = 1000.0

    def time(self) -> float:
        return self._now

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]  # the loop's own, not in its stubs
            self._now = max(self._now, self._scheduled[0].when())  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


def on_virtual_time(test: Callable[[ApiServer], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Run a test with a server of its own on virtual time."""

    async def with_server() -> None:
        server = await ApiServer.start(Config(tokens={"admin": ADMIN}), World(clock=LoopClock()))
        await server.settled()
        await test(server)
        await server.stop()

    def run() -> None:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(with_server())

    run.__name__ = test.__name__
    return run


async def ask(server: ApiServer, method: str, path: str, body: Any = None) -> dict[str, Any]:
    headers = {"Authorization": "Bearer admin", "Content-Type": "application/merge-patch+json"}
    if method == "POST":
        headers["Content-Type"] = "application/json"
    response = await server.handle(Request.make(method, path, json.dumps(body).encode() if body else b"", headers))
    assert response.status < 300, response.body
    answer: dict[str, Any] = json.loads(response.body)
    return answer


async def follow(server: ApiServer, query: str, seen: list[tuple[str, str]]) -> None:
    """Note the type and the name of every event until the stream ends."""
    request = Request.make("GET", f"{CONFIG_MAPS}?watch=1&{query}", b"", {"Authorization": "Bearer admin"})
    response = await server.handle(request)
    assert response.stream is not None
    async for chunk in response.stream:
        for line in chunk.splitlines():
            event = json.loads(line)
            name = event["object"]["metadata"].get("name", "")
            if name != "kube-root-ca.crt":  # every namespace has it
                seen.append((event["type"], name))


@on_virtual_time
async def test_a_watch_ends_when_its_time_is_up(server: ApiServer) -> None:
    began = asyncio.get_running_loop().time()
    await follow(server, "timeoutSeconds=30", [])
    assert asyncio.get_running_loop().time() - began == pytest.approx(30, abs=0.1)


@on_virtual_time
async def test_a_quiet_watch_gets_bookmarks_if_others_write(server: ApiServer) -> None:
    seen: list[tuple[str, str]] = []
    watching = asyncio.create_task(follow(server, "timeoutSeconds=200&allowWatchBookmarks=true&labelSelector=a", seen))
    for number in range(3):
        await asyncio.sleep(50)
        await ask(server, "POST", CONFIG_MAPS, {"metadata": {"name": f"other-{number}"}})
    assert seen == [("BOOKMARK", "")] * 3  # at the start, and after 60 and 120 seconds
    await watching
    assert seen == [("BOOKMARK", "")] * 4  # after 180 seconds; shortly before the end there is nothing more to tell


@on_virtual_time
async def test_events_reach_every_watcher_as_its_selection_has_it(server: ApiServer) -> None:
    watchers: dict[str, list[tuple[str, str]]] = {
        query: [] for query in ("", "labelSelector=on", "fieldSelector=metadata.name%3Db")
    }
    tasks = [asyncio.create_task(follow(server, f"timeoutSeconds=9&{query}", seen)) for query, seen in watchers.items()]
    again: list[tuple[str, str]] = []
    tasks.append(asyncio.create_task(follow(server, "timeoutSeconds=9&labelSelector=on", again)))
    await asyncio.sleep(1)
    await ask(server, "POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
    await ask(server, "POST", CONFIG_MAPS, {"metadata": {"name": "b", "labels": {"on": ""}}})
    await ask(server, "PATCH", f"{CONFIG_MAPS}/a", {"metadata": {"labels": {"on": ""}}})
    await ask(server, "PATCH", f"{CONFIG_MAPS}/a", {"data": {"x": "1"}})
    await ask(server, "PATCH", f"{CONFIG_MAPS}/b", {"metadata": {"labels": None}})
    await ask(server, "DELETE", f"{CONFIG_MAPS}/a")
    await asyncio.gather(*tasks)

    everything, on, named = watchers.values()
    assert everything == [
        ("ADDED", "a"),
        ("ADDED", "b"),
        ("MODIFIED", "a"),
        ("MODIFIED", "a"),
        ("MODIFIED", "b"),
        ("DELETED", "a"),
    ]
    assert on == [("ADDED", "b"), ("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "b"), ("DELETED", "a")]
    assert again == on
    assert named == [("ADDED", "b"), ("MODIFIED", "b")]


@on_virtual_time
async def test_a_long_way_to_catch_up_is_gone_in_steps(server: ApiServer) -> None:
    revision = server.store.revision
    for number in range(2 * BATCH + 2):
        await ask(server, "POST", CONFIG_MAPS, {"metadata": {"name": f"a-{number}"}})
    query = f"{CONFIG_MAPS}?watch=1&timeoutSeconds=9&resourceVersion={revision}"
    response = await server.handle(Request.make("GET", query, b"", {"Authorization": "Bearer admin"}))
    assert response.stream is not None
    others: list[int] = []
    sizes: list[int] = []
    async for chunk in response.stream:
        sizes.append(chunk.count(b"\n"))
        asyncio.get_running_loop().call_soon(others.append, len(sizes))
        if sum(sizes) == 2 * BATCH + 2:
            break

    assert sizes == [BATCH, BATCH, 2]
    assert others == [1, 2]
