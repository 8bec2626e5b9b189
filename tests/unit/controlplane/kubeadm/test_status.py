from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from nagaya.api.controlplane.kubeadm_control_plane import KubeadmControlPlaneStatus
from nagaya.controlplane.kubeadm.certificates_port import CertificateState, SecretsSeen
from nagaya.controlplane.kubeadm.control_plane import ControlPlane
from nagaya.controlplane.kubeadm.hosts import HostTemplate
from nagaya.controlplane.kubeadm.plan import plan
from nagaya.controlplane.kubeadm.remediation_record import RemediationRecord
from nagaya.controlplane.kubeadm.status import initialized, owned_conditions, seconds_until_news, status
from nagaya.controlplane.kubeadm.tenant_seen import EtcdSeen, MemberSeen
from nagaya.kube.conditions import get
from support.builders import NOW
from unit.controlplane.kubeadm.examples import (
    cluster,
    config,
    etcd,
    kcp,
    member,
    pilot,
    plane,
    running,
    seen,
    template,
    tenant,
    without_pods,
)


def told(found: ControlPlane) -> KubeadmControlPlaneStatus:
    return status(found, plan(found), complete=True)


def short(found: KubeadmControlPlaneStatus, type: str) -> tuple[str, str, str]:
    condition = get(found.conditions, type)
    assert condition is not None, type
    return condition.status, condition.reason, condition.message


def test_a_healthy_control_plane_says_so() -> None:
    found = told(plane(kcp().initialized(), *running("a", "b", "c")))
    assert {each.type: each.status for each in found.conditions} == {
        "Available": "True",
        "Initialized": "True",
        "CertificatesAvailable": "True",
        "EtcdClusterHealthy": "True",
        "ControlPlaneComponentsHealthy": "True",
        "MachinesReady": "True",
        "MachinesUpToDate": "True",
        "RollingOut": "False",
        "ScalingUp": "False",
        "ScalingDown": "False",
        "Remediating": "False",
        "Deleting": "False",
        "Paused": "False",
    }
    assert {*owned_conditions(kcp().made())} == {each.type for each in found.conditions}
    assert (found.replicas, found.ready_replicas, found.available_replicas, found.up_to_date_replicas) == (3, 3, 3, 3)
    assert found.selector == "cluster.x-k8s.io/cluster-name=harbour,cluster.x-k8s.io/control-plane"
    assert [(each.version, each.replicas) for each in found.versions] == [("v1.36.3", 3)]
    assert found.version == "v1.36.3"
    assert found.observed_generation == 1


def test_a_new_control_plane_says_what_is_missing() -> None:
    found = told(plane(kcp()))
    assert short(found, "Available") == ("False", "NotAvailable", "Control plane not yet initialized")
    assert short(found, "Initialized") == ("False", "NotInitialized", "")
    assert short(found, "ScalingUp") == ("True", "ScalingUp", "Scaling up from 0 to 3 replicas")
    assert short(found, "MachinesReady") == ("True", "NoReplicas", "")
    assert found.initialization.control_plane_initialized is None
    assert found.version == ""


def test_replicas_that_are_not_given_are_waited_for() -> None:
    found = told(plane(kcp(None).initialized(), *running("a")))
    assert short(found, "ScalingUp") == ("Unknown", "WaitingForReplicasSet", "Waiting for spec.replicas set")
    assert short(found, "ScalingDown") == ("Unknown", "WaitingForReplicasSet", "Waiting for spec.replicas set")


def test_the_tenant_lives_once_kubeadm_is_through() -> None:
    alive = tenant("a")
    assert initialized(seen(kcp(1), pilot("a").joined(), tenant=alive))
    assert not initialized(seen(kcp(1), pilot("a").joined(), tenant=replace(alive, kubeadm_config=False)))
    assert not initialized(seen(kcp(1), pilot("a").joined(), tenant=None))
    assert initialized(seen(kcp(1).initialized(), tenant=None))


def test_a_first_machine_that_is_about_to_go_does_not_start_anything() -> None:
    alive = tenant("a")
    assert not initialized(seen(kcp(1), pilot("a").joined().given_up(), tenant=alive))
    assert not initialized(seen(kcp(1), pilot("a").joined().going(), tenant=alive))


