"""What always holds for writes, reads and watches, on the embedded server without a network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.server import ApiServer, Config
from nagaya.apiserver.web.request import Request

MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"


class Api:
    """A client with the administrator's token."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server

    async def __call__(
        self, method: str, path: str, body: Any = None, kind: str = "application/json"
    ) -> tuple[int, Any]:
        headers = {"Authorization": "Bearer admin", "Content-Type": kind, "User-Agent": "tests/1"}
        raw = b"" if body is None else json.dumps(body).encode()
        response = await self.server.handle(Request.make(method, path, raw, headers))
        if response.stream is not None:
            return response.status, [json.loads(line) async for chunk in response.stream for line in chunk.splitlines()]
        return response.status, json.loads(response.body)


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    server = await ApiServer.start(Config(tokens={"admin": User("admin", "1", ("system:masters",))}))
    yield Api(server)
    await server.stop()


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": data}


async def test_a_write_that_changes_nothing_keeps_its_version(api: Api) -> None:
    _, made = await api("POST", MAPS, config_map("a", x="1"))
    _, put = await api("PUT", f"{MAPS}/a", config_map("a", x="1"))
    _, patched = await api("PATCH", f"{MAPS}/a", {"data": {"x": "1"}}, MERGE)
    versions = {each["metadata"]["resourceVersion"] for each in (made, put, patched)}
    assert len(versions) == 1


async def test_concurrent_patches_all_count(api: Api) -> None:
    await api("POST", MAPS, config_map("a"))
    await asyncio.gather(*(api("PATCH", f"{MAPS}/a", {"data": {f"k{i}": "v"}}, MERGE) for i in range(20)))
    _, found = await api("GET", f"{MAPS}/a")
    assert len(found["data"]) == 20


async def test_concurrent_updates_of_one_version_have_one_winner(api: Api) -> None:
    _, made = await api("POST", MAPS, config_map("a"))
    version = made["metadata"]["resourceVersion"]

    def update(i: int) -> dict[str, Any]:
        return {"metadata": {"name": "a", "resourceVersion": version}, "data": {"by": str(i)}}

    answers = await asyncio.gather(*(api("PUT", f"{MAPS}/a", update(i)) for i in range(8)))
    assert sorted(code for code, _ in answers) == [200] + [409] * 7


async def test_concurrent_creations_of_one_name_have_one_winner(api: Api) -> None:
    answers = await asyncio.gather(*(api("POST", MAPS, config_map("a", by=str(i))) for i in range(8)))
    assert sorted(code for code, _ in answers) == [201] + [409] * 7


async def test_generated_names_are_unique_and_keep_their_prefix(api: Api) -> None:
    answers = await asyncio.gather(*(api("POST", MAPS, {"metadata": {"generateName": "gen-"}}) for _ in range(30)))
    names = {answer["metadata"]["name"] for _, answer in answers}
    assert len(names) == 30
    assert all(name.startswith("gen-") and len(name) == 9 for name in names)


async def test_pages_together_are_one_snapshot(api: Api) -> None:
    for i in range(7):
        await api("POST", MAPS, {"metadata": {"name": f"p{i}", "labels": {"page": "1"}}})
    _, first = await api("GET", f"{MAPS}?labelSelector=page&limit=3")
    await api("DELETE", f"{MAPS}/p5")
    await api("POST", MAPS, {"metadata": {"name": "p9", "labels": {"page": "1"}}})
    names = [each["metadata"]["name"] for each in first["items"]]
    token = first["metadata"]["continue"]
    while token:
        _, page = await api("GET", f"{MAPS}?labelSelector=page&limit=3&continue={token}")
        assert page["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
        names += [each["metadata"]["name"] for each in page["items"]]
        token = page["metadata"].get("continue")
    assert names == [f"p{i}" for i in range(7)]


async def test_a_lost_snapshot_can_be_continued_at_the_present(api: Api) -> None:
    for i in range(4):
        await api("POST", MAPS, {"metadata": {"name": f"p{i}", "labels": {"page": "1"}}})
    _, first = await api("GET", f"{MAPS}?labelSelector=page&limit=2")
    await api("DELETE", f"{MAPS}/p2")
    api.server.store.compact(api.server.store.revision)
    code, gone = await api("GET", f"{MAPS}?labelSelector=page&limit=2&continue={first['metadata']['continue']}")
    assert (code, gone["reason"]) == (410, "Expired")
    _, rest = await api("GET", f"{MAPS}?labelSelector=page&limit=2&continue={gone['metadata']['continue']}")
    assert [each["metadata"]["name"] for each in rest["items"]] == ["p3"]


async def test_a_watch_tells_what_enters_and_leaves_its_selection(api: Api) -> None:
    _, made = await api("POST", MAPS, {"metadata": {"name": "a", "labels": {"in": "1"}}})
    since = made["metadata"]["resourceVersion"]
    await api("PATCH", f"{MAPS}/a", {"metadata": {"labels": {"in": None}}}, MERGE)
    await api("PATCH", f"{MAPS}/a", {"data": {"x": "1"}}, MERGE)
    await api("PATCH", f"{MAPS}/a", {"metadata": {"labels": {"in": "1"}}}, MERGE)
    await api("DELETE", f"{MAPS}/a")
    _, events = await api("GET", f"{MAPS}?watch=1&labelSelector=in&resourceVersion={since}&timeoutSeconds=1")
    assert [each["type"] for each in events] == ["DELETED", "ADDED", "DELETED"]
    versions = [int(each["object"]["metadata"]["resourceVersion"]) for each in events]
    assert versions == sorted(versions)
    assert versions[0] > int(since)


async def test_dependents_go_with_their_owner(api: Api) -> None:
    _, owner = await api("POST", MAPS, config_map("owner"))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    child = {"metadata": {"name": "child", "ownerReferences": [reference]}}
    await api("POST", MAPS, child)
    await api("DELETE", f"{MAPS}/owner")
    await api.server.settled()
    assert (await api("GET", f"{MAPS}/child"))[0] == 404


async def test_a_namespace_goes_with_everything_in_it(api: Api) -> None:
    await api("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
    await api("POST", "/api/v1/namespaces/n/configmaps", config_map("a"))
    await api("DELETE", "/api/v1/namespaces/n")
    await api.server.settled()
    assert (await api("GET", "/api/v1/namespaces/n"))[0] == 404
    assert (await api("GET", "/api/v1/namespaces/n/configmaps"))[1]["items"] == []
