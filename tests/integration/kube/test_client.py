"""The client against three servers: embedded without a network, embedded over HTTPS with its kubeconfig, and the real
kube-apiserver. Every test is the same for all of them."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any

import pytest

from nagaya.api.kind import Kind, Resource
from nagaya.api.meta import NONE, ObjectMeta
from nagaya.api.untyped import Untyped
from nagaya.apiserver.server import ApiServer
from nagaya.cli.in_process import InProcessTransport
from nagaya.kube import kubeconfig
from nagaya.kube.client import Client, WatchEvent
from nagaya.kube.connection import Connection
from nagaya.kube.election import LEASES, Election, LostLeadership
from nagaya.kube.errors import (
    AlreadyExists,
    BadRequest,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
)
from nagaya.kube.http import HttpTransport
from nagaya.kube.patches import Apply, JsonPatch, Merge
from nagaya.kube.recorder import EVENTS, Recorder
from nagaya.kube.transport import Transport
from nagaya.world import World
from support.real import RealControlPlane
from support.running_server import RunningServer
from support.waiting import eventually

PATIENCE = 120.0
SERVERS = ["in-process", "embedded", "real"]
NAMESPACES = Kind("", "v1", "Namespace", "namespaces", Untyped, namespaced=False)
PODS = Kind("", "v1", "Pod", "pods", Untyped)
DEPLOYMENTS = Kind("apps", "v1", "Deployment", "deployments", Untyped)
BUDGETS = Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", Untyped)


class ConfigMap(Resource):
    data: Mapping[str, str] = NONE
    immutable: bool | None = None


CONFIG_MAPS = Kind("", "v1", "ConfigMap", "configmaps", ConfigMap)


@pytest.fixture(params=SERVERS)
async def transport(request: pytest.FixtureRequest) -> AsyncIterator[Transport]:
    if request.param == "real":
        plane: RealControlPlane = request.getfixturevalue("real_control_plane")
        way: Transport = HttpTransport(kubeconfig.load(plane.kubeconfig), world=World())
        yield way
        await way.close()
        return
    server = await ApiServer.start()
    if request.param == "embedded":
        await server.listen()
        way = HttpTransport(kubeconfig.parse(server.kubeconfig()), world=World())
    else:
        way = InProcessTransport(server)
    yield way
    await way.close()
    await server.stop()


@pytest.fixture
def client(transport: Transport) -> Client:
    return Client(transport, world=World())


@pytest.fixture
async def namespace(client: Client) -> AsyncIterator[str]:
    name = f"test-{uuid.uuid4().hex[:8]}"
    await client.create(NAMESPACES, {"metadata": {"name": name}})
    yield name
    await client.delete(NAMESPACES, "", name)


def config_map(namespace: str, name: str = "settings", **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(namespace=namespace, name=name), data=data)


async def test_an_object_lives_and_dies(client: Client, namespace: str) -> None:
    made = await client.create(CONFIG_MAPS, config_map(namespace, colour="red"))
    assert made.data == {"colour": "red"}
    assert made.metadata.uid
    assert await client.get(CONFIG_MAPS, namespace, "settings") == made
    assert await client.delete(CONFIG_MAPS, namespace, "settings", uid=made.metadata.uid) is None
    with pytest.raises(NotFound, match=r'configmaps "settings" not found'):
        await client.get(CONFIG_MAPS, namespace, "settings")


async def test_refusals_have_their_class(client: Client, namespace: str) -> None:
    made = await client.create(CONFIG_MAPS, config_map(namespace))
    with pytest.raises(AlreadyExists):
        await client.create(CONFIG_MAPS, config_map(namespace))
    with pytest.raises(Invalid) as invalid:
        await client.create(CONFIG_MAPS, config_map(namespace, "Not A Name"))
    assert invalid.value.has_cause("FieldValueInvalid")
    with pytest.raises(Conflict):
        await client.patch(CONFIG_MAPS, namespace, "settings", Merge({"data": {"a": "b"}}, resource_version="1"))
    with pytest.raises(Conflict):
        await client.delete(CONFIG_MAPS, namespace, "settings", uid="another")
    with pytest.raises(Conflict):
        await client.delete(CONFIG_MAPS, namespace, "settings", resource_version="1")
    with pytest.raises(BadRequest):
        await client.list(CONFIG_MAPS, namespace, labels="a b c")
    with pytest.raises(NotFound):
        await client.raw("GET", "/apis/nowhere.example.com/v1/things")
    assert await client.get(CONFIG_MAPS, namespace, "settings") == made


async def test_objects_change_by_all_three_kinds_of_patches(client: Client, namespace: str) -> None:
    made = await client.create(CONFIG_MAPS, config_map(namespace, a="1", b="2"))
    patch = Merge({"data": {"a": None, "c": "3"}}, resource_version=made.metadata.resource_version)
    assert (await client.patch(CONFIG_MAPS, namespace, "settings", patch)).data == {"b": "2", "c": "3"}
    operations = [{"op": "test", "path": "/data/b", "value": "2"}, {"op": "remove", "path": "/data/b"}]
    assert (await client.patch(CONFIG_MAPS, namespace, "settings", JsonPatch(operations))).data == {"c": "3"}
    with pytest.raises(Conflict, match="conflict"):
        await client.patch(CONFIG_MAPS, namespace, "settings", Apply({"data": {"c": "4"}}, "other", force=False))
    applied = await client.patch(CONFIG_MAPS, namespace, "settings", Apply({"data": {"c": "4", "d": "5"}}, "other"))
    assert applied.data == {"c": "4", "d": "5"}
    applied = await client.patch(CONFIG_MAPS, namespace, "settings", Apply({"data": {"c": "4"}}, "other"))
    assert applied.data == {"c": "4"}
    created = await client.patch(CONFIG_MAPS, namespace, "by-apply", Apply({"data": {"x": "y"}}, "other"))
    assert created.metadata.name == "by-apply"


async def test_an_apply_that_changes_nothing_keeps_the_version(client: Client, namespace: str) -> None:
    patch = Apply({"data": {"x": "y"}}, "other")
    one = await client.patch(CONFIG_MAPS, namespace, "settings", patch)
    other = await client.patch(CONFIG_MAPS, namespace, "settings", patch)
    assert one.metadata.resource_version == other.metadata.resource_version


async def test_a_dry_run_leaves_nothing_behind(client: Client, namespace: str) -> None:
    assert (await client.create(CONFIG_MAPS, config_map(namespace), dry_run=True)).metadata.uid
    with pytest.raises(NotFound):
        await client.get(CONFIG_MAPS, namespace, "settings")


async def test_lists_are_whole_whatever_the_page(client: Client, namespace: str) -> None:
    for number in range(7):
        metadata = ObjectMeta(namespace=namespace, name=f"map-{number}", labels={"odd": str(number % 2)})
        await client.create(CONFIG_MAPS, ConfigMap(metadata=metadata))
    listings = [await client.list(CONFIG_MAPS, namespace, page=page, labels="odd") for page in (0, 1, 3, 7, 500)]
    for listing in listings:
        assert [each.metadata.name for each in listing.items] == [f"map-{number}" for number in range(7)]
        assert int(listing.resource_version) >= int(listing.items[-1].metadata.resource_version)
    assert len((await client.list(CONFIG_MAPS, namespace, labels="odd=1", page=2)).items) == 3
    assert len((await client.list(CONFIG_MAPS, namespace, fields="metadata.name=map-3")).items) == 1
    assert {each.metadata.namespace for each in (await client.list(CONFIG_MAPS)).items} >= {namespace, "kube-system"}


async def test_finalizers_let_an_object_linger(client: Client, namespace: str) -> None:
    metadata = ObjectMeta(namespace=namespace, name="settings", finalizers=("example.com/wait",))
    made = await client.create(CONFIG_MAPS, ConfigMap(metadata=metadata))
    left = await client.delete(CONFIG_MAPS, namespace, "settings")
    assert left is not None
    assert left.metadata.deleting
    assert left.metadata.uid == made.metadata.uid
    await client.patch(CONFIG_MAPS, namespace, "settings", Merge({"metadata": {"finalizers": None}}))
    with pytest.raises(NotFound):
        await client.get(CONFIG_MAPS, namespace, "settings")
    await client.create(CONFIG_MAPS, config_map(namespace))
    foreground = await client.delete(CONFIG_MAPS, namespace, "settings", propagation="Foreground")
    assert foreground is None or foreground.metadata.finalizers == ("foregroundDeletion",)


async def test_a_watch_tells_every_change_in_order(client: Client, namespace: str) -> None:
    start = (await client.list(CONFIG_MAPS, namespace)).resource_version
    seen: list[tuple[str, str]] = []

    async def watch() -> None:
        async with aclosing(client.watch(CONFIG_MAPS, namespace, resource_version=start, labels="told")) as events:
            async for event in events:
                if event.type == "BOOKMARK":
                    continue
                assert event.object is not None
                seen.append((event.type, event.object.data.get("n", "")))
                if event.type == "DELETED":
                    return

    watching = asyncio.create_task(watch())
    metadata = ObjectMeta(namespace=namespace, name="told", labels={"told": "yes"})
    await client.create(CONFIG_MAPS, ConfigMap(metadata=metadata, data={"n": "1"}))
    await client.create(CONFIG_MAPS, config_map(namespace, "untold"))
    await client.patch(CONFIG_MAPS, namespace, "told", Merge({"data": {"n": "2"}}))
    await client.delete(CONFIG_MAPS, namespace, "told")
    async with asyncio.timeout(PATIENCE):
        await watching
    assert seen == [("ADDED", "1"), ("MODIFIED", "2"), ("DELETED", "2")]


async def test_a_watch_ends_by_itself(client: Client, namespace: str) -> None:
    # Only of one that nobody makes: a real cluster puts its authority into every new namespace.
    chosen = "metadata.name=nobody"
    start = (await client.list(CONFIG_MAPS, namespace, fields=chosen)).resource_version
    async with asyncio.timeout(PATIENCE):
        watch = client.watch(CONFIG_MAPS, namespace, resource_version=start, fields=chosen, timeout=1)
        events = [event async for event in watch]
    assert all(event.type == "BOOKMARK" for event in events)


async def test_a_watch_that_is_refused_says_why(client: Client, namespace: str) -> None:
    with pytest.raises(ServerError, match='resourceVersion: Invalid value: "nonsense"'):
        await _first(client.watch(CONFIG_MAPS, namespace, resource_version="nonsense"))


async def _first(events: Any) -> WatchEvent[Any]:
    async with aclosing(events):
        return await anext(events)


async def test_large_objects_pass_in_both_directions(client: Client, namespace: str) -> None:
    start = (await client.list(CONFIG_MAPS, namespace, fields="metadata.name=large")).resource_version
    text = "ü" * 450_000
    await client.create(CONFIG_MAPS, config_map(namespace, "large", text=text))
    assert (await client.get(CONFIG_MAPS, namespace, "large")).data["text"] == text
    async with asyncio.timeout(PATIENCE):
        event = await _first(client.watch(CONFIG_MAPS, namespace, resource_version=start, fields="metadata.name=large"))
    assert event.object is not None
    assert event.object.data["text"] == text


async def test_many_calls_at_once(client: Client, namespace: str) -> None:
    made = await asyncio.gather(
        *(client.create(CONFIG_MAPS, config_map(namespace, f"map-{number}")) for number in range(50))
    )
    assert len({each.metadata.uid for each in made}) == 50


async def test_replicas_are_set_by_the_scale(client: Client, namespace: str) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    await client.create(DEPLOYMENTS, {"metadata": {"namespace": namespace, "name": "d"}, "spec": spec})
    assert await client.scale(DEPLOYMENTS, namespace, "d") == 0
    assert await client.set_scale(DEPLOYMENTS, namespace, "d", 3) == 3
    assert await client.scale(DEPLOYMENTS, namespace, "d") == 3
    assert (await client.get(DEPLOYMENTS, namespace, "d")).at("spec", "replicas") == 3


async def test_status_is_changed_apart(client: Client, namespace: str) -> None:
    metadata = {"namespace": namespace, "name": "b"}
    await client.create(BUDGETS, {"metadata": metadata, "spec": {"minAvailable": 1, "selector": {}}})
    patch = Merge({"spec": {"minAvailable": 5}, "status": {"disruptionsAllowed": 0, "expectedPods": 1}})
    changed = await client.patch(BUDGETS, namespace, "b", patch, subresource="status")
    assert changed.at("status", "expectedPods") == 1
    assert changed.at("spec", "minAvailable") == 1


async def test_a_pod_goes_only_if_its_budget_allows_it(client: Client, namespace: str) -> None:
    metadata = {"namespace": namespace, "name": "p", "labels": {"a": "b"}}
    spec: dict[str, Any] = {
        "containers": [{"name": "c", "image": "i"}],
        "serviceAccountName": "default",
        "nodeName": "n",
    }
    spec |= {"automountServiceAccountToken": False, "terminationGracePeriodSeconds": 0}
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                pod = await client.create(PODS, {"metadata": metadata, "spec": spec})
                break
            except Forbidden:  # the service account of a new namespace takes a moment
                await asyncio.sleep(0.1)
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await client.patch(PODS, namespace, "p", Merge({"status": ready}), subresource="status")
    budget = {"metadata": {"namespace": namespace, "name": "b"}}
    made = await client.create(
        BUDGETS, {**budget, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}}
    )
    figures = {"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
    patch = Merge({"status": {**figures, "observedGeneration": made.metadata.generation}})
    await client.patch(BUDGETS, namespace, "b", patch, subresource="status")
    with pytest.raises(TooManyRequests, match="disruption budget") as caught:
        await client.evict(namespace, "p", uid=pod.metadata.uid)
    assert caught.value.has_cause("DisruptionBudget")
    await client.delete(BUDGETS, namespace, "b")
    with pytest.raises(Conflict):
        await client.evict(namespace, "p", uid="another")
    await client.evict(namespace, "p", uid=pod.metadata.uid)
    with pytest.raises(NotFound):
        await client.get(PODS, namespace, "p")


async def test_an_election_works_here_too(client: Client, namespace: str) -> None:
    world = World()
    first = Election(client, world, namespace, "leader", "first")
    second = Election(client, world, namespace, "leader", "second")
    await first.acquire()
    first.guard()
    waiting = asyncio.create_task(second.acquire())
    await eventually(lambda: second.leader == "first")
    await asyncio.sleep(0.1)  # shows that nothing happens
    assert not waiting.done()
    with pytest.raises(LostLeadership):
        second.guard()
    await first.release()
    async with asyncio.timeout(PATIENCE):
        await waiting
    lease = await client.get(LEASES, namespace, "leader")
    assert lease.spec.holder_identity == "second"
    assert lease.spec.lease_transitions == 1
    await second.release()


async def test_events_are_taken_here_too(client: Client, namespace: str) -> None:
    recorder = Recorder(client, World())
    obj = await client.create(CONFIG_MAPS, config_map(namespace))
    for _ in range(2):
        recorder.normal(CONFIG_MAPS, obj, "Made", "The map was made.")
        await recorder.flush()
    recorder.normal(CONFIG_MAPS, obj, "Made", "The map was made.")
    (event,) = (await client.list(EVENTS, namespace, fields=f"regarding.uid={obj.metadata.uid}")).items
    assert event.at("note") == "The map was made."
    assert event.at("series", "count") == 2


async def test_who_is_not_known_is_told_so(transport: Transport) -> None:
    if not isinstance(transport, HttpTransport):
        pytest.skip("who calls within the process is known")
    known = transport.connection
    stranger = HttpTransport(
        Connection(known.server, authority=known.authority, token="wrong"),
        world=World(),
    )
    with pytest.raises(Unauthorized):
        await Client(stranger, world=World()).list(CONFIG_MAPS)
    await stranger.close()


async def test_a_plain_user_may_little() -> None:
    server = await ApiServer.start()
    client = Client(InProcessTransport(server, "bob", ()), world=World())
    with pytest.raises(Forbidden, match='User "bob" cannot list resource "configmaps"'):
        await client.list(CONFIG_MAPS, "default")
    await server.stop()


async def test_a_server_that_comes_back_is_used_again() -> None:
    with RunningServer() as process:
        transport = HttpTransport(kubeconfig.load(process.kubeconfig), world=World())
        client = Client(transport, world=World())
        made = await client.create(CONFIG_MAPS, config_map("default"))
        process.kill()
        process.start()
        assert await client.get(CONFIG_MAPS, "default", "settings") == made
        await client.close()


async def test_a_namespace_lingers_until_it_is_empty(client: Client) -> None:
    name = f"room-{uuid.uuid4().hex[:8]}"
    await client.create(NAMESPACES, {"metadata": {"name": name}})
    left = await client.delete(NAMESPACES, "", name)
    assert left is not None
    assert left.metadata.deleting
