from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from nagaya.api.cluster.machine import Machine
from nagaya.api.meta import Condition
from nagaya.controlplane.kubeadm.control_plane import ControlPlane
from nagaya.controlplane.kubeadm.health.examine import examine, silence_counts_at
from nagaya.controlplane.kubeadm.seen import Connection
from nagaya.controlplane.kubeadm.tenant_seen import EtcdSeen, MemberSeen
from nagaya.kube.conditions import get
from support.builders import NOW, date
from unit.controlplane.kubeadm.examples import (
    ROLE,
    cluster,
    etcd,
    kcp,
    member,
    node,
    pilot,
    plane,
    running,
    seen,
    tenant,
    without_pods,
)

PODS = ("APIServerPodHealthy", "ControllerManagerPodHealthy", "SchedulerPodHealthy", "EtcdPodHealthy")
ON_MACHINES = ("NodeKubeadmLabelsAndTaintsSet", *PODS, "EtcdMemberHealthy")


def on(found: ControlPlane, name: str) -> dict[str, Condition]:
    machine = next(each for each in found.machines if each.metadata.name == name)
    return {each.type: each for each in machine.status.conditions}


def short(found: Condition | None) -> tuple[str, str, str]:
    assert found is not None
    return found.status, found.reason, found.message


def test_everything_is_healthy() -> None:
    found = plane(kcp().initialized(), *running("a", "b", "c"))
    assert all(on(found, "a")[each].status == "True" for each in ON_MACHINES)
    assert [short(each) for each in found.told] == [("True", "Healthy", ""), ("True", "Healthy", "")]
    assert found.members_match
    assert not found.problem


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {"status": {"initialization": {"infrastructureProvisioned": None}}},
            "Waiting for Cluster status.infrastructureReady to be true",
        ),
        ({"spec": {"controlPlaneEndpoint": None}}, "Waiting for Cluster spec.controlPlaneEndpoint to be set"),
    ],
)
def test_before_there_is_anything_to_look_at_the_cluster_is_waited_for(parts: dict[str, Any], message: str) -> None:
    found = plane(kcp(), cluster=cluster(**parts))
    assert [short(each) for each in found.told] == [("Unknown", "InspectionFailed", message)] * 2


def test_nothing_is_known_before_the_tenant_has_answered_once() -> None:
    found = plane(kcp(), pilot("a"))
    message = "Waiting for Cluster control plane to be initialized"
    assert {short(on(found, "a")[each]) for each in ON_MACHINES} == {("Unknown", "InspectionFailed", message)}
    assert [short(each) for each in found.told] == [("Unknown", "InspectionFailed", message)] * 2
    assert not found.problem


def test_a_tenant_that_was_never_reached_is_given_time() -> None:
    found = plane(kcp().initialized(), *running("a"), connection=Connection(None, 4), tenant=None)
    expected = ("Unknown", "ConnectionDown", "Remote connection not established yet")
    assert [short(each) for each in found.told] == [expected] * 2
    assert found.problem == "connection to the workload cluster not established yet"
    told = kcp().initialized().reporting("EtcdClusterHealthy", "True", "Healthy")
    told = told.reporting("ControlPlaneComponentsHealthy", "True", "Healthy")
    again = plane(told, *running("a"), connection=Connection(None, 4), tenant=None)
    assert again.told == ()
    assert "EtcdPodHealthy" not in on(again, "a")


def test_the_last_answers_of_a_silent_tenant_stand_for_five_minutes() -> None:
    last = NOW - timedelta(minutes=5)
    told = kcp().initialized().reporting("EtcdClusterHealthy", "True", "Healthy")
    told = told.reporting("ControlPlaneComponentsHealthy", "True", "Healthy")
    still = seen(told, *running("a"), connection=Connection(last, 9), tenant=None)
    assert plane(told, *running("a"), connection=Connection(last, 9), tenant=None).told == ()
    assert silence_counts_at(still) == NOW
    later = replace(still, now=NOW + timedelta(seconds=1))
    assert silence_counts_at(later) is None
    found = plane(told, *running("a"), connection=Connection(last - timedelta(seconds=1), 9), tenant=None)
    message = f"Last successful probe at {date(last - timedelta(seconds=1))}"
    assert [short(each) for each in found.told] == [("Unknown", "ConnectionDown", message)] * 2
    assert short(on(found, "a")["EtcdMemberHealthy"]) == ("Unknown", "ConnectionDown", message)
    assert found.problem == "connection to the workload cluster is down"


def test_silence_counts_from_when_the_tenant_came_to_life_if_that_was_later() -> None:
    young = kcp().initialized(since=NOW - timedelta(minutes=1))
    found = plane(young, *running("a"), connection=Connection(NOW - timedelta(hours=1), 9), tenant=None)
    assert found.problem == "the workload cluster cannot be reached at present"


