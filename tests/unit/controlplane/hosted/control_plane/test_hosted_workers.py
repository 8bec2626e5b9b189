from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest

from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.controlplane.hosted_control_plane import HOSTED_CONTROL_PLANES, HostedControlPlane
from nagaya.controlplane.hosted.control_plane.conditions import deleting
from nagaya.controlplane.hosted.control_plane.workers import OfMachine, waits_for_workers
from nagaya.kube.cache.cache import Cache
from nagaya.kube.cache.change import Change
from nagaya.kube.key import Key
from support.hosted_seen import cluster_of, plane_of

REFERENCE = {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "HostedControlPlane", "name": "one"}
CLUSTER = cluster_of({"controlPlaneRef": REFERENCE})


def machine(name: str, cluster: str = "one") -> Machine:
    metadata = {"name": name, "namespace": "default"}
    infrastructure = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "SimulatedMachine", "name": name}
    spec = {"clusterName": cluster, "bootstrap": {"dataSecretName": "x"}, "infrastructureRef": infrastructure}
    return MACHINES.convert({"metadata": metadata, "spec": spec})


def plane(*, going: bool = True, held: bool = True) -> HostedControlPlane:
    found = plane_of()
    metadata = msgspec.structs.replace(
        found.metadata,
        deletion_timestamp=found.metadata.creation_timestamp if going else None,
        finalizers=found.metadata.finalizers if held else (),
    )
    return msgspec.structs.replace(found, metadata=metadata)


class Held:
    """A cache."""

    def __init__(self, *machines: Machine, plane: HostedControlPlane | None = None) -> None:
        self.machines = machines
        self.plane = plane

    def list(self, kind: Any, namespace: str) -> tuple[Machine, ...]:
        assert (kind, namespace) == (MACHINES, "default")
        return self.machines

    def get(self, kind: Any, key: Key) -> Any:
        assert key == Key("default", "one")
        return {CLUSTERS: CLUSTER, HOSTED_CONTROL_PLANES: self.plane}[kind]


def cache(*machines: Machine, plane: HostedControlPlane | None = None) -> Cache:
    return cast(Cache, Held(*machines, plane=plane))


def test_a_control_plane_waits_for_its_own_machines() -> None:
    found = cache(machine("a"), machine("b"), machine("c"), machine("d"), machine("e", "other"))
    message = waits_for_workers(found, plane(), CLUSTER)

    assert "drained through this API: a, b, c, ... (1 more). Delete them" in message
    assert (deleting(message).status, deleting(message).reason) == ("True", "WaitingForWorkersDeletion")
    assert waits_for_workers(cache(machine("e", "other")), plane(), CLUSTER) == ""


@pytest.mark.parametrize("going", [plane(going=False), plane(held=False)])
def test_one_that_stays_or_is_not_ours_to_hold_waits_for_nobody(going: HostedControlPlane) -> None:
    assert waits_for_workers(cache(machine("a")), going, CLUSTER) == ""


def test_without_a_cluster_nobody_knows_of_machines() -> None:
    assert waits_for_workers(cache(machine("a")), plane(), None) == ""


def test_the_end_of_a_machine_concerns_who_may_have_waited_for_it() -> None:
    gone = Change(machine("a"), None)
    assert [*OfMachine(cache(plane=plane()))(gone)] == [Key("default", "one")]
    assert [*OfMachine(cache(plane=plane(going=False)))(gone)] == []
    assert [*OfMachine(cache(plane=None))(gone)] == []
    assert [*OfMachine(cache(plane=plane()))(Change(None, machine("a")))] == []
