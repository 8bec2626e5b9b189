from __future__ import annotations

from typing import Any

import msgspec
import pytest

from nagaya.api.cluster.machine import MACHINES
from nagaya.api.cluster.machine_set import MachineSet
from nagaya.core.machine_set.propagation import (
    existing_machine,
    fingerprint,
    in_line,
    machine_labels,
    new_machine,
    tearing_down,
)
from unit.core.machine_set.examples import HOSTS, Worker, of_deployment, worker, workers

READY_AFTER_5 = worker("a").having(spec={"minReadySeconds": 5})


def with_spec(**spec: Any) -> MachineSet:
    content = msgspec.to_builtins(workers())
    content["spec"]["template"]["spec"].update(spec)
    return msgspec.convert(content, MachineSet)


def test_a_machine_that_was_just_made_says_what_the_set_does() -> None:
    machine_set = workers()
    host = worker("a").it.spec.infrastructure_ref
    content = new_machine(machine_set, "a", worker("a").it.spec.bootstrap.config_ref, host)
    content["metadata"]["uid"] = "from the server"
    machine = MACHINES.convert(content)
    assert in_line(machine_set, machine)
    assert machine.spec.infrastructure_ref.kind == HOSTS.kind
    assert machine.spec.version == "v1.36.3"


def test_what_others_add_to_a_machine_is_not_out_of_line() -> None:
    grown = worker("a").labelled({"mine": "x"}).marked("note").having(spec={"providerID": "test://a"})
    assert in_line(workers(), grown.having(spec={"deletion": {"nodeDeletionTimeoutSeconds": 10}}).it)
    assert in_line(workers(), grown.having(spec={"bootstrap": {"dataSecretName": "a-data"}}).it)
    gate = {"conditionType": "Fit"}
    gated = grown.having(spec={"readinessGates": [{"conditionType": "Mine"}, gate]})
    assert in_line(with_spec(readinessGates=[gate]), gated.it)


@pytest.mark.parametrize(
    "changed",
    [
        READY_AFTER_5.labelled({"set": "others"}),
        READY_AFTER_5.having(metadata={"finalizers": []}),
        READY_AFTER_5.having(metadata={"ownerReferences": []}),
        READY_AFTER_5.having(spec={"minReadySeconds": 7}),
        READY_AFTER_5.having(spec={"clusterName": "other"}),
    ],
)
def test_a_machine_that_says_something_else_is_out_of_line(changed: Worker) -> None:
    assert not in_line(with_spec(minReadySeconds=5), changed.it)


def test_a_machine_that_says_the_same_is_in_line() -> None:
    assert in_line(with_spec(minReadySeconds=5), READY_AFTER_5.it)


def test_labels_name_the_set_and_its_deployment() -> None:
    assert machine_labels(of_deployment(workers())) == {
        "cluster.x-k8s.io/cluster-name": "shop",
        "cluster.x-k8s.io/set-name": "workers",
        "cluster.x-k8s.io/deployment-name": "web",
        "set": "workers",
    }


def test_a_name_that_is_no_label_is_hashed() -> None:
    assert machine_labels(workers(name="w" * 64))["cluster.x-k8s.io/set-name"].startswith("hash_")


def test_what_is_fixed_when_a_machine_is_made_stays() -> None:
    content = existing_machine(with_spec(version="v1.37.0", failureDomain="b"), worker("a").it)
    assert content["spec"]["version"] == "v1.36.3"
    assert "failureDomain" not in content["spec"]
    assert content["spec"]["infrastructureRef"]["name"] == "a"
    assert content["metadata"]["uid"] == "uid-a"


def test_the_fingerprint_changes_with_what_is_said_about_machines_and_not_with_their_number() -> None:
    assert fingerprint(workers(1)) == fingerprint(workers(5))
    assert fingerprint(workers()) != fingerprint(with_spec(minReadySeconds=1))
    assert fingerprint(workers()) != fingerprint(of_deployment(workers()))


def test_a_default_is_not_taken_away_from_a_machine_that_goes() -> None:
    defaulted = worker("a").going().having(spec={"deletion": {"nodeDeletionTimeoutSeconds": 10}})
    assert tearing_down(workers(), defaulted.it) is None
    assert tearing_down(workers(), worker("a").going().it) is None
    longer = worker("a").going().having(spec={"deletion": {"nodeDeletionTimeoutSeconds": 99}})
    assert tearing_down(workers(), longer.it) == {"spec": {"deletion": {"nodeDeletionTimeoutSeconds": 10}}}


def test_what_the_set_no_longer_says_goes_from_a_machine_that_goes() -> None:
    drained = worker("a").going().having(spec={"deletion": {"nodeDrainTimeoutSeconds": 9}, "minReadySeconds": 3})
    assert tearing_down(workers(), drained.it) == {"spec": {"deletion": None, "minReadySeconds": None}}
