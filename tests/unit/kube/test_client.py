from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest

from nagaya.api.kind import Kind, Resource
from nagaya.api.meta import ObjectMeta
from nagaya.api.model import Model
from nagaya.api.untyped import Untyped
from nagaya.kube.calls import nothing
from nagaya.kube.client import Client, Undecodable, WatchEvent
from nagaya.kube.errors import Expired, Forbidden, ServiceUnavailable, TooManyRequests
from nagaya.kube.patches import Apply, JsonPatch, Merge
from nagaya.kube.transport import AnswerLost, Call, NoCredentials, Unreachable
from support.transports import Said, Scripted, refuses, says
from support.virtual_run import run, virtual_world


class BoatSpec(Model):
    length: int


class Boat(Resource):
    spec: BoatSpec


BOATS = Kind("sea.example.com", "v1", "Boat", "boats", Boat)
CONFIG_MAPS = Kind("", "v1", "ConfigMap", "configmaps", Untyped)
NODES = Kind("", "v1", "Node", "nodes", Untyped, namespaced=False)
ANY = Call("GET", "/")
UNREACHABLE, LOST = Unreachable(ANY, "refused"), AnswerLost(ANY, "reset")


def boat(name: str = "swan", version: int = 1, length: Any = 7) -> dict[str, Any]:
    metadata = {"namespace": "lake", "name": name, "resourceVersion": str(version), "uid": f"{name}-uid"}
    return {"apiVersion": "sea.example.com/v1", "kind": "Boat", "metadata": metadata, "spec": {"length": length}}


def page(*items: dict[str, Any], version: int = 9, rest: str = "") -> Said:
    return says(200, {"metadata": {"resourceVersion": str(version), "continue": rest}, "items": list(items)})


def line(event: str, content: Any) -> bytes:
    return json.dumps({"type": event, "object": content}).encode() + b"\n"


def client(transport: Scripted, guard: Callable[[], None] = nothing) -> Client:
    return Client(transport, world=virtual_world(), guard=guard)


async def watched(transport: Scripted, **more: Any) -> list[WatchEvent[Boat]]:
    return [event async for event in client(transport).watch(BOATS, resource_version="1", **more)]


async def test_an_object_is_read_into_its_type() -> None:
    transport = Scripted(says(200, boat()))
    found = await client(transport).get(BOATS, "lake", "swan")
    assert found.spec == BoatSpec(length=7)
    assert str(transport.calls[0]) == "GET /apis/sea.example.com/v1/namespaces/lake/boats/swan"


@pytest.mark.parametrize(("namespace", "name"), [("lake", ""), ("", "swan")])
async def test_nothing_is_asked_without_a_name_or_a_namespace(namespace: str, name: str) -> None:
    transport = Scripted()
    for ask in (
        client(transport).get(BOATS, namespace, name),
        client(transport).delete(BOATS, namespace, name),
        client(transport).patch(BOATS, namespace, name, Merge({})),
    ):
        with pytest.raises(ValueError, match=r"no name|none is named"):
            await ask
    assert transport.calls == []


async def test_pages_are_put_together() -> None:
    transport = Scripted(page(boat("a"), rest="more"), page(boat("b"), version=10))
    listing = await client(transport).list(BOATS, labels="x=y")
    assert [each.metadata.name for each in listing.items] == ["a", "b"]
    assert listing.resource_version == "9"
    first, second = (call.query for call in transport.calls)
    assert first == {"labelSelector": "x=y", "limit": "500"}
    assert second == {"labelSelector": "x=y", "limit": "500", "continue": "more"}


async def test_a_list_whose_history_is_lost_between_pages_is_asked_for_at_once() -> None:
    transport = Scripted(page(boat("a"), rest="more"), refuses(410, "Expired"), page(boat("a"), boat("b"), version=12))
    listing = await client(transport).list(BOATS)
    assert len(listing.items) == 2
    assert listing.resource_version == "12"
    assert "limit" not in transport.calls[-1].query


async def test_a_second_loss_is_reported() -> None:
    transport = Scripted(refuses(410, "Expired"), refuses(410, "Expired"))
    with pytest.raises(Expired):
        await client(transport).list(BOATS)


