from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from nagaya.api.meta import Condition
from nagaya.controlplane.kubeadm.actions import DeleteMachine, MoveLeader, RememberRemediation, TellRemediation
from nagaya.controlplane.kubeadm.member_names import member_of
from nagaya.controlplane.kubeadm.remediation import Remediation, duration, most_broken, remediation
from nagaya.controlplane.kubeadm.remediation_record import RemediationRecord, UnreadableRecord, read
from nagaya.controlplane.kubeadm.tenant_seen import EtcdSeen
from support.builders import NOW
from unit.controlplane.kubeadm.examples import (
    cluster,
    etcd,
    kcp,
    member,
    node,
    pilot,
    plane,
    running,
    tenant,
    without_pods,
)

IN_PROGRESS = "controlplane.cluster.x-k8s.io/remediation-in-progress"
FOR = "controlplane.cluster.x-k8s.io/remediation-for"
REMEDIATE = {"cluster.x-k8s.io/remediate-machine": ""}


def record(machine: str = "before", ago: timedelta = timedelta(minutes=1), retries: int = 0) -> str:
    return RemediationRecord(machine=machine, timestamp=NOW - ago, retry_count=retries).annotation


def told(found: Remediation) -> Condition:
    actions = found.actions if found.decision is None else (*found.actions, *found.decision.actions)
    conditions = [each.condition for each in actions if isinstance(each, TellRemediation)]
    assert len(conditions) == 1
    assert conditions[0] is not None
    return conditions[0]


def remembered(found: Remediation) -> RemediationRecord:
    assert found.decision is not None
    last = found.decision.actions[-1]
    assert isinstance(last, RememberRemediation)
    assert last.record is not None
    return read(last.record)


def test_nothing_happens_to_healthy_machines() -> None:
    found = remediation(plane(kcp().initialized(), *running("a", "b", "c")))
    assert (found.actions, found.decision) == ((), None)


def test_what_was_said_of_a_machine_that_recovered_is_taken_back() -> None:
    well = pilot("a").joined().given_up().reporting("HealthCheckSucceeded", "True")
    found = remediation(plane(kcp().initialized(), well, *running("b", "c")))
    (action,) = found.actions
    assert isinstance(action, TellRemediation)
    assert action.condition is None
    going = remediation(plane(kcp().initialized(), well.going(), *running("b", "c")))
    assert going.actions == ()


def test_an_unhealthy_machine_of_three_is_deleted_and_remembered() -> None:
    found = remediation(plane(kcp().initialized(), pilot("a").joined().given_up(), *running("b", "c")))
    assert found.decision is not None
    assert [type(each) for each in found.decision.actions] == [TellRemediation, DeleteMachine, RememberRemediation]
    assert told(found).reason == "MachineDeleting"
    assert remembered(found) == RemediationRecord(machine="a", timestamp=NOW, retry_count=0)
    assert found.decision.why == "Deleting Machine a (remediating unhealthy Machine)"


def test_an_unhealthy_leader_hands_over_first() -> None:
    leading = tenant("a", "b", "c", etcd=etcd("a", "b", "c", leader="a"))
    found = remediation(plane(kcp().initialized(), pilot("a").joined().given_up(), *running("b", "c"), tenant=leading))
    assert found.decision is not None
    move = found.decision.actions[0]
    assert isinstance(move, MoveLeader)
    assert move.remediated is not None


def test_before_the_tenant_lives_even_the_only_machine_is_replaced() -> None:
    found = remediation(plane(kcp(1), pilot("a").given_up()))
    assert found.decision is not None
    assert [type(each) for each in found.decision.actions] == [TellRemediation, DeleteMachine, RememberRemediation]


def test_a_machine_that_failed_to_come_up_is_replaced() -> None:
    found = remediation(plane(kcp().initialized(), pilot("a").given_up(), *running("b", "c")))
    assert found.decision is not None


@pytest.mark.parametrize(
    ("machines", "reason", "message"),
    [
        (
            [pilot("a").joined().given_up()],
            "CannotBeRemediated",
            "KubeadmControlPlane can't remediate if current replicas are less or equal to 1",
        ),
        (
            [pilot("a").joined().given_up(), *running("b"), pilot("c")],
            "RemediationDeferred",
            "KubeadmControlPlane waiting for control plane Machine provisioning to complete before triggering "
            "remediation",
        ),
        (
            [pilot("a").joined().given_up(), *running("b"), pilot("c").joined().going()],
            "RemediationDeferred",
            "KubeadmControlPlane waiting for control plane Machine deletion to complete before triggering remediation",
        ),
    ],
)
def test_a_machine_is_not_replaced_while_something_else_goes_on(machines: Any, reason: str, message: str) -> None:
    found = remediation(plane(kcp().initialized(), *machines))
    assert found.decision is None
    assert (told(found).reason, told(found).message) == (reason, message)