def test_machines_without_a_node_say_what_they_wait_for() -> None:
    placed = pilot("b").having(spec={"providerID": "boat:///b"})
    found = plane(kcp().initialized(), *running("a"), placed, pilot("c"))
    waiting = "Waiting for a Node with spec.providerID boat:///b to exist"
    assert {short(on(found, "b")[each]) for each in ON_MACHINES} == {("Unknown", "InspectionFailed", waiting)}
    waiting = "Waiting for BoatMachine to report spec.providerID"
    assert {short(on(found, "c")[each]) for each in ON_MACHINES} == {("Unknown", "InspectionFailed", waiting)}
    components, members = found.told
    assert short(components) == (
        "Unknown",
        "HealthUnknown",
        "* Machine b:\n  * Control plane components: Waiting for a Node with spec.providerID boat:///b to exist",
    )
    assert members.message.startswith("* Machine b:\n  * EtcdMemberHealthy: Waiting for a Node")


def test_a_machine_that_goes_says_so() -> None:
    found = plane(kcp().initialized(), *running("a", "b"), pilot("c").joined().going())
    assert {short(on(found, "c")[each]) for each in (*PODS, "EtcdMemberHealthy")} == {
        ("False", "Deleting", "Machine is deleting")
    }
    assert on(found, "c")["NodeKubeadmLabelsAndTaintsSet"].status == "True"
    gone = plane(kcp().initialized(), *running("a"), pilot("c").joined().going(), tenant=tenant("a"))
    assert on(gone, "c")["NodeKubeadmLabelsAndTaintsSet"].reason == "Deleting"
    assert on(gone, "c")["EtcdMemberHealthy"].message == "Etcd doesn't have an etcd member for Node c"


def test_a_node_that_is_gone_or_unreachable_leaves_everything_unknown() -> None:
    found = plane(kcp().initialized(), *running("a", "b"), tenant=tenant("a"))
    assert short(on(found, "b")["EtcdPodHealthy"]) == ("Unknown", "InspectionFailed", "Node b does not exist")
    taint = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
    lost = node("b", spec={"taints": [taint]})
    found = plane(kcp().initialized(), *running("a", "b"), tenant=tenant("a", lost))
    assert short(on(found, "b")["SchedulerPodHealthy"]) == ("Unknown", "InspectionFailed", "Node b is unreachable")


def test_nodes_that_cannot_be_listed_leave_everything_unknown() -> None:
    found = plane(kcp().initialized(), *running("a"), tenant=tenant(nodes_problem="no answer", etcd=EtcdSeen()))
    components, members = found.told
    assert short(components) == (
        "Unknown",
        "InspectionFailed",
        "Failed to get Nodes hosting control plane components: no answer",
    )
    assert members.message == "Failed to get Nodes hosting the etcd cluster"
    assert on(found, "a")["EtcdPodHealthy"].message == "Failed to get the Node hosting the Pod: no answer"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"metadata": {"labels": {ROLE: None}}}, f"Node a does not have the {ROLE} label"),
        ({"spec": {"taints": []}}, f"Node a does not have the {ROLE}:NoSchedule taint"),
        (
            {"metadata": {"labels": {ROLE: None}}, "spec": {"taints": []}},
            f"Node a does not have the {ROLE} label and the {ROLE}:NoSchedule taint",
        ),
    ],
)
def test_a_node_without_its_role_is_told(more: dict[str, Any], message: str) -> None:
    found = plane(kcp().initialized(), *running("a"), tenant=tenant(node("a", **more)))
    assert short(on(found, "a")["NodeKubeadmLabelsAndTaintsSet"]) == ("False", "NotSet", message)


def test_a_node_needs_no_taint_that_kubeadm_was_told_to_leave_out() -> None:
    of = kcp().initialized().wanting(kubeadmConfigSpec={"joinConfiguration": {"nodeRegistration": {"taints": []}}})
    bare = tenant(node("a", spec={"taints": []}))
    found = plane(of, *running("a", of=of), tenant=bare)
    assert on(found, "a")["NodeKubeadmLabelsAndTaintsSet"].status == "True"


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (etcd("a", member("b", learner=True)), "Waiting for learner etcd member to be promoted"),
        (etcd("a", member("b", alarms=("NOSPACE",))), "Etcd reports alarms: NOSPACE"),
        (etcd("a"), "Etcd doesn't have an etcd member for Node b"),
    ],
)
def test_a_member_that_is_not_well_is_told(members: EtcdSeen, message: str) -> None:
    found = plane(kcp().initialized(), *running("a", "b"), tenant=tenant("a", "b", etcd=members))
    assert short(on(found, "b")["EtcdMemberHealthy"]) == ("False", "NotHealthy", message)
    told = get(found.told, "EtcdClusterHealthy")
    assert short(told) == ("False", "NotHealthy", f"* Machine b:\n  * EtcdMemberHealthy: {message}")


