from __future__ import annotations

import random
from typing import Any

import pytest

from nagaya.apiserver.authz.node_graph import ATTACHMENTS, PODS, SLICES, VOLUMES, Key, NodeGraph
from support.thoroughness import seed_of


def pod(name: str, node: str, *secrets: str, claim: str = "", **metadata: Any) -> dict[str, Any]:
    volumes = [{"name": f"v{number}", "secret": {"secretName": each}} for number, each in enumerate(secrets)]
    if claim:
        volumes.append({"name": "c", "persistentVolumeClaim": {"claimName": claim}})
    spec = {"nodeName": node, "serviceAccountName": "sa", "volumes": volumes}
    return {"metadata": {"name": name, "namespace": "n", **metadata}, "spec": spec}


def volume(name: str, claim: str, **source: Any) -> dict[str, Any]:
    spec = {**source, "claimRef": {"namespace": "n", "name": claim}} if claim else source
    return {"metadata": {"name": name}, "spec": spec}


def secret(name: str, namespace: str = "n") -> Key:
    return Key("secrets", namespace, name)


@pytest.fixture
def graph() -> NodeGraph:
    return NodeGraph()


def test_what_a_pod_uses_belongs_to_its_node(graph: NodeGraph) -> None:
    graph.upsert(PODS, pod("p", "n1", "s", "s", claim="c"))
    for key in (Key("pods", "n", "p"), secret("s"), Key("serviceaccounts", "n", "sa")):
        assert graph.connects("n1", key)
        assert not graph.connects("n2", key)
    assert graph.connects("n1", Key("persistentvolumeclaims", "n", "c"))
    assert not graph.connects("n1", secret("s", "other"))


def test_a_pod_that_leaves_takes_its_relations_with_it(graph: NodeGraph) -> None:
    graph.upsert(PODS, pod("p", "n1", "s"))
    graph.upsert(PODS, pod("q", "n1", "s"))
    graph.delete(PODS, "n", "p")
    assert graph.connects("n1", secret("s"))
    graph.delete(PODS, "n", "q")
    assert not graph.connects("n1", secret("s"))
    graph.delete(PODS, "n", "q")


def test_a_pod_without_a_node_belongs_to_none(graph: NodeGraph) -> None:
    graph.upsert(PODS, pod("p", "", "s"))
    assert not graph.connects("", secret("s"))


def test_a_mirror_leads_to_nothing_but_itself(graph: NodeGraph) -> None:
    graph.upsert(PODS, pod("p", "n1", "s", annotations={"kubernetes.io/config.mirror": "x"}))
    assert graph.connects("n1", Key("pods", "n", "p"))
    assert not graph.connects("n1", secret("s"))


def test_a_volume_belongs_to_where_its_claim_is_used(graph: NodeGraph) -> None:
    graph.upsert(VOLUMES, volume("pv", "c"))
    key = Key("persistentvolumes", "", "pv")
    assert not graph.connects("n1", key)
    graph.upsert(PODS, pod("p", "n1", claim="c"))
    assert graph.connects("n1", key)
    graph.upsert(VOLUMES, volume("pv", "other"))
    assert not graph.connects("n1", key)


@pytest.mark.parametrize(
    ("source", "key"),
    [
        ({"csi": {"nodeStageSecretRef": {"namespace": "x", "name": "s"}}}, secret("s", "x")),
        ({"csi": {"nodePublishSecretRef": {"namespace": "x", "name": "s"}}}, secret("s", "x")),
        ({"rbd": {"secretRef": {"name": "s"}}}, secret("s")),
        ({"rbd": {"secretRef": {"name": "s", "namespace": "x"}}}, secret("s", "x")),
        ({"azureFile": {"secretName": "s"}}, secret("s")),
        ({"azureFile": {"secretName": "s", "secretNamespace": "x"}}, secret("s", "x")),
        ({"cinder": {"secretRef": {"name": "s", "namespace": "x"}}}, secret("s", "x")),
    ],
)
def test_the_secrets_of_a_volume_go_with_it(graph: NodeGraph, source: dict[str, Any], key: Key) -> None:
    graph.upsert(VOLUMES, volume("pv", "c", **source))
    graph.upsert(PODS, pod("p", "n1", claim="c"))
    assert graph.connects("n1", key)
    graph.delete(VOLUMES, "", "pv")
    assert not graph.connects("n1", key)


def test_secrets_for_controllers_are_not_for_nodes(graph: NodeGraph) -> None:
    graph.upsert(VOLUMES, volume("pv", "c", csi={"controllerPublishSecretRef": {"namespace": "n", "name": "s"}}))
    graph.upsert(PODS, pod("p", "n1", claim="c"))
    assert not graph.connects("n1", secret("s"))


def test_attachments_and_slices_name_their_node(graph: NodeGraph) -> None:
    for resource in (ATTACHMENTS, SLICES):
        graph.upsert(resource, {"metadata": {"name": "a"}, "spec": {"nodeName": "n1"}})
        assert graph.connects("n1", Key(resource, "", "a"))
        graph.upsert(resource, {"metadata": {"name": "a"}, "spec": {"nodeName": "n2"}})
        assert not graph.connects("n1", Key(resource, "", "a"))
        assert graph.connects("n2", Key(resource, "", "a"))


def test_replacing_forgets_what_was_there(graph: NodeGraph) -> None:
    graph.upsert(PODS, pod("p", "n1", "s", claim="c"))
    graph.upsert(VOLUMES, volume("pv", "c"))
    graph.replace(PODS, [pod("q", "n1", "t")])
    assert not graph.connects("n1", secret("s"))
    assert graph.connects("n1", secret("t"))
    graph.replace(PODS, [pod("q", "n1", claim="c")])
    graph.replace(VOLUMES, [])
    assert not graph.connects("n1", Key("persistentvolumes", "", "pv"))


def test_nothing_is_left_behind() -> None:
    """After any history, an emptied graph holds nothing, or it would grow for as long as the server runs."""
    chance, graph = random.Random(seed_of(1)), NodeGraph()
    names = ["a", "b", "c"]
    for _ in range(300):
        name, node = chance.choice(names), chance.choice(["n1", "n2", ""])
        choice = chance.random()
        if choice < 0.4:
            graph.upsert(PODS, pod(name, node, *chance.sample(names, 2), claim=chance.choice(["", "c"])))
        elif choice < 0.6:
            graph.upsert(
                VOLUMES, volume(name, chance.choice(["", "c"]), rbd={"secretRef": {"name": chance.choice(names)}})
            )
        else:
            graph.delete(chance.choice([PODS, VOLUMES]), "n", name)
    for name in names:
        graph.delete(PODS, "n", name)
        graph.delete(VOLUMES, "", name)
    assert all(not part for part in vars(graph).values())