async def test_an_object_that_cannot_be_read_is_named() -> None:
    with pytest.raises(Undecodable, match=r"boats.sea.example.com lake/b cannot be read: .*spec.length"):
        await client(Scripted(page(boat("a"), boat("b", length="long")))).list(BOATS)


async def test_an_object_that_cannot_be_read_does_not_hide_the_others() -> None:
    problems: list[Undecodable] = []
    transport = Scripted(page(boat("a"), boat("b", length="long"), boat("c")))
    listing = await client(transport).list(BOATS, on_problem=problems.append)
    assert [each.metadata.name for each in listing.items] == ["a", "c"]
    assert [str(each.key) for each in problems] == ["lake/b"]


async def test_a_creation_says_what_it_makes_and_who_makes_it() -> None:
    transport = Scripted(says(201, boat()))
    made = Boat(metadata=ObjectMeta(namespace="lake", name="swan"), spec=BoatSpec(length=7))
    await client(transport).create(BOATS, made, dry_run=True)
    assert transport.body["kind"] == "Boat"
    assert transport.body["apiVersion"] == "sea.example.com/v1"
    assert transport.calls[0].query == {"fieldManager": "nagaya", "dryRun": "All"}
    assert transport.calls[0].path == "/apis/sea.example.com/v1/namespaces/lake/boats"


async def test_a_merge_patch_can_be_tied_to_a_version() -> None:
    transport = Scripted(says(200, boat()))
    patch = Merge({"metadata": {"finalizers": ["x"]}}, resource_version="5")
    await client(transport).patch(BOATS, "lake", "swan", patch, subresource="status")
    assert transport.body == {"metadata": {"finalizers": ["x"], "resourceVersion": "5"}}
    assert transport.calls[0].path.endswith("/boats/swan/status")
    assert transport.calls[0].headers["content-type"] == "application/merge-patch+json"


async def test_an_apply_says_who_and_what() -> None:
    transport = Scripted(says(200, boat()))
    await client(transport).patch(BOATS, "lake", "swan", Apply({"spec": {"length": 8}}, "captain", force=False))
    call = transport.calls[0]
    assert call.query == {"fieldManager": "captain", "force": "false"}
    assert transport.body["metadata"] == {"name": "swan", "namespace": "lake"}
    assert transport.body["kind"] == "Boat"


async def test_a_json_patch_is_sent_as_it_is() -> None:
    transport = Scripted(says(200, boat()))
    await client(transport).patch(BOATS, "lake", "swan", JsonPatch([{"op": "remove", "path": "/spec"}]))
    assert transport.body == [{"op": "remove", "path": "/spec"}]


@pytest.mark.parametrize(
    ("answer", "lingers"),
    [
        ({"kind": "Status", "apiVersion": "v1", "status": "Success"}, False),
        ({"metadata": {"deletionTimestamp": "2026-11-01T00:00:00Z", "finalizers": ["x"]}}, True),
        ({"metadata": {"deletionTimestamp": "2026-11-01T00:00:00Z", "deletionGracePeriodSeconds": 30}}, True),
        ({"metadata": {"deletionTimestamp": "2026-11-01T00:00:00Z", "deletionGracePeriodSeconds": 0}}, False),
        ({"metadata": {}}, False),
    ],
)
async def test_a_deletion_tells_whether_the_object_lingers(answer: Any, lingers: bool) -> None:
    left = await client(Scripted(says(200, answer))).delete(CONFIG_MAPS, "lake", "a", uid="u")
    assert (left is not None) == lingers


async def test_a_deletion_carries_its_conditions() -> None:
    transport = Scripted(says(200, {"kind": "Status", "apiVersion": "v1"}))
    await client(transport).delete(
        NODES, "", "n", uid="u", resource_version="3", propagation="Foreground", grace_period=0
    )
    assert transport.body["preconditions"] == {"uid": "u", "resourceVersion": "3"}
    assert transport.body["propagationPolicy"] == "Foreground"
    assert transport.body["gracePeriodSeconds"] == 0