def test_what_keeps_a_machine_from_being_made_is_told() -> None:
    broken = without_pods(tenant("a"), "kube-apiserver-a")
    found = told(plane(kcp().initialized(), *running("a"), tenant=broken))
    assert short(found, "ScalingUp") == (
        "True",
        "ScalingUp",
        "Scaling up from 1 to 3 replicas is blocked because:\n* waiting for control plane components to become healthy",
    )
    gone = HostTemplate(template().reference, template().kind, template().made)
    found = told(plane(kcp(), template=gone))
    assert short(found, "ScalingUp")[2].endswith("is blocked because:\n* BoatMachineTemplate does not exist")
    found = told(plane(kcp(1).initialized(), *running("a"), template=gone))
    assert short(found, "ScalingUp")[2] == "Scaling up would be blocked because BoatMachineTemplate does not exist"


def test_what_keeps_a_machine_from_going_is_told() -> None:
    late = pilot("c").joined().going(timedelta(minutes=16))
    found = told(plane(kcp(1).initialized(), *running("a"), late))
    assert short(found, "ScalingDown") == (
        "True",
        "ScalingDown",
        "Scaling down from 2 to 1 replicas is blocked because:\n* Machine c is in deletion since more than 15m",
    )


def test_a_rollout_names_its_reasons_and_the_version_first() -> None:
    old = pilot("a", version="v1.35.0").joined()
    changed = kcp().initialized().wanting(kubeadmConfigSpec={"verbosity": 5})
    found = told(plane(changed, old, configs={"a": config("a")}))
    assert short(found, "RollingOut") == (
        "True",
        "RollingOut",
        "Rolling out 1 not up-to-date replicas\n* Version v1.35.0, v1.36.3 required\n* KubeadmConfig is not up-to-date",
    )
    assert short(found, "MachinesUpToDate")[:2] == ("False", "NotUpToDate")


def test_certificates_are_told_as_they_are() -> None:
    def with_state(state: CertificateState) -> tuple[str, str, str]:
        return short(told(plane(kcp(), authorities=SecretsSeen(state, "why"))), "CertificatesAvailable")

    assert with_state(CertificateState.AVAILABLE) == ("True", "Available", "")
    assert with_state(CertificateState.MISSING) == ("False", "NotAvailable", "why")
    assert with_state(CertificateState.BROKEN) == ("Unknown", "InternalError", "why")
    early = told(plane(kcp(), cluster=cluster(status={"initialization": {"infrastructureProvisioned": None}})))
    assert get(early.conditions, "CertificatesAvailable") is None


def test_unhealthy_machines_are_told_whoever_has_to_do_something() -> None:
    sick = pilot("a").joined().given_up()
    found = told(plane(kcp().initialized(), sick, *running("b", "c")))
    assert short(found, "Remediating")[:2] == ("True", "Remediating")
    other = pilot("a").joined().reporting("HealthCheckSucceeded", "False")
    found = told(plane(kcp().initialized(), other, *running("b", "c")))
    assert short(found, "Remediating") == (
        "False",
        "NotRemediating",
        "Machine a is not healthy (not to be remediated by KubeadmControlPlane)",
    )


def test_the_last_remediation_is_that_in_progress_or_the_newest() -> None:
    def record(machine: str, minutes: int) -> str:
        when = NOW - timedelta(minutes=minutes)
        return RemediationRecord(machine=machine, timestamp=when, retry_count=1).annotation

    mark = "controlplane.cluster.x-k8s.io/remediation-for"
    machines = [
        pilot("a").joined().annotated({mark: record("old", 9)}),
        pilot("b").joined().annotated({mark: record("new", 5)}),
    ]
    found = told(plane(kcp(2).initialized(), *machines)).last_remediation
    assert found is not None
    assert (found.machine, found.retry_count) == ("new", 1)
    busy = kcp().initialized().annotated({"controlplane.cluster.x-k8s.io/remediation-in-progress": record("now", 1)})
    found = told(plane(busy, *machines)).last_remediation
    assert found is not None
    assert found.machine == "now"
    odd = told(plane(kcp().initialized(), pilot("a").joined().annotated({mark: "nonsense"})))
    assert odd.last_remediation is None