@pytest.mark.parametrize(
    ("healthy", "sick", "possible"),
    [("bc", "", True), ("c", "b", False), ("bcde", "", True), ("cde", "b", True), ("de", "bc", False)],
)
def test_a_machine_is_not_replaced_at_the_price_of_the_quorum(healthy: str, sick: str, possible: bool) -> None:
    names = sorted("a" + healthy + sick)
    members = etcd(*(member(each, alarms=("CORRUPT",) if each in sick + "a" else ()) for each in names))
    machines = [each.given_up() if each.content["metadata"]["name"] == "a" else each for each in running(*names)]
    found = remediation(plane(kcp().initialized(), *machines, tenant=tenant(*names, etcd=members)))
    assert (found.decision is not None) is possible
    if not possible:
        assert told(found).reason == "CannotBeRemediated"
        assert "etcd quorum loss" in told(found).message


def test_a_machine_is_not_replaced_if_no_other_works() -> None:
    broken = without_pods(tenant("a", "b", "c"), "kube-apiserver-b", "kube-scheduler-c")
    machines = [pilot("a").joined().given_up(), *running("b", "c")]
    found = remediation(plane(kcp().initialized(), *machines, tenant=broken))
    assert found.decision is None
    assert told(found).reason == "CannotBeRemediated"


def test_a_machine_is_not_replaced_while_etcd_does_not_answer() -> None:
    machines = [pilot("a").joined().given_up(), *running("b", "c")]
    silent = tenant("a", "b", "c", etcd=EtcdSeen(problem="Failed to connect to etcd: x"))
    found = remediation(plane(kcp().initialized(), *machines, tenant=silent))
    assert told(found).message == "Failed to check etcd cluster health before remediation"


def test_with_an_external_etcd_only_the_components_count() -> None:
    external = {"endpoints": ["https://e"], "caFile": "a", "certFile": "b", "keyFile": "c"}
    of = kcp().initialized().wanting(kubeadmConfigSpec={"clusterConfiguration": {"etcd": {"external": external}}})
    machines = [pilot("a").joined().given_up(), *running("b")]
    found = remediation(plane(of, *machines, tenant=tenant("a", "b", etcd=EtcdSeen())))
    assert found.decision is not None


def test_a_replacement_that_is_not_made_yet_comes_first() -> None:
    of = kcp().initialized().annotated({IN_PROGRESS: record(ago=timedelta())})
    found = remediation(plane(of, pilot("a").joined().given_up(), *running("b", "c")))
    assert (found.actions, found.decision) == ((), None)
    assert found.plane.kcp.metadata.annotations


def test_a_record_whose_replacement_was_made_is_taken_away_and_does_not_count() -> None:
    of = kcp().initialized().annotated({IN_PROGRESS: record(ago=timedelta(hours=2))})
    idle = remediation(plane(of, *running("a", "b", "c")))
    (action,) = idle.actions
    assert isinstance(action, RememberRemediation)
    assert action.record is None
    assert IN_PROGRESS not in idle.plane.kcp.metadata.annotations
    busy = remediation(plane(of, pilot("a").joined().given_up(), *running("b", "c")))
    assert busy.decision is not None


def test_a_machine_that_goes_already_is_left_to_go() -> None:
    found = remediation(plane(kcp().initialized(), pilot("a").joined().given_up().going(), *running("b", "c")))
    assert (found.actions, found.decision) == ((), None)


def test_an_upgrade_that_is_on_its_way_comes_first() -> None:
    awaiting = cluster(spec={"topology": {"classRef": {"name": "c"}, "version": "v1.37.0"}})
    machines = [pilot("a").joined().given_up(), *running("b", "c")]
    found = remediation(plane(kcp().initialized(), *machines, cluster=awaiting))
    assert told(found).reason == "RemediationDeferred"
    assert told(found).message.startswith("KubeadmControlPlane can't remediate while waiting for a version upgrade to")