async def test_a_watch_tells_changes_and_bookmarks() -> None:
    bookmark = {"kind": "Boat", "apiVersion": "sea.example.com/v1", "metadata": {"resourceVersion": "44"}}
    lines = line("ADDED", boat(version=2)) + line("BOOKMARK", bookmark) + line("DELETED", boat(version=45))
    transport = Scripted(says(200), chunks=[lines[:30], lines[30:31], lines[31:]])
    events = await watched(transport, labels="a=b", timeout=60)
    assert [(each.type, each.resource_version) for each in events] == [
        ("ADDED", "2"),
        ("BOOKMARK", "44"),
        ("DELETED", "45"),
    ]
    assert events[1].object is None
    query = transport.calls[0].query
    assert query["allowWatchBookmarks"] == "true"
    assert query["resourceVersion"] == "1"
    assert query["timeoutSeconds"] == "60"


async def test_an_error_in_a_watch_is_raised_by_its_class() -> None:
    status = {"kind": "Status", "apiVersion": "v1", "reason": "Expired", "code": 410, "message": "too old"}
    with pytest.raises(Expired, match="too old"):
        await watched(Scripted(says(200), chunks=[line("ERROR", status)]))


async def test_a_watch_goes_on_after_an_object_that_cannot_be_read() -> None:
    problems: list[Undecodable] = []
    chunks = [line("DELETED", boat("b", 3, "long")), line("ADDED", boat("a", 4))]
    events = await watched(Scripted(says(200), chunks=chunks), on_problem=problems.append)
    assert [each.resource_version for each in events] == ["4"]
    assert problems[0].deleted
    assert problems[0].resource_version == "3"


async def test_a_watch_that_breaks_says_so() -> None:
    with pytest.raises(AnswerLost):
        await watched(Scripted(says(200), chunks=[line("ADDED", boat()), LOST]))


@pytest.mark.parametrize("fault", [UNREACHABLE, LOST, refuses(503, "ServiceUnavailable")])
def test_a_watch_is_opened_again_after_faults_that_pass(fault: Said) -> None:
    transport = Scripted(fault, says(200), chunks=[line("ADDED", boat())])
    assert len(run(watched(transport))) == 1
    assert transport.open_streams == 0


async def test_an_answer_that_is_no_kubernetes_is_explained() -> None:
    page = says(200, b"<html>")
    for ask in (
        client(Scripted(page)).get(BOATS, "lake", "swan"),
        client(Scripted(page)).list(BOATS),
        client(Scripted(page)).list(CONFIG_MAPS),
        client(Scripted(page)).delete(BOATS, "lake", "swan"),
        client(Scripted(page)).scale(BOATS, "lake", "swan"),
        watched(Scripted(says(200), chunks=[b"<html>\n"])),
    ):
        with pytest.raises(Undecodable, match="malformed"):
            await ask


async def test_leaving_a_watch_closes_it() -> None:
    transport = Scripted(says(200), chunks=[line("ADDED", boat()), line("ADDED", boat())])
    async with aclosing(client(transport).watch(BOATS, resource_version="1")) as events:
        async for _ in events:
            assert transport.open_streams == 1
            break
    assert transport.open_streams == 0


def test_cancelling_a_watch_closes_it() -> None:
    class Endless(Scripted):
        def __init__(self) -> None:
            super().__init__(says(200))
            self.chunks = ()

        async def hold(self) -> None:
            async for _ in client(self).watch(BOATS, resource_version="1"):
                await asyncio.sleep(3600)

    async def main() -> int:
        transport = Endless()
        transport.chunks = [line("ADDED", boat())]
        task = asyncio.ensure_future(transport.hold())
        await asyncio.sleep(1)
        assert transport.open_streams == 1
        task.cancel()
        await asyncio.wait([task])
        # The generator is closed by the loop, which finds it as soon as nobody refers to it.
        del task
        await asyncio.sleep(0.1)
        return transport.open_streams

    assert run(main()) == 0


@pytest.mark.parametrize("fault", [UNREACHABLE, LOST, refuses(503, "ServiceUnavailable"), refuses(429, "")])
def test_reads_are_tried_again_after_faults_that_pass(fault: Said) -> None:
    transport = Scripted(fault, fault, says(200, boat()))
    assert run(client(transport).get(BOATS, "lake", "swan")).metadata.name == "swan"
    assert len(transport.calls) == 3


