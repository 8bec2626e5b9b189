"""The controller at work on the embedded server, with somebody who plays the MachineSet controller."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from nagaya.api.cluster import cluster as clusters
from nagaya.api.cluster import machine as machines
from nagaya.api.cluster import machine_deployment as deployments
from nagaya.api.cluster import machine_set as sets
from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS, MachineDeployment
from nagaya.api.cluster.machine_set import MACHINE_SETS, MachineSet
from nagaya.api.crd import render
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.apiserver.server import ApiServer, Config
from nagaya.cli.in_process import InProcessTransport
from nagaya.core.machine_deployment.controller import controller
from nagaya.kube.cache.cache import Cache
from nagaya.kube.client import Client
from nagaya.kube.conditions import get
from nagaya.kube.contract_kinds import ContractKinds
from nagaya.kube.errors import NotFound
from nagaya.kube.key import Key
from nagaya.kube.manager import Manager
from nagaya.kube.patches import JsonPatch, Merge
from nagaya.kube.recorder import Recorder
from nagaya.kube.remote import Remotes
from nagaya.kube.runtime import Runtime
from nagaya.kube.transport import Answer, AnswerLost, Call
from nagaya.world import World
from support.builders import BOOTSTRAP, CLUSTER, INFRASTRUCTURE, machine_deployment
from support.virtual_run import virtual_world

pytestmark = pytest.mark.slow

DEFAULT = "default"
DEFINITIONS = Kind(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", Untyped, namespaced=False
)


def template_kind(kind: Kind[Untyped]) -> Kind[Untyped]:
    singular = kind.plural.removesuffix("s")
    return Kind(kind.group, kind.version, f"{kind.kind}Template", f"{singular}templates", Untyped)


HOSTS, BOOTS = template_kind(INFRASTRUCTURE), template_kind(BOOTSTRAP)


def provider_definition(kind: Kind[Untyped]) -> dict[str, Any]:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": kind.version, "served": True, "storage": True, "schema": {"openAPIV3Schema": anything}}
    return {
        "metadata": {
            "name": f"{kind.plural}.{kind.group}",
            "labels": {"cluster.x-k8s.io/v1beta2": kind.version},
        },
        "spec": {
            "group": kind.group,
            "scope": "Namespaced",
            "names": {"kind": kind.kind, "plural": kind.plural, "singular": kind.kind.lower()},
            "versions": [version],
        },
    }


class Listening(InProcessTransport):
    """Counts writes, and loses answers on demand."""

    def __init__(self, server: ApiServer) -> None:
        super().__init__(server, user_agent="nagaya")
        self.writes: list[str] = []
        self.lose: list[str] = []
        """Parts of paths: the answer to the first write to each is lost."""

    async def send(self, call: Call) -> Answer:
        answer = await super().send(call)
        if call.method != "GET" and "/events" not in call.path:
            name = call.path.removeprefix("/apis/cluster.x-k8s.io/v1beta2/namespaces/default/")
            self.writes.append(f"{call.method} {name}")
            for part in self.lose:
                if part in call.path:
                    self.lose.remove(part)
                    raise AnswerLost(call, "the connection was reset")
        return answer


@dataclass
class Here:
    """A server with a Cluster and templates, and the controller."""

    user: Client
    manager: Manager
    transport: Listening
    rt: Runtime

    async def settled(self) -> None:
        await self.manager.idle()

    def fresh(self) -> Manager:
        """The same controller in a process that knows nothing yet."""
        return running(self.transport, self.rt.world)[0]

    @property
    def deployment(self) -> MachineDeployment:
        (found,) = self.rt.cache.list(MACHINE_DEPLOYMENTS)
        return found

    @property
    def sets(self) -> list[MachineSet]:
        return sorted(self.rt.cache.list(MACHINE_SETS), key=lambda each: int(_revision(each)))

    def said(self, type: str) -> tuple[str, str, str]:
        found = get(self.deployment.status.conditions, type)
        assert found is not None
        return found.status, found.reason, found.message

    async def deploy(self, **spec: Any) -> None:
        draft = machine_deployment().having(
            spec={
                "replicas": 3,
                "selector": {"matchLabels": {"role": "deckhand"}},
                "template": {"metadata": {"labels": {"role": "deckhand"}}},
                **spec,
            }
        )
        content = {"metadata": {"name": "workers", "namespace": DEFAULT}, "spec": draft.content["spec"]}
        await self.user.create(MACHINE_DEPLOYMENTS, content)
        await self.settled()

    async def change(self, **spec: Any) -> None:
        await self.user.patch(MACHINE_DEPLOYMENTS, DEFAULT, "workers", Merge({"spec": spec}))
        await self.settled()

    async def machines_follow(self) -> None:
        """Every set has as many machines as it shall have, and they work; and so on until nothing changes any more."""
        for _ in range(20):
            behind = [each for each in self.sets if _figures(each) != each.status]
            if not behind:
                return
            wanted = self.deployment.spec.template.spec.version
            for each in behind:
                size = each.spec.replicas or 0
                current = each.spec.template.spec.version == wanted
                status = {
                    "replicas": size,
                    "readyReplicas": size,
                    "availableReplicas": size,
                    "upToDateReplicas": size if current else 0,
                    "observedGeneration": each.metadata.generation,
                }
                patch = Merge({"status": status})
                await self.user.patch(MACHINE_SETS, DEFAULT, each.metadata.name, patch, subresource="status")
            await self.settled()
            if all((each.status.replicas or 0) == each.spec.replicas for each in self.sets):
                return
        raise AssertionError("the sets never come to rest")

    async def release(self) -> None:
        """Sets that are being deleted go."""
        for each in self.sets:
            if each.metadata.deleting:
                patch = JsonPatch([{"op": "remove", "path": "/metadata/finalizers"}])
                await self.user.patch(MACHINE_SETS, DEFAULT, each.metadata.name, patch)
        await self.settled()


def _revision(machine_set: MachineSet) -> str:
    return machine_set.metadata.annotations.get("machinedeployment.clusters.x-k8s.io/revision", "0")


def _figures(machine_set: MachineSet) -> Any:
    size = machine_set.spec.replicas
    return machine_set.status if machine_set.status.replicas == size else None


def running(transport: Listening, world: World) -> tuple[Manager, Runtime]:
    client = Client(transport, world=world)
    cache = Cache(client, world)
    remotes = Remotes(lambda connection: transport, world)
    rt = Runtime(client, cache, ContractKinds(cache), remotes, Recorder(client, world), world)
    manager = Manager(client, world, cache=cache)
    manager.add(controller(rt))
    return manager, rt


@pytest.fixture
async def here() -> AsyncIterator[Here]:
    world = virtual_world()
    server = await ApiServer.start(Config(), world)
    await server.settled()
    user = Client(InProcessTransport(server, user_agent="kubectl"), world=world, field_manager="kubectl")
    for definition in (clusters.DEFINITION, deployments.DEFINITION, sets.DEFINITION, machines.DEFINITION):
        await user.create(DEFINITIONS, render(definition))
    for kind in (HOSTS, BOOTS):
        await user.create(DEFINITIONS, provider_definition(kind))
    await server.settled()
    network = {"controlPlaneEndpoint": {"host": "10.0.0.1", "port": 6443}}
    await user.create(CLUSTERS, {"metadata": {"name": CLUSTER, "namespace": DEFAULT}, "spec": network})
    await user.create(HOSTS, {"metadata": {"name": "host", "namespace": DEFAULT}})
    await user.create(BOOTS, {"metadata": {"name": "boot", "namespace": DEFAULT}})
    transport = Listening(server)
    manager, rt = running(transport, world)
    await manager.start()
    yield Here(user, manager, transport, rt)
    await manager.stop()
    await server.stop()


async def test_a_deployment_becomes_a_set_with_one_write_each(here: Here) -> None:
    await here.deploy()
    (made,) = here.sets
    assert made.spec.replicas == 3
    name = made.metadata.name
    assert here.transport.writes == [
        "PATCH machinedeployments/workers",
        "PATCH /apis/bootstrap.cluster.x-k8s.io/v1/namespaces/default/boatconfigtemplates/boot",
        "PATCH /apis/infrastructure.cluster.x-k8s.io/v1/namespaces/default/boatmachinetemplates/host",
        f"PATCH machinesets/{name}",
        "PATCH machinedeployments/workers/status",
    ]
    metadata = here.deployment.metadata
    assert metadata.finalizers == ("cluster.x-k8s.io/machinedeployment",)
    assert metadata.labels == {"cluster.x-k8s.io/cluster-name": CLUSTER}
    assert metadata.annotations == {"machinedeployment.clusters.x-k8s.io/revision": "1"}
    assert [(each.kind, each.name, each.controller) for each in metadata.owner_references] == [
        ("Cluster", CLUSTER, None)
    ]
    assert here.said("ScalingUp") == ("True", "ScalingUp", "Scaling up from 0 to 3 replicas")
    scale = await here.user.raw("GET", MACHINE_DEPLOYMENTS.path(DEFAULT, "workers", "scale"))
    assert b'"selector":"role=deckhand"' in scale.body.replace(b" ", b"")


async def test_a_rollout_ends_with_one_set_and_then_nothing_is_written(here: Here) -> None:
    await here.deploy()
    await here.machines_follow()
    assert here.said("Available") == ("True", "Available", "")
    await here.change(template={"spec": {"version": "v1.37.0"}})
    assert [(each.spec.replicas, _revision(each)) for each in here.sets] == [(3, "1"), (1, "2")]
    for _ in range(10):
        await here.machines_follow()
    old = here.sets[0]
    assert old.spec.replicas == 0
    assert old.metadata.deleting
    await here.release()
    (left,) = here.sets
    assert (left.spec.replicas, _revision(left)) == (3, "2")
    assert here.deployment.status.phase == "Running"
    before = len(here.transport.writes)
    here.manager.controllers[0].queue.add(Key.of(here.deployment))
    await here.settled()
    assert len(here.transport.writes) == before
    again = here.fresh()
    await again.start()
    await again.idle()
    await again.stop()
    assert len(here.transport.writes) == before


async def test_changes_in_place_reach_the_set_and_leave_it_again(here: Here) -> None:
    await here.deploy()
    await here.machines_follow()
    await here.user.patch(
        MACHINE_SETS, DEFAULT, here.sets[0].metadata.name, Merge({"metadata": {"labels": {"mine": "yes"}}})
    )
    await here.change(
        template={"metadata": {"labels": {"colour": "red"}}, "spec": {"deletion": {"nodeDrainTimeoutSeconds": 60}}}
    )
    (changed,) = here.sets
    assert changed.metadata.labels["colour"] == "red"
    assert changed.spec.template.spec.deletion.node_drain_timeout_seconds == 60
    await here.change(template={"metadata": {"labels": {"colour": None}}, "spec": {"deletion": None}})
    (again,) = here.sets
    assert again.metadata.uid == changed.metadata.uid
    assert "colour" not in again.metadata.labels
    assert "colour" not in again.spec.template.metadata.labels
    assert again.metadata.labels["mine"] == "yes"
    assert again.spec.template.spec.deletion.node_drain_timeout_seconds is None


async def test_lost_answers_make_no_second_set_and_hold_nothing_up(here: Here) -> None:
    here.transport.lose = ["/machinesets/", "/status", "/machinedeployments/workers", "/boatmachinetemplates/"]
    await here.deploy()
    await here.machines_follow()
    assert here.transport.lose == []
    (only,) = here.sets
    assert only.spec.replicas == 3
    assert here.said("Available") == ("True", "Available", "")


async def test_somebody_elses_finalizer_is_left_and_the_end_is_told(here: Here) -> None:
    await here.deploy()
    hold = JsonPatch([{"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/hold"}])
    await here.user.patch(MACHINE_DEPLOYMENTS, DEFAULT, "workers", hold)
    await here.user.delete(MACHINE_DEPLOYMENTS, DEFAULT, "workers")
    await here.settled()
    await here.release()
    assert here.deployment.metadata.finalizers == ("example.com/hold",)
    assert here.said("Deleting") == ("True", "Deleting", "Deletion completed")


async def test_a_missing_template_holds_up_and_its_coming_brings_on(here: Here) -> None:
    await here.user.delete(HOSTS, DEFAULT, "host")
    await here.deploy()
    assert here.sets == []
    assert here.said("ScalingUp")[2] == (
        "Scaling up from 0 to 3 replicas is blocked because BoatMachineTemplate does not exist"
    )
    assert here.deployment.status.observed_generation is None
    await here.user.create(HOSTS, {"metadata": {"name": "host", "namespace": DEFAULT}})
    await here.settled()
    assert len(here.sets) == 1
    assert here.said("ScalingUp")[2] == "Scaling up from 0 to 3 replicas"
    assert here.deployment.status.observed_generation == 1


async def test_a_provider_that_is_installed_later_brings_on(here: Here) -> None:
    rafts = Kind(HOSTS.group, "v1", "RaftTemplate", "rafttemplates", Untyped)
    reference = {"apiGroup": rafts.group, "kind": rafts.kind, "name": "raft"}
    template = machine_deployment().content["spec"]["template"]["spec"]
    labels = {"labels": {"role": "deckhand"}}
    await here.deploy(template={"metadata": labels, "spec": {**template, "infrastructureRef": reference}})
    assert here.said("ScalingUp")[2].endswith("is blocked because RaftTemplate does not exist")
    await here.user.create(DEFINITIONS, provider_definition(rafts))
    await here.settled()
    assert here.sets == []
    await here.user.create(rafts, {"metadata": {"name": "raft", "namespace": DEFAULT}})
    await here.settled()
    assert len(here.sets) == 1


async def test_a_paused_cluster_is_left_alone(here: Here) -> None:
    await here.user.patch(CLUSTERS, DEFAULT, CLUSTER, Merge({"spec": {"paused": True}}))
    await here.settled()
    await here.deploy()
    assert here.transport.writes == ["PATCH machinedeployments/workers/status"]
    assert here.said("Paused") == ("True", "Paused", "Cluster spec.paused is set to true")
    await here.user.patch(CLUSTERS, DEFAULT, CLUSTER, Merge({"spec": {"paused": False}}))
    await here.settled()
    assert here.said("Paused") == ("False", "NotPaused", "")
    assert len(here.sets) == 1


async def test_a_deployment_waits_for_its_cluster(here: Here) -> None:
    await here.user.delete(CLUSTERS, DEFAULT, CLUSTER)
    await here.settled()
    await here.deploy()
    assert here.transport.writes == []
    await here.user.create(CLUSTERS, {"metadata": {"name": CLUSTER, "namespace": DEFAULT}, "spec": {"paused": False}})
    await here.settled()
    assert len(here.sets) == 1


async def test_a_set_that_nobody_controls_is_adopted(here: Here) -> None:
    await here.deploy()
    (made,) = here.sets
    orphaned = JsonPatch([{"op": "remove", "path": "/metadata/ownerReferences"}])
    await here.user.patch(MACHINE_SETS, DEFAULT, made.metadata.name, orphaned)
    await here.settled()
    (adopted,) = here.sets
    assert adopted.metadata.uid == made.metadata.uid
    owner = adopted.metadata.controller
    assert owner is not None
    assert owner.uid == here.deployment.metadata.uid


async def test_deletion_deletes_the_sets_first(here: Here) -> None:
    await here.deploy()
    await here.machines_follow()
    await here.user.delete(MACHINE_DEPLOYMENTS, DEFAULT, "workers")
    await here.settled()
    assert here.said("Deleting") == ("True", "Deleting", "Deleting 1 MachineSets")
    assert here.deployment.status.phase == "ScalingDown"
    await here.release()
    assert here.rt.cache.list(MACHINE_DEPLOYMENTS) == []
    with pytest.raises(NotFound):
        await here.user.get(MACHINE_DEPLOYMENTS, DEFAULT, "workers")


async def test_nothing_is_adopted_or_made_for_a_deployment_that_goes_at_once(here: Here) -> None:
    await here.user.patch(CLUSTERS, DEFAULT, CLUSTER, Merge({"spec": {"paused": True}}))
    await here.settled()
    await here.deploy()
    finalizer = JsonPatch(
        [{"op": "add", "path": "/metadata/finalizers", "value": ["cluster.x-k8s.io/machinedeployment"]}]
    )
    await here.user.patch(MACHINE_DEPLOYMENTS, DEFAULT, "workers", finalizer)
    await here.user.delete(MACHINE_DEPLOYMENTS, DEFAULT, "workers")
    await here.user.patch(CLUSTERS, DEFAULT, CLUSTER, Merge({"spec": {"paused": False}}))
    await here.settled()
    assert here.rt.cache.list(MACHINE_DEPLOYMENTS) == []
    assert here.sets == []