def test_an_etcd_that_does_not_answer_leaves_its_members_unknown() -> None:
    silent = EtcdSeen(problem="Failed to connect to etcd: no route")
    found = plane(kcp().initialized(), *running("a", "b"), tenant=tenant("a", "b", etcd=silent))
    told = get(found.told, "EtcdClusterHealthy")
    assert short(told) == (
        "Unknown",
        "HealthUnknown",
        "* Machines a, b:\n  * EtcdMemberHealthy: Failed to connect to etcd: no route",
    )
    assert not found.members_match


def test_a_member_that_nobody_has_is_told_unless_it_may_be_that_of_a_newcomer() -> None:
    stray = tenant("a", etcd=etcd("a", MemberSeen(3, "")))
    found = plane(kcp().initialized(), *running("a"), tenant=stray)
    told = get(found.told, "EtcdClusterHealthy")
    assert short(told) == (
        "False",
        "NotHealthy",
        "* Etcd member 3 (Name not yet assigned) does not have a corresponding Machine",
    )
    assert not found.members_match
    assert plane(kcp().initialized(), *running("a"), pilot("b"), tenant=stray).members_match


def test_a_machine_may_be_without_a_member_for_two_minutes() -> None:
    def young(seconds: int) -> ControlPlane:
        fresh = node("b", metadata={"creationTimestamp": date(NOW - timedelta(seconds=seconds))})
        return plane(kcp().initialized(), *running("a", "b"), tenant=tenant("a", fresh, etcd=etcd("a")))

    assert young(120).members_match
    assert not young(121).members_match


def test_a_control_plane_node_that_no_machine_has_is_told() -> None:
    found = plane(kcp().initialized(), *running("a"), tenant=tenant("a", "stranger", etcd=etcd("a")))
    told = get(found.told, "ControlPlaneComponentsHealthy")
    assert short(told) == (
        "False",
        "NotHealthy",
        "* Control plane Node stranger does not have a corresponding Machine",
    )


def test_problems_of_machines_are_put_together_with_the_most_common_first() -> None:
    broken = without_pods(tenant("a", "b", "c"), "etcd-c", "kube-scheduler-a", "kube-scheduler-b")
    found = plane(kcp().initialized(), *running("a", "b", "c"), tenant=broken)
    told = get(found.told, "ControlPlaneComponentsHealthy")
    assert told is not None
    assert told.message == (
        "* Machines a, b:\n  * SchedulerPodHealthy: Pod does not exist\n"
        "* Machine c:\n  * EtcdPodHealthy: Pod does not exist"
    )


def test_of_an_external_etcd_nothing_is_said() -> None:
    external = {"endpoints": ["https://e"], "caFile": "a", "certFile": "b", "keyFile": "c"}
    of = kcp().initialized().wanting(kubeadmConfigSpec={"clusterConfiguration": {"etcd": {"external": external}}})
    found = plane(of, *running("a", of=of))
    assert [each.type for each in found.told] == ["ControlPlaneComponentsHealthy"]
    assert "EtcdPodHealthy" not in on(found, "a")
    assert [each.type for each in plane(of, *running("a"), tenant=None, connection=Connection()).told] == [
        "ControlPlaneComponentsHealthy"
    ]


def test_a_machine_is_up_to_date_once_its_kubelet_is() -> None:
    fields = (
        "machineID",
        "systemUUID",
        "bootID",
        "kernelVersion",
        "osImage",
        "containerRuntimeVersion",
        "kubeProxyVersion",
        "operatingSystem",
        "architecture",
    )
    info = dict.fromkeys(fields, "")
    behind = pilot("a").joined().having(status={"nodeInfo": {**info, "kubeletVersion": "v1.35.0"}})
    found = plane(kcp().initialized(), behind)
    assert short(on(found, "a")["UpToDate"]) == (
        "False",
        "Updating",
        "* Node.status.nodeInfo.kubeletVersion v1.35.0, v1.36.3 required",
    )
    old = plane(kcp().initialized(), pilot("a", version="v1.35.0").joined())
    assert short(on(old, "a")["UpToDate"]) == ("False", "NotUpToDate", "* Version v1.35.0, v1.36.3 required")


def test_what_does_not_change_is_the_very_same() -> None:
    first = plane(kcp().initialized(), *running("a"))
    machines: tuple[Machine, ...] = first.machines
    again = replace(first.seen, machines=machines)
    assert examine(again).machines[0] is machines[0]
