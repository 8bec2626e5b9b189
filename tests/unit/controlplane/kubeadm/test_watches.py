from __future__ import annotations

from typing import Any

from nagaya.api.bootstrap.kubeadm_config import KUBEADM_CONFIGS
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.controlplane.kubeadm_control_plane import KUBEADM_CONTROL_PLANES
from nagaya.api.untyped import Untyped
from nagaya.controlplane.kubeadm.watches import OfConfig, OfKind, OfOthers, OfTemplate, of_cluster
from nagaya.kube.cache.cache import Cache
from nagaya.kube.cache.change import Change
from nagaya.kube.client import Client
from nagaya.kube.contract_kinds import DEFINITIONS
from nagaya.kube.key import Key
from nagaya.world import World
from support.builders import NAMESPACE, machine
from unit.controlplane.kubeadm.examples import NAME, TEMPLATES, cluster, config, kcp, pilot, template

BRIDGE = Key(NAMESPACE, NAME)


def cache() -> Cache:
    """A cache with the cluster and its control plane."""
    world = World()
    held = Cache(Client(None, world=world), world)  # type: ignore[arg-type]  # nothing is asked for
    held.start(CLUSTERS)
    held.start(KUBEADM_CONTROL_PLANES)
    held.wrote(CLUSTERS, cluster())
    held.wrote(KUBEADM_CONTROL_PLANES, kcp().made())
    return held


def test_a_cluster_is_news_when_it_becomes_ready_or_is_paused_and_not_when_it_counts() -> None:
    def news(**parts: Any) -> list[Key]:
        before, after = cluster(), cluster(**parts)
        return [*of_cluster(Change(before, after))]

    assert news(spec={"paused": True}) == [BRIDGE]
    assert news(status={"failureDomains": [{"name": "a", "controlPlane": True}]}) == [BRIDGE]
    assert news(status={"phase": "Provisioned"}) == []
    other = {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "OtherControlPlane", "name": "x"}
    assert [*of_cluster(Change[Cluster](None, cluster(spec={"controlPlaneRef": other})))] == []


def test_workers_matter_when_they_are_gone_and_control_plane_machines_when_they_change_hands() -> None:
    of = OfOthers(cache())
    worker = machine("w").made()
    assert [*of(Change(None, worker))] == []
    assert [*of(Change(worker, None))] == [BRIDGE]
    alone = pilot("a").having(metadata={"ownerReferences": []}).it
    assert [*of(Change(None, alone))] == [BRIDGE]
    assert [*of(Change(alone, alone))] == []
    assert [*of(Change(alone, pilot("a").it))] == [BRIDGE]


def test_configurations_matter_unless_only_their_status_changed() -> None:
    of = OfConfig(cache())
    plain = config("a")
    done = KUBEADM_CONFIGS.convert({**KUBEADM_CONFIGS.content(plain), "status": {"dataSecretName": "a"}})
    assert [*of(Change(None, plain))] == [BRIDGE]
    assert [*of(Change(plain, done))] == []


def test_a_template_and_its_kind_matter_to_those_that_use_them() -> None:
    held = cache()
    found = template().object
    assert found is not None
    assert [*OfTemplate(held)(Change(None, found))] == [BRIDGE]
    other = Untyped({**found.raw, "metadata": {"name": "raft", "namespace": NAMESPACE}})
    assert [*OfTemplate(held)(Change(None, other))] == []

    def definition(kind: str) -> Any:
        names = {"kind": kind, "plural": f"{kind.lower()}s"}
        return DEFINITIONS.convert({"metadata": {"name": kind}, "spec": {"group": TEMPLATES.group, "names": names}})

    assert [*OfKind(held)(Change(None, definition("BoatMachineTemplate")))] == [BRIDGE]
    assert [*OfKind(held)(Change(None, definition("BoatMachine")))] == [BRIDGE]
    assert [*OfKind(held)(Change(None, definition("RaftMachine")))] == []
