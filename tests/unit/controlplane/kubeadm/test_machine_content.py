from __future__ import annotations

from nagaya.api.cluster.reference import ContractReference
from nagaya.controlplane.kubeadm.machine_content import (
    existing_machine,
    fingerprint,
    in_line,
    machine_labels,
    new_machine,
    tearing_down,
)
from support.builders import CLUSTER
from unit.controlplane.kubeadm.examples import KcpDraft, kcp, pilot

CONFIG = ContractReference(api_group="bootstrap.cluster.x-k8s.io", kind="KubeadmConfig", name="a")
HOST = ContractReference(api_group="infrastructure.cluster.x-k8s.io", kind="BoatMachine", name="a")
HOOK = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup"


def made(of: KcpDraft, domain: str = "") -> dict[str, object]:
    return new_machine(of.made(), CLUSTER, "a", domain, CONFIG, HOST)


def test_a_new_machine_has_the_hook_the_gates_and_the_version() -> None:
    content = made(kcp(), "east")
    metadata, spec = content["metadata"], content["spec"]
    assert isinstance(metadata, dict)
    assert isinstance(spec, dict)
    assert metadata["annotations"] == {HOOK: ""}
    assert metadata["labels"] == {
        "cluster.x-k8s.io/cluster-name": CLUSTER,
        "cluster.x-k8s.io/control-plane": "",
        "cluster.x-k8s.io/control-plane-name": "bridge",
    }
    assert metadata["ownerReferences"][0]["controller"] is True
    assert spec["version"] == "v1.36.3"
    assert spec["failureDomain"] == "east"
    assert [each["conditionType"] for each in spec["readinessGates"]] == [
        "NodeKubeadmLabelsAndTaintsSet",
        "APIServerPodHealthy",
        "ControllerManagerPodHealthy",
        "SchedulerPodHealthy",
        "EtcdPodHealthy",
        "EtcdMemberHealthy",
    ]
    assert "deletion" not in spec
    assert "minReadySeconds" not in spec


def test_gates_that_users_add_come_after_and_none_twice() -> None:
    gates = [{"conditionType": "EtcdPodHealthy", "polarity": "Negative"}, {"conditionType": "Mine"}]
    of = kcp().wanting(machineTemplate={"spec": {"readinessGates": gates}})
    spec = made(of)["spec"]
    assert isinstance(spec, dict)
    assert [*spec["readinessGates"][-3:]] == [
        {"conditionType": "EtcdPodHealthy"},
        {"conditionType": "EtcdMemberHealthy"},
        {"conditionType": "Mine"},
    ]


def test_a_replacement_remembers_what_it_replaces_and_keeps_remembering() -> None:
    of = kcp().annotated({"controlplane.cluster.x-k8s.io/remediation-in-progress": "{}"})
    metadata = made(of)["metadata"]
    assert isinstance(metadata, dict)
    assert metadata["annotations"]["controlplane.cluster.x-k8s.io/remediation-for"] == "{}"
    present = pilot("a").annotated({"controlplane.cluster.x-k8s.io/remediation-for": "{}"}).it
    again = existing_machine(kcp().made(), CLUSTER, present)["metadata"]
    assert again["annotations"]["controlplane.cluster.x-k8s.io/remediation-for"] == "{}"


def test_a_machine_that_exists_keeps_version_domain_and_references() -> None:
    present = pilot("a", version="v1.35.0").in_domain("west").it
    content = existing_machine(kcp().made(), CLUSTER, present)
    assert content["spec"]["version"] == "v1.35.0"
    assert content["spec"]["failureDomain"] == "west"
    assert content["spec"]["infrastructureRef"]["name"] == "a"
    assert content["metadata"]["uid"] == "uid-a"


def test_what_others_add_does_not_put_a_machine_out_of_line() -> None:
    of = kcp().wanting(machineTemplate={"metadata": {"labels": {"deck": "upper"}}}).made()
    fine = pilot("a", of).labelled({"mine": "too"}).having(spec={"providerID": "x", "minReadySeconds": 3}).it
    assert in_line(of, CLUSTER, fine)
    assert not in_line(of, CLUSTER, pilot("a", of).labelled({"deck": "lower"}).it)
    assert not in_line(of, CLUSTER, pilot("a", of).annotated({HOOK: None}).it)
    slow = kcp().wanting(machineTemplate={"spec": {"deletion": {"nodeDrainTimeoutSeconds": 9}}}).made()
    assert not in_line(slow, CLUSTER, pilot("a").it)


def test_a_machine_that_goes_follows_time_limits_and_taints_only() -> None:
    taint = {"key": "a", "effect": "NoSchedule", "propagation": "Always"}
    of = (
        kcp()
        .wanting(
            machineTemplate={
                "metadata": {"labels": {"new": "label"}},
                "spec": {"deletion": {"nodeDrainTimeoutSeconds": 9}, "taints": [taint]},
            }
        )
        .made()
    )
    patch = tearing_down(of, pilot("a").going().it)
    assert patch == {"spec": {"deletion": {"nodeDrainTimeoutSeconds": 9}, "taints": (taint,)}}
    defaulted = pilot("a").going().having(spec={"deletion": {"nodeDeletionTimeoutSeconds": 10}}).it
    assert tearing_down(kcp().made(), defaulted) is None


def test_a_fingerprint_differs_when_something_reaches_machines_and_not_otherwise() -> None:
    plain = fingerprint(kcp().made(), CLUSTER)
    assert plain == fingerprint(kcp(5, "v1.35.0").made(), CLUSTER)
    labelled = kcp().wanting(machineTemplate={"metadata": {"labels": {"a": "b"}}}).made()
    assert plain != fingerprint(labelled, CLUSTER)
    assert machine_labels(labelled, CLUSTER)["a"] == "b"
