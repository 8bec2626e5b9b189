"""The number of replicas is held to the rules of its kind through the scale subresource, too."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
import pytest

from nagaya.api.admission.catalog import ADMISSION
from nagaya.api.catalog import PARTS
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.apiserver.server import ApiServer, Config
from nagaya.blueprints.applying import create, examine
from nagaya.blueprints.blueprint import blueprint
from nagaya.blueprints.wish import KUBEADM, SIMULATED, Wish
from nagaya.cli.admission import AdmissionServer
from nagaya.cli.in_process import InProcessTransport
from nagaya.cli.plane import install
from nagaya.kube import patches
from nagaya.kube.client import Client
from nagaya.kube.errors import Invalid
from nagaya.kube.patches import Merge
from nagaya.world import World
from support.prepared import start_prepared

SCALED = {str(each.kind): each for part in PARTS.values() for each in part if each.scale is not None}


def untyped(resource: str) -> Kind[Untyped]:
    kind = SCALED[resource].kind
    return Kind(kind.group, kind.version, kind.kind, kind.plural, Untyped, kind.namespaced)


PLANES = untyped("kubeadmcontrolplanes.controlplane.cluster.x-k8s.io")


@pytest.fixture(params=["in the process", pytest.param("webhook", marks=pytest.mark.slow)])
async def client(request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    """A management API with a cluster of three control plane machines, without controllers."""
    world = World()
    webhook = None
    server = await (start_prepared(world) if request.param != "webhook" else ApiServer.start(Config(), world))
    client = Client(InProcessTransport(server), world=world, field_manager="test")
    if request.param == "webhook":
        definitions = [each for part in ("core", "controlplane-kubeadm") for each in PARTS[part]]
        await install(client, list(PARTS))
        webhook = AdmissionServer(client, world, definitions)
        await webhook.start("127.0.0.1", 0)
    wish = Wish("shop", "default", "v1.36.3", SIMULATED, KUBEADM, workers=2, control_planes=3)
    await create(client, await examine(client, blueprint(wish)))
    yield client
    if webhook is not None:
        await webhook.stop()
    await client.close()
    await server.stop()


async def scale(client: Client, content_type: str, replicas: int) -> None:
    """Write the number as kubectl and autoscalers do."""
    shown = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "shop"}}
    path = PLANES.path("default", "shop", "scale")
    if content_type == patches.JSON:
        operation = {"op": "replace", "path": "/spec/replicas", "value": replicas}
        content = msgspec.json.encode([operation])
    else:
        content = msgspec.json.encode({**shown, "spec": {"replicas": replicas}})
    query = {"fieldManager": "somebody", "force": "true"} if content_type == patches.APPLY else {}
    method = "PUT" if content_type == "application/json" else "PATCH"
    await client.raw(method, path, query=query, content=content, content_type=content_type)


@pytest.mark.parametrize(("replicas", "why"), [(2, "even number"), (0, "less than or equal to 0"), (4, "even number")])
async def test_a_control_plane_gets_no_bad_number_of_etcd_members(client: Client, replicas: int, why: str) -> None:
    for content_type in (patches.MERGE, patches.JSON, patches.APPLY, "application/json"):
        with pytest.raises(Invalid, match=rf"spec\.replicas.*{why}"):
            await scale(client, content_type, replicas)
    assert (await client.get(PLANES, "default", "shop")).at("spec", "replicas") == 3


@pytest.mark.parametrize("replicas", [1, 5])
async def test_a_good_number_is_taken(client: Client, replicas: int) -> None:
    await scale(client, patches.MERGE, replicas)
    assert (await client.get(PLANES, "default", "shop")).at("spec", "replicas") == replicas


async def test_a_control_plane_whose_machines_need_three_is_not_scaled_below(client: Client) -> None:
    surge = {"spec": {"rollout": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}}}}}
    await client.patch(PLANES, "default", "shop", Merge(surge))
    with pytest.raises(Invalid, match="replica count needs to be at least 3"):
        await scale(client, patches.MERGE, 1)


def test_every_kind_that_can_be_scaled_has_rules() -> None:
    assert SCALED.keys() <= ADMISSION.keys()
    assert len(SCALED) >= 4


def test_faults_that_an_object_has_anyway_do_not_keep_it_from_being_scaled() -> None:
    rules = ADMISSION[str(PLANES)]
    stored = {"metadata": {"name": "shop"}, "spec": {"replicas": 2, "version": "unusable"}}
    assert {fault.field for fault in rules.validate(stored, stored)} > {"spec.replicas", "spec.version"}
    assert rules.scale(stored, {"spec": {"replicas": 3}}) == []
    assert [fault.field for fault in rules.scale(stored, {"spec": {"replicas": 4}})] == ["spec.replicas"]
    assert {fault.field for fault in rules.scale(stored, {"spec": {}})} == {"spec.replicas"}


def test_only_external_etcd_allows_an_even_number() -> None:
    rules, external = ADMISSION[str(PLANES)], {"external": {"endpoints": ["https://10.0.0.5:2379"]}}
    for etcd, faults in ((external, []), ({"local": {}}, ["spec.replicas"])):
        spec = {"replicas": 3, "kubeadmConfigSpec": {"clusterConfiguration": {"etcd": etcd}}}
        stored = {"metadata": {"name": "shop"}, "spec": spec}
        assert [fault.field for fault in rules.scale(stored, {"spec": {"replicas": 2}})] == faults
        assert rules.scale(stored, {"spec": {"replicas": 0}}) != []