def retrying(retries: int, ago: timedelta, **spec: Any) -> Remediation:
    """A machine that replaced another one some time ago fails, too."""
    again = pilot("a").joined().given_up().annotated({FOR: record(ago=ago, retries=retries)})
    return remediation(plane(kcp().initialized().wanting(remediation=spec), again, *running("b", "c")))


def test_failures_one_after_the_other_are_counted() -> None:
    assert remembered(retrying(0, timedelta(minutes=1))).retry_count == 1
    assert remembered(retrying(2, timedelta(minutes=59))).retry_count == 3


def test_a_failure_after_a_good_while_is_a_new_one() -> None:
    assert remembered(retrying(7, timedelta(hours=1), maxRetry=3)).retry_count == 0
    assert remembered(retrying(7, timedelta(minutes=5), maxRetry=3, minHealthyPeriodSeconds=300)).retry_count == 0


def test_there_is_an_end_to_retries() -> None:
    found = retrying(3, timedelta(minutes=1), maxRetry=3)
    assert found.decision is None
    assert told(found).reason == "CannotBeRemediated"
    assert told(found).message.endswith("because the operation already failed 3 times (MaxRetry)")
    assert found.retry_after == 59 * 60


def test_retries_may_have_to_wait() -> None:
    found = retrying(0, timedelta(minutes=1), retryPeriodSeconds=3600)
    assert found.decision is None
    assert told(found).reason == "RemediationDeferred"
    assert told(found).message.endswith(
        "because the operation already failed in the latest 1h0m0s (RetryPeriodSeconds)"
    )
    assert found.retry_after == 59 * 60


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (20, "20s"), (600, "10m0s"), (3600, "1h0m0s"), (3723, "1h2m3s")]
)
def test_times_are_written_as_go_does(seconds: int, text: str) -> None:
    assert duration(timedelta(seconds=seconds)) == text


def test_a_record_that_cannot_be_read_is_a_problem_for_a_person() -> None:
    broken = pilot("a").joined().given_up().annotated({FOR: "nonsense"})
    found = remediation(plane(kcp().initialized(), broken, *running("b", "c")))
    assert found.decision is not None
    assert found.decision.problem
    assert "Delete the annotation" in found.decision.why
    odd = remediation(plane(kcp().initialized().annotated({IN_PROGRESS: "nonsense"}), *running("a")))
    assert odd.decision is not None
    assert odd.decision.problem
    with pytest.raises(UnreadableRecord):
        read("nonsense")


def test_a_record_reads_what_cluster_api_writes() -> None:
    found = read('{"machine":"m","timestamp":"2026-11-01T12:00:00Z","retryCount":2}')
    assert found == RemediationRecord(
        machine="m", timestamp=datetime.fromisoformat("2026-11-01T12:00:00+00:00"), retry_count=2
    )
    assert read(found.annotation) == found
    assert found.status.retry_count == 2


def test_the_most_broken_machine_goes_first() -> None:
    def first(*machines: Any, **more: Any) -> str:
        found = most_broken(plane(kcp().initialized(), *machines, **more))
        assert found is not None
        return found.metadata.name

    a, b = (pilot(name).joined().given_up() for name in "ab")
    assert first(a.created(timedelta(hours=2)), b.created(timedelta(hours=3))) == "b"
    assert first(a, b) == "a"
    assert first(a, b.annotated(REMEDIATE)) == "b"
    assert first(a, pilot("b").given_up()) == "b"
    assert first(a, b, tenant=tenant("a", "b", etcd=etcd("a"))) == "b"
    assert first(a, b, tenant=without_pods(tenant("a", "b"), "kube-apiserver-b")) == "b"
    both = without_pods(tenant("a", "b", etcd=etcd("b")), "kube-apiserver-b")
    assert first(a, b, tenant=both) == "a"
    assert most_broken(plane(kcp().initialized(), *running("a"))) is None


def test_the_member_of_a_machine_is_found_by_its_node_or_its_provider_id() -> None:
    there = tenant("a", node("b", spec={"providerID": "boat:///b"}))
    found = plane(kcp().initialized(), *running("a"), pilot("b"), pilot("c"), tenant=there)
    machines = {each.metadata.name: each for each in found.machines}
    assert member_of(found, machines["a"]) == "a"
    assert member_of(found, machines["b"]) == "b"
    assert member_of(found, machines["c"]) == ""
