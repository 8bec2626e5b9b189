from __future__ import annotations

from collections.abc import AsyncIterator
from random import Random
from typing import Any

import pytest
from msgspec import structs

from nagaya.api.cluster.machine import MACHINES
from nagaya.api.cluster.machine_set import MACHINE_SETS
from nagaya.core.machine.which import Machines
from nagaya.kube.cache.cache import Cache
from nagaya.kube.cache.change import Change
from nagaya.kube.contract_kinds import DEFINITIONS
from nagaya.kube.key import Key
from nagaya.world import World
from support.builders import (
    BOOTSTRAP,
    CLUSTER,
    INFRASTRUCTURE,
    NAMESPACE,
    Draft,
    cluster,
    machine,
    machine_deployment,
    machine_set,
    provider,
)
from support.deletion_seen import rule
from support.kube import FakeServer
from support.machine_seen import node
from support.standing_clock import StandingClock

A, B = Key(NAMESPACE, "a"), Key(NAMESPACE, "b")
HARBOUR = Key(NAMESPACE, CLUSTER)
SET = machine_set().made()


@pytest.fixture
async def machines() -> AsyncIterator[Machines]:
    """Machine a runs and is of a MachineDeployment; b is new and of nobody; c is of another cluster."""
    world = World(StandingClock(), Random(1))
    cache = Cache(FakeServer().client(world), world)
    found = Machines(cache)
    for draft in (
        machine("a").of_deployment(SET).running(),
        machine("b"),
        machine("c").having(spec={"clusterName": "island"}).running(),
    ):
        cache.wrote(MACHINES, draft.made())
    yield found
    await cache.close()


def changed(before: Draft[Any], after: Draft[Any]) -> Change[Any]:
    return Change(before.made(), after.made())


def test_only_what_concerns_machines_is_news_of_a_cluster(machines: Machines) -> None:
    for news in (
        cluster().having(spec={"paused": True}),
        cluster().deleting(),
        cluster().having(status={"initialization": None}),
        cluster().reporting("ControlPlaneInitialized", "False"),
    ):
        assert [*machines.of_cluster(changed(cluster(), news))] == [A, B]
    counted = cluster().having(status={"workers": {"replicas": 3}}).reporting("Available", "True")
    assert [*machines.of_cluster(changed(cluster(), counted))] == []
    assert [*machines.of_cluster(Change(None, cluster().made()))] == [A, B]


def test_only_the_template_and_the_revision_are_news_of_a_machine_set(machines: Machines) -> None:
    newer = machine_set(revision=2)
    other = machine_set().having(spec={"template": {"spec": {"version": "v2"}}})
    counted = machine_set().having(status={"replicas": 3})
    assert [*machines.of_machine_set(changed(machine_set(), newer))] == [A]
    assert [*machines.of_machine_set(changed(machine_set(), other))] == [A]
    assert [*machines.of_machine_set(changed(machine_set(), counted))] == []


def test_only_what_is_wanted_and_the_revision_are_news_of_a_deployment(machines: Machines) -> None:
    before = machine_deployment()
    dated = before.having(spec={"rollout": {"after": "2026-11-01T12:00:00Z"}})
    assert [*machines.of_machine_deployment(changed(before, machine_deployment(revision=2)))] == [A]
    assert [*machines.of_machine_deployment(changed(before, dated))] == [A]
    assert [*machines.of_machine_deployment(changed(before, before.having(spec={"replicas": 9})))] == []


def test_an_object_of_a_provider_concerns_whoever_refers_to_it(machines: Machines) -> None:
    for kind in (BOOTSTRAP, INFRASTRUCTURE):
        made_by_set = provider(kind, "b").owned_by(SET, MACHINE_SETS).made()
        assert [*machines.of_provider(Change(None, made_by_set))] == [B]
        assert [*machines.of_provider(Change(made_by_set, None))] == [B]
    assert [*machines.of_provider(Change(None, provider(INFRASTRUCTURE, "nobody").made()))] == []


def test_a_kind_that_is_served_differently_concerns_all_who_refer_to_it(machines: Machines) -> None:
    def definition(**labels: str) -> Any:
        names = {"kind": INFRASTRUCTURE.kind, "plural": INFRASTRUCTURE.plural}
        spec = {"group": INFRASTRUCTURE.group, "names": names}
        return DEFINITIONS.convert({"metadata": {"name": "x", "labels": labels}, "spec": spec})

    assert len([*machines.of_definition(Change(None, definition()))]) == 3
    assert len([*machines.of_definition(Change(definition(), definition(served="v2")))]) == 3
    assert [*machines.of_definition(Change(definition(), definition()))] == []


def test_a_node_concerns_the_machine_that_it_runs_on_or_is_about_to(machines: Machines) -> None:
    assert [*machines.of_node(HARBOUR, Change(None, node("node-a", provider_id="")))] == [A]
    assert [*machines.of_node(HARBOUR, Change(None, node("renamed", provider_id="boat:///a")))] == [A]
    assert [*machines.of_node(HARBOUR, Change(None, node("other", provider_id="boat:///x")))] == []
    assert [*machines.of_node(HARBOUR, Change(None, node("node-c", provider_id="boat:///c")))] == []


def test_a_node_that_only_says_that_it_is_still_there_is_no_news(machines: Machines) -> None:
    before, after = node(), node(resourceVersion="8")
    assert [*machines.of_node(HARBOUR, Change(before, after))] == []
    assert [*machines.of_node(HARBOUR, Change(before, node(labels={"x": "y"})))] == [A]


async def test_a_drain_rule_concerns_the_machines_of_its_namespace_that_are_being_deleted() -> None:
    world = World(StandingClock(), Random(1))
    cache = Cache(FakeServer().client(world), world)
    found = Machines(cache)
    going = machine("going").running().deleting()
    for draft in (going, going.having(metadata={"namespace": "other"}), machine("staying").running()):
        cache.wrote(MACHINES, draft.made())
    before, after = (
        structs.replace(made, metadata=structs.replace(made.metadata, namespace=NAMESPACE))
        for made in (rule("r", "Drain"), rule("r", "Skip"))
    )
    for change in (Change(None, after), Change(before, after), Change(before, None)):
        assert [*found.of_drain_rule(change)] == [Key(NAMESPACE, "going")]
    await cache.close()


def test_all_machines_of_a_cluster_are_found(machines: Machines) -> None:
    assert [*machines.in_cluster(HARBOUR)] == [A, B]
