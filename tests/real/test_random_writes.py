"""Random sequences of writes by several managers leave both servers with the same objects, owners and histories.

Each example is one object's life: creates, updates, every kind of patch, deletions. Compared are all answers on the
way, the object and its managed fields at the end, which writes made a new version, and the events that a watch shows
of it all.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.server import ApiServer, Config
from support.differential import Answer, Target, comparable, differences
from support.known_differences import KNOWN
from support.real import RealControlPlane
from support.targets import Embedded, OverNetwork

pytestmark = pytest.mark.long("sends random sequences of writes to two servers")

NAMESPACE = "random-writes"
EXAMPLES = 25
MOST_WRITES = 12

_ITEM = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string"},
        "port": {"type": "integer", "default": 80},
        "size": {"type": "integer"},
        "marks": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
    },
}
_SPEC = {
    "type": "object",
    "properties": {
        "items": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name", "port"],
            "items": _ITEM,
        },
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "whole": {"type": "array", "items": {"type": "integer"}},
        "unit": {
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
        },
        "nested": {
            "type": "object",
            "properties": {
                "level": {"type": "integer", "minimum": 0},
                "deep": {"type": "object", "properties": {"mode": {"type": "string", "default": "slow"}}},
            },
        },
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "words": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}
_NOTES = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}
_STATUS = {"type": "object", "properties": {"seen": {"type": "integer"}, "notes": _NOTES}}
DEFINITION = {
    "metadata": {"name": "things.random.example.com"},
    "spec": {
        "group": "random.example.com",
        "scope": "Namespaced",
        "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": _SPEC, "status": _STATUS}}},
            }
        ],
    },
}


@dataclass(frozen=True, slots=True)
class Kind:
    """What the object is."""

    api_version: str
    kind: str
    collection: str


CONFIG_MAP = Kind("v1", "ConfigMap", f"/api/v1/namespaces/{NAMESPACE}/configmaps")
THING = Kind("random.example.com/v1", "Thing", f"/apis/random.example.com/v1/namespaces/{NAMESPACE}/things")


@dataclass(frozen=True, slots=True)
class Write:
    """One request by one manager. The body has neither kind nor name yet."""

    how: str  # create, update, merge, json, strategic, apply, delete
    manager: str
    body: Any
    force: bool = False
    status: bool = False  # by the status subresource
    stale: bool = False  # with a resource version that has never been


# --- what is written

words = st.sampled_from(["a", "b", "c"])
small = st.integers(0, 2)


def some(fields: Mapping[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """An object with any of these fields."""
    return st.fixed_dictionaries({}, optional=dict(fields))


def metadata(fewest: int) -> st.SearchStrategy[dict[str, Any]]:
    """Labels and the like, each with at least so many entries."""
    return some(
        {
            "labels": st.dictionaries(words, words, min_size=fewest, max_size=2),
            "annotations": st.dictionaries(words, words, min_size=fewest, max_size=2),
            "finalizers": st.lists(words.map("x.io/{}".format), min_size=fewest, max_size=2),
        }
    )


config_map = some(
    {
        "metadata": metadata(0),
        "data": st.dictionaries(words, words, max_size=3),
        "binaryData": st.dictionaries(st.just("d"), st.just("eA=="), max_size=1),
    }
)
items = some({"port": small, "size": small, "marks": st.lists(words, max_size=2, unique=True)})
spec = some(
    {
        # Now and then a key comes twice, which is refused, or is kept if it was there before.
        "items": st.lists(st.builds(lambda name, rest: {"name": name, **rest}, words, items), max_size=3),
        "tags": st.lists(words, max_size=3, unique=True) | st.lists(words, max_size=2),
        "whole": st.lists(small, max_size=2),
        "unit": some({"x": small, "y": small}),
        "nested": some({"level": st.integers(-1, 2), "deep": some({"mode": words})}),
        "free": some({"a": small, "b": st.lists(small, max_size=2), "c": st.fixed_dictionaries({"d": words})}),
        "words": st.dictionaries(words, words, max_size=2),
    }
)
status = some({"seen": small, "notes": st.lists(words, max_size=2, unique=True)})
# The real server stores an empty map in the metadata of a custom resource, does not show it, and then counts its
# absence as a change by whoever writes next. We do not store it.
thing = some({"metadata": metadata(1), "spec": spec, "status": status})


def with_nulls(body: st.SearchStrategy[dict[str, Any]], gone: list[tuple[str, ...]]) -> st.SearchStrategy[Any]:
    """Merge patches: a body in which a field may be null, which removes it."""

    def remove(value: dict[str, Any], path: tuple[str, ...] | None) -> dict[str, Any]:
        copy: dict[str, Any] = json.loads(json.dumps(value))
        at = copy
        for part in (path or ())[:-1]:
            at = at.setdefault(part, {})
        if path:
            at[path[-1]] = None
        return copy

    return st.builds(remove, body, st.none() | st.sampled_from(gone))


def json_patch(paths: list[str], values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[dict[str, Any]]]:
    """JSON patches of a step or two."""
    change = st.builds(
        lambda op, path, value: {"op": op, "path": path, "value": value},
        st.sampled_from(["add", "replace"]),
        st.sampled_from(paths),
        values,
    )
    removal = st.sampled_from(paths).map(lambda path: {"op": "remove", "path": path})
    move = st.builds(lambda a, b: {"op": "move", "from": a, "path": b}, st.sampled_from(paths), st.sampled_from(paths))
    return st.lists(change | change | removal | move, min_size=1, max_size=2)


managers = st.sampled_from(["ann", "bob", "eve"])
seldom = st.sampled_from([False] * 7 + [True])
often = st.booleans()

config_map_writes = st.one_of(
    st.builds(Write, st.sampled_from(["create", "update"]), managers, config_map, stale=seldom),
    st.builds(Write, st.just("apply"), managers, config_map, force=often),
    st.builds(Write, st.just("apply"), managers, config_map, force=often),
    st.builds(
        Write,
        st.sampled_from(["merge", "strategic"]),
        managers,
        with_nulls(config_map, [("data",), ("data", "a"), ("metadata", "labels"), ("metadata", "finalizers")]),
    ),
    st.builds(Write, st.just("json"), managers, json_patch(["/data/a", "/data/b", "/metadata/labels"], words)),
    st.builds(Write, st.just("delete"), managers, st.none()),
)
thing_writes = st.one_of(
    st.builds(Write, st.sampled_from(["create", "update"]), managers, thing, status=seldom, stale=seldom),
    st.builds(Write, st.just("apply"), managers, thing, force=often, status=seldom),
    st.builds(Write, st.just("apply"), managers, thing, force=often, status=seldom),
    st.builds(
        Write,
        st.just("merge"),
        managers,
        with_nulls(thing, [("spec",), ("spec", "items"), ("spec", "nested", "deep"), ("spec", "words", "a")]),
        status=seldom,
    ),
    st.builds(
        Write,
        st.just("json"),
        managers,
        json_patch(
            ["/spec/items/0", "/spec/tags/-", "/spec/whole", "/spec/nested/level", "/spec/free/e"], small | words
        ),
    ),
    st.builds(Write, st.just("delete"), managers, st.none()),
)

TYPES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


@dataclass(slots=True)
class Life:
    """What one server made of a sequence of writes."""

    answers: list[Answer]
    events: Answer


async def live(target: Target, kind: Kind, name: str, writes: list[Write]) -> Life:
    """Do the writes, then look at what a watch shows of them."""
    mine = f"fieldSelector=metadata.name%3D{name}"
    before = await target.ask("GET", f"{kind.collection}?{mine}", b"", HEADERS, "admin")
    answers = [await do(target, kind, name, write) for write in writes]
    answers.append(await target.ask("GET", f"{kind.collection}/{name}", b"", HEADERS, "admin"))
    since = before.body["metadata"]["resourceVersion"]
    watch = f"{kind.collection}?{mine}&watch=1&timeoutSeconds=1&resourceVersion={since}"
    return Life(answers, await target.ask("GET", watch, b"", HEADERS, "admin"))


HEADERS = {"Accept": "application/json", "User-Agent": "random/1"}


async def do(target: Target, kind: Kind, name: str, write: Write) -> Answer:
    """One write as a request."""
    path = f"{kind.collection}/{name}{'/status' if write.status and write.how != 'create' else ''}"
    body = write.body
    if isinstance(body, dict) and write.how in ("create", "update", "apply"):
        version = {}
        if write.how == "update":  # custom resources can only be updated by who has seen them
            seen = await target.ask("GET", f"{kind.collection}/{name}", b"", HEADERS, "admin")
            now = seen.body["metadata"].get("resourceVersion", "")
            version = {"resourceVersion": "1" if write.stale else now}
        named = {**body.get("metadata", {}), "name": name, **version}
        body = {**body, "apiVersion": kind.api_version, "kind": kind.kind, "metadata": named}
    content = b"" if body is None else json.dumps(body).encode()
    query = f"?fieldManager={write.manager}" + ("&force=true" if write.how == "apply" and write.force else "")
    if write.how == "delete":
        return await target.ask("DELETE", path, b"", HEADERS, "admin")
    if write.how in ("create", "update"):
        method, path = ("POST", kind.collection) if write.how == "create" else ("PUT", path)
        return await target.ask(method, path + query, content, {**HEADERS, "Content-Type": "application/json"}, "admin")
    return await target.ask("PATCH", path + query, content, {**HEADERS, "Content-Type": TYPES[write.how]}, "admin")


# --- what is compared


def plain(answer: Answer) -> Any:
    """An answer with those lists in one order that Go has in none (conflicts) or by when a second began (managers)."""
    found = comparable(answer, NAMESPACE)
    for value in objects(found["body"]):
        if value.get("reason") == "Conflict" and "causes" in value["details"]:
            value["details"]["causes"].sort(key=lambda cause: json.dumps(cause, sort_keys=True))
        entries = value.get("metadata", {}).get("managedFields")
        if isinstance(entries, list):
            entries.sort(key=lambda entry: json.dumps(entry, sort_keys=True))
    return found


def objects(body: Any) -> Iterator[dict[str, Any]]:
    """The objects in an answer: itself, or those of the events."""
    for each in body if isinstance(body, list) else [body]:
        if isinstance(each, dict):
            yield each.get("object", each)


def versions(life: Life) -> list[int]:
    """Which version of the object each answer shows, counted from the first: who changed nothing, made none."""
    seen: dict[str, int] = {}
    found = []
    for answer in [*life.answers, life.events]:
        for value in objects(answer.body):
            version = value.get("metadata", {}).get("resourceVersion", "")
            found.append(seen.setdefault(version, len(seen)))
    return found


def compare(writes: list[Write], ours: Life, theirs: Life) -> None:
    """Fail with everything that differs."""
    found = []
    labels = [*map(str, writes), "the object at the end", "the events of a watch"]
    pairs = zip([*ours.answers, ours.events], [*theirs.answers, theirs.events], strict=True)
    for label, (mine, other) in zip(labels, pairs, strict=True):
        lines = [line for line in differences(plain(mine), plain(other)) if not any(re.search(p, line) for p in KNOWN)]
        if lines:
            found += [label, *(f"    {line}" for line in lines)]
    if versions(ours) != versions(theirs):
        found.append(f"versions: {versions(ours)}\n   expected {versions(theirs)}")
    assert not found, "\n".join(["the servers differ (ours, then the real one):", *found])


# --- the two servers


class Pair:
    """Both servers, ready for examples, with a loop that they live in."""

    def __init__(self, runner: asyncio.Runner, embedded: Target, real: Target) -> None:
        self._runner = runner
        self._targets = embedded, real
        self._numbers = itertools.count(1)

    def play(self, kind: Kind, writes: list[Write]) -> None:
        """Give both the same writes and compare what they make of them."""
        name = f"n{next(self._numbers)}-{time.monotonic_ns() % 10**6}"

        async def both() -> list[Life]:
            return list(await asyncio.gather(*(live(target, kind, name, writes) for target in self._targets)))

        ours, theirs = self._runner.run(both())
        compare(writes, ours, theirs)


async def prepare(target: Target) -> None:
    """Make the namespace and the kind, and wait until it is served."""
    headers = {**HEADERS, "Content-Type": "application/json"}
    await target.ask(
        "POST", "/api/v1/namespaces", json.dumps({"metadata": {"name": NAMESPACE}}).encode(), headers, "admin"
    )
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    made = await target.ask("POST", definitions, json.dumps(DEFINITION).encode(), headers, "admin")
    assert made.status in (201, 409), made
    for _ in range(200):
        if (await target.ask("GET", THING.collection, b"", HEADERS, "admin")).status == 200:
            return
        await asyncio.sleep(0.05)
    raise AssertionError("the definition was not served in time")


@pytest.fixture(scope="module")
def pair(real_control_plane: RealControlPlane) -> Iterator[Pair]:
    with asyncio.Runner() as runner:
        server = runner.run(ApiServer.start(Config(tokens={"admin": User("admin", "1", ("system:masters",))})))
        session = runner.run(open_session())
        tokens = {"admin": real_control_plane.tokens["admin-by-token"]}
        real = OverNetwork(session, real_control_plane.url, real_control_plane.ssl_context(None), tokens)
        embedded = Embedded(server)
        runner.run(prepare(embedded))
        runner.run(prepare(real))
        yield Pair(runner, embedded, real)
        runner.run(session.close())
        runner.run(server.stop())


async def open_session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession()


bounded = settings(
    max_examples=EXAMPLES,
    # Shrinking asks the real server hundreds of times; the differences that are printed say enough.
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)


def lives(body: st.SearchStrategy[Any], writes: st.SearchStrategy[Write]) -> st.SearchStrategy[list[Write]]:
    """Sequences that begin with an object that is there."""
    first = st.builds(Write, st.sampled_from(["create", "apply"]), managers, body)
    return st.builds(lambda one, rest: [one, *rest], first, st.lists(writes, min_size=3, max_size=MOST_WRITES))


@bounded
@given(writes=lives(config_map, config_map_writes))
def test_a_config_map_written_by_several_managers(pair: Pair, writes: list[Write]) -> None:
    pair.play(CONFIG_MAP, writes)


@bounded
@given(writes=lives(thing, thing_writes))
def test_a_custom_resource_written_by_several_managers(pair: Pair, writes: list[Write]) -> None:
    pair.play(THING, writes)