def test_a_control_plane_that_goes_is_not_available_and_says_why() -> None:
    found = told(plane(kcp().initialized().deleting(), *running("a"), workers=("w",)))
    assert short(found, "Deleting")[:2] == ("True", "WaitingForWorkersDeletion")
    assert "* Control plane metadata.deletionTimestamp is set" in short(found, "Available")[2]
    assert short(found, "ScalingDown")[2].startswith("Scaling down from 1 to 0 replicas")


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        (EtcdSeen(), ("Unknown", "InspectionFailed", "Failed to get etcd members")),
        (
            etcd("a", "b", "c", "stranger"),
            ("False", "NotAvailable", "The list of etcd members does not match the list of Machines and Nodes"),
        ),
        (
            etcd("a", member("b", alarms=("CORRUPT",)), member("c", alarms=("CORRUPT",))),
            (
                "False",
                "NotAvailable",
                "* 1 of 3 etcd members is healthy, at least 2 healthy member required for etcd quorum",
            ),
        ),
        (
            etcd(*(member(each, alarms=("CORRUPT",)) for each in "abc")),
            (
                "False",
                "NotAvailable",
                "* There are no healthy etcd member, at least 2 healthy member required for etcd quorum\n"
                "* There are no Machines with healthy control plane components, at least 1 required",
            ),
        ),
    ],
)
def test_the_api_is_not_available_without_a_quorum(members: EtcdSeen, expected: tuple[str, str, str]) -> None:
    found = told(plane(kcp().initialized(), *running("a", "b", "c"), tenant=tenant("a", "b", "c", etcd=members)))
    assert short(found, "Available") == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (119, ("False", "NotAvailable", "Waiting for etcd to report the list of members")),
        (120, ("Unknown", "InspectionFailed", "Failed to get etcd members")),
    ],
)
def test_etcd_is_given_two_minutes_to_list_its_members(seconds: int, expected: tuple[str, str, str]) -> None:
    young = kcp(1).initialized(since=NOW - timedelta(seconds=seconds))
    found = told(plane(young, *running("a"), tenant=tenant("a", etcd=EtcdSeen())))
    assert short(found, "Available") == expected


def test_a_failure_of_one_machine_is_told_once_it_has_lasted() -> None:
    broken = without_pods(tenant("a", "b", "c"), "kube-apiserver-c")
    fresh = plane(kcp().initialized(), *running("a", "b", "c"), tenant=broken)
    assert short(told(fresh), "Available") == ("True", "Available", "")
    assert seconds_until_news(fresh, told(fresh)) == pytest.approx(10.001)
    old = pilot("c").joined().reporting("APIServerPodHealthy", "False", since=NOW - timedelta(seconds=11))
    found = plane(kcp().initialized(), *running("a", "b"), old, tenant=broken)
    assert short(told(found), "Available") == (
        "True",
        "Available",
        "* 2 of 3 Machines have healthy control plane components, at least 1 required",
    )


def test_a_member_that_only_just_joins_costs_nothing() -> None:
    joining = tenant("a", "b", etcd=etcd("a", "b", MemberSeen(7, "")))
    found = told(plane(kcp().initialized(), *running("a", "b"), pilot("c"), tenant=joining))
    assert short(found, "Available") == ("True", "Available", "")
    named = tenant("a", etcd=etcd("a", "b"))
    found = told(plane(kcp().initialized(), *running("a"), pilot("b"), tenant=named))
    assert short(found, "Available")[0] == "False"


def test_with_an_external_etcd_one_machine_is_enough() -> None:
    external = {"endpoints": ["https://e"], "caFile": "a", "certFile": "b", "keyFile": "c"}
    of = kcp(1).initialized().wanting(kubeadmConfigSpec={"clusterConfiguration": {"etcd": {"external": external}}})
    found = told(plane(of, *running("a", of=of)))
    assert short(found, "Available")[0] == "True"
    assert get(found.conditions, "EtcdClusterHealthy") is None
    assert "EtcdClusterHealthy" not in owned_conditions(of.made())


def test_missing_certificates_make_the_api_unavailable() -> None:
    lost = SecretsSeen(CertificateState.MISSING, "gone")
    found = told(plane(kcp(1).initialized(), *running("a"), authorities=lost))
    assert short(found, "Available")[2] == "* Control plane certificates are not available"


def test_what_cannot_be_told_by_events_is_looked_for() -> None:
    quiet = plane(kcp().initialized(), *running("a", "b", "c"))
    assert seconds_until_news(quiet, told(quiet)) is None
    starting = plane(kcp(1))
    assert seconds_until_news(starting, told(starting)) == 20
    lasting = pilot("a").joined().reporting("SchedulerPodHealthy", "False", since=NOW - timedelta(minutes=1))
    broken = without_pods(tenant("a"), "kube-scheduler-a")
    failing = plane(kcp(1).initialized(), lasting, tenant=broken)
    assert seconds_until_news(failing, told(failing)) == 20
