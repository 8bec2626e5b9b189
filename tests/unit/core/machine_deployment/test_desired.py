"""MachineSets as a deployment wants them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from nagaya.api.cluster.annotations import REVISION
from nagaya.api.cluster.machine_deployment import MachineDeployment
from nagaya.api.cluster.machine_set import MACHINE_SETS, MachineSet
from nagaya.core.machine_deployment.desired import NoTemplateHash, existing_set, new_set, resized
from nagaya.core.machine_deployment.strategy import Limits
from support.builders import CLUSTER, NAMESPACE, machine_deployment, machine_set

HASH = "machine-template-hash"
REVISIONS = {REVISION: "4"}


def deployment(**spec: Any) -> MachineDeployment:
    labels = {"role": "deckhand"}
    draft = machine_deployment().having(
        spec={"replicas": 3, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}}}
    )
    return draft.having(spec=spec).made()


def made(owner: MachineDeployment, *, taken: frozenset[str] = frozenset()) -> MachineSet:
    return new_set(owner, Limits(3, 1), REVISIONS, taken=taken)


def sent(machine_set: MachineSet) -> Any:
    return msgspec.json.decode(msgspec.json.encode(MACHINE_SETS.content(machine_set)))


def test_a_new_set_is_complete_from_the_start() -> None:
    content = sent(made(deployment()))
    name = content["metadata"]["name"]
    suffix = name.removeprefix("workers-")
    assert len(suffix) == 5
    identifier = content["metadata"]["labels"][HASH]
    assert identifier.endswith(f"-{suffix}")
    assert identifier.removesuffix(f"-{suffix}").isdecimal()
    template = deployment().spec.template.spec
    reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "BoatMachineTemplate", "name": "host"}
    assert content == {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineSet",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {
                "role": "deckhand",
                HASH: identifier,
                "cluster.x-k8s.io/deployment-name": "workers",
                "cluster.x-k8s.io/cluster-name": deployment().spec.cluster_name,
            },
            "annotations": {
                REVISION: "4",
                "machinedeployment.clusters.x-k8s.io/desired-replicas": "3",
                "machinedeployment.clusters.x-k8s.io/max-replicas": "4",
                "cluster.x-k8s.io/disable-machine-create": "false",
            },
            "ownerReferences": [
                {
                    "apiVersion": "cluster.x-k8s.io/v1beta2",
                    "kind": "MachineDeployment",
                    "name": "workers",
                    "uid": "uid-workers",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
            "finalizers": ["cluster.x-k8s.io/machineset"],
        },
        "spec": {
            "clusterName": CLUSTER,
            "replicas": 0,
            "selector": {"matchLabels": {"role": "deckhand", HASH: identifier}},
            "template": {
                "metadata": {"labels": {"role": "deckhand", HASH: identifier}},
                "spec": {
                    "clusterName": CLUSTER,
                    "version": template.version,
                    "bootstrap": {
                        "configRef": {
                            "apiGroup": "bootstrap.cluster.x-k8s.io",
                            "kind": "BoatConfigTemplate",
                            "name": "boot",
                        }
                    },
                    "infrastructureRef": reference,
                },
            },
        },
    }


def test_the_same_state_leads_to_the_same_name_and_another_to_another() -> None:
    first = made(deployment()).metadata.name
    assert made(deployment()).metadata.name == first
    assert made(deployment(template={"spec": {"version": "v9"}})).metadata.name != first
    assert made(deployment(rollout={"after": "2026-11-01T00:00:00Z"})).metadata.name != first
    assert new_set(deployment(), Limits(3), {REVISION: "5"}, taken=()).metadata.name != first
    other = made(deployment(), taken=frozenset({first}))
    assert other.metadata.name != first
    assert other.metadata.labels[HASH].endswith(other.metadata.name[-5:])


def test_a_long_name_is_cut_to_what_a_label_can_hold() -> None:
    long = machine_deployment("w" * 70).having(spec={"replicas": 1}).made()
    assert len(made(long).metadata.name) == 63


def test_an_existing_set_keeps_its_template_and_gets_what_changes_in_place() -> None:
    present = (
        machine_set("workers-abcde")
        .labelled({HASH: "1-abcde", "gone": "x"})
        .having(
            metadata={"finalizers": ["cluster.x-k8s.io/machineset", "foregroundDeletion"]},
            spec={"replicas": 2, "template": {"spec": {"version": "v1", "minReadySeconds": 1}}},
        )
        .made()
    )
    gates = [{"conditionType": "Moored"}]
    changed = deployment(
        template={
            "metadata": {"annotations": {"colour": "red"}},
            "spec": {"deletion": {"nodeDrainTimeoutSeconds": 60}, "readinessGates": gates, "version": "v2"},
        },
        deletion={"order": "Oldest"},
        machineNaming={"template": "x-{{ .random }}"},
    )
    found = existing_set(changed, Limits(3, 1), present, REVISIONS, makes_machines=False)
    content = sent(found)
    assert content["metadata"]["uid"] == "uid-workers-abcde"
    assert content["metadata"]["finalizers"] == ["cluster.x-k8s.io/machineset", "foregroundDeletion"]
    assert "gone" not in content["metadata"]["labels"]
    assert content["metadata"]["labels"][HASH] == "1-abcde"
    assert content["metadata"]["annotations"]["cluster.x-k8s.io/disable-machine-create"] == "true"
    spec = content["spec"]
    assert spec["replicas"] == 2
    assert spec["deletion"] == {"order": "Oldest"}
    assert spec["machineNaming"] == {"template": "x-{{ .random }}"}
    assert spec["template"]["metadata"]["annotations"] == {"colour": "red"}
    template = spec["template"]["spec"]
    assert template["version"] == "v1"
    assert "minReadySeconds" not in template
    assert template["deletion"] == {"nodeDrainTimeoutSeconds": 60}
    assert template["readinessGates"] == gates


def test_annotations_of_the_deployment_reach_its_sets_except_its_own() -> None:
    owner = (
        machine_deployment()
        .having(spec={"replicas": 1})
        .annotated(
            {
                "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size": "5",
                "kubectl.kubernetes.io/last-applied-configuration": "{}",
                "machinedeployment.clusters.x-k8s.io/revision-history": "1",
                "cluster.x-k8s.io/conversion-data": "{}",
            }
        )
        .made()
    )
    annotations = made(owner).metadata.annotations
    assert annotations["cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"] == "5"
    assert annotations[REVISION] == "4"
    assert len(annotations) == 5


def test_a_set_that_cannot_be_told_apart_is_not_touched() -> None:
    with pytest.raises(NoTemplateHash, match="workers-1 has no label machine-template-hash"):
        existing_set(deployment(), Limits(3), machine_set().made(), {}, makes_machines=True)


def test_another_size_changes_nothing_else() -> None:
    before = made(deployment())
    after = resized(before, 5)
    assert after.spec.replicas == 5
    assert resized(after, 0) == before