@pytest.mark.parametrize(
    "fault", [UNREACHABLE, refuses(429, "TooManyRequests", retry_after="1"), refuses(503, "", retry_after="1")]
)
def test_writes_are_tried_again_if_nothing_was_done(fault: Said) -> None:
    transport = Scripted(fault, says(201, boat()))
    run(client(transport).create(BOATS, boat()))
    assert len(transport.calls) == 2


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (LOST, AnswerLost),
        (refuses(503, "ServiceUnavailable"), ServiceUnavailable),
        (refuses(429, "TooManyRequests"), TooManyRequests),
        (refuses(429, "TooManyRequests", retry_after="600"), TooManyRequests),
        (refuses(403, "Forbidden"), Forbidden),
        (NoCredentials(ANY, "none"), NoCredentials),
    ],
)
def test_writes_that_may_have_taken_effect_are_not_repeated(fault: Said, kind: type[Exception]) -> None:
    transport = Scripted(fault)
    with pytest.raises(kind):
        run(client(transport).create(BOATS, boat()))
    assert len(transport.calls) == 1


def test_a_server_that_stays_away_is_reported_soon() -> None:
    async def main() -> float:
        with pytest.raises(Unreachable):
            await client(Scripted(*[UNREACHABLE] * 4)).get(BOATS, "lake", "swan")
        return asyncio.get_running_loop().time()

    assert 0.7 <= run(main()) <= 1.1


def test_the_time_that_the_server_asks_for_is_kept() -> None:
    async def main() -> float:
        await client(Scripted(refuses(429, "TooManyRequests", retry_after="5"), says(200, boat()))).get(
            BOATS, "lake", "swan"
        )
        return asyncio.get_running_loop().time()

    assert 5 <= run(main()) <= 7.5


def test_leave_to_write_is_asked_for_before_every_attempt() -> None:
    class Revoked(Exception):
        pass

    asked: list[int] = []

    def guard() -> None:
        asked.append(1)
        if len(asked) == 2:
            raise Revoked

    transport = Scripted(UNREACHABLE, says(200, boat()), says(200, boat()))
    with pytest.raises(Revoked):
        run(client(transport, guard).patch(BOATS, "lake", "swan", Merge({})))
    assert len(transport.calls) == 1
    run(client(transport, guard).get(BOATS, "lake", "swan"))
    assert len(asked) == 2
    run(client(transport, guard).unguarded().patch(BOATS, "lake", "swan", Merge({})))
    assert len(asked) == 2


def test_an_eviction_that_a_budget_forbids_is_reported_at_once() -> None:
    answer = refuses(429, "TooManyRequests", retry_after="1", causes=[{"reason": "DisruptionBudget"}])
    transport = Scripted(answer)
    with pytest.raises(TooManyRequests) as caught:
        run(client(transport).evict("lake", "duck", uid="u", grace_period=5))
    assert caught.value.has_cause("DisruptionBudget")
    assert transport.body["deleteOptions"] == {"preconditions": {"uid": "u"}, "gracePeriodSeconds": 5}


async def test_replicas_are_read_and_set_by_the_scale() -> None:
    transport = Scripted(says(200, {"spec": {"replicas": 3}}), says(200, {"spec": {}}))
    assert await client(transport).scale(BOATS, "lake", "swan") == 3
    assert await client(transport).set_scale(BOATS, "lake", "swan", 0) == 0
    assert transport.body == {"spec": {"replicas": 0}}


async def test_a_warning_of_the_server_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    answer = says(200, boat(), warning='299 - "boats are \\"old\\"", 299 - "use ships"')
    transport = Scripted(answer, answer)
    asking = client(transport)
    caplog.set_level("INFO")
    await asking.get(BOATS, "lake", "swan")
    await asking.get(BOATS, "lake", "swan")
    assert caplog.messages == ['the API server warns: boats are "old"', "the API server warns: use ships"]


async def test_every_request_is_counted() -> None:
    told: list[tuple[str, str, int]] = []
    transport = Scripted(says(200, boat()), refuses(403, "Forbidden"))
    asking = Client(transport, world=virtual_world(), told=lambda verb, kind, code, _: told.append((verb, kind, code)))
    await asking.get(BOATS, "lake", "swan")
    with pytest.raises(Forbidden):
        await asking.create(BOATS, boat())
    assert told == [("get", "boats.sea.example.com", 200), ("create", "boats.sea.example.com", 403)]
