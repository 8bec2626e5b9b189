from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from nagaya.api.cluster.machine import Machine
from nagaya.controlplane.kubeadm.actions import (
    CreateMachine,
    DeleteMachine,
    MoveLeader,
    RememberRemediation,
    UpdateKubeadmConfig,
)
from nagaya.controlplane.kubeadm.certificates_port import CertificateState, SecretsSeen
from nagaya.controlplane.kubeadm.hosts import HostTemplate
from nagaya.controlplane.kubeadm.leadership import candidates_for, handover
from nagaya.controlplane.kubeadm.rollout import max_surge, rollout
from nagaya.controlplane.kubeadm.scaling import scale_down, scale_up, scaling, select
from support.subtest_cases import subtest_cases
from unit.controlplane.kubeadm.examples import (
    Pilot,
    etcd,
    kcp,
    pilot,
    plane,
    running,
    template,
    tenant,
    with_domains,
    without_pods,
)


def names(machine: Machine | None) -> str | None:
    return None if machine is None else machine.metadata.name


def test_the_first_machine_starts_the_cluster_and_the_others_join() -> None:
    first = scaling(plane(kcp()))
    assert first is not None
    assert first.actions == (CreateMachine("", False, first.why),)
    second = scaling(plane(kcp().initialized(), *running("a")))
    assert second is not None
    (made,) = second.actions
    assert isinstance(made, CreateMachine)
    assert made.join


def test_replicas_that_are_not_given_are_one() -> None:
    assert scaling(plane(kcp(None).initialized(), *running("a"))) is None


def test_the_last_member_of_etcd_stays_whatever_was_written_where_admission_is_absent() -> None:
    found = scaling(plane(kcp(0).initialized(), *running("a")))
    assert found is not None
    assert found.actions == ()
    assert found.problem


def test_the_first_machine_waits_for_certificates() -> None:
    lost = SecretsSeen(CertificateState.BROKEN, "Secret x: no key.")
    found = scale_up(plane(kcp(), authorities=lost))
    assert found.actions == ()
    assert "Secret x: no key." in found.why
    assert found.checks.certificates_missing


def test_nothing_is_made_without_its_template() -> None:
    gone = HostTemplate(template().reference, template().kind, template().made)
    found = scale_up(plane(kcp(), template=gone))
    assert found.actions == ()
    assert "BoatMachineTemplate boat does not exist" in found.why
    assert found.problem


def test_a_new_machine_goes_where_the_fewest_up_to_date_ones_are() -> None:
    old = [pilot(name, version="v1.35.0").joined().in_domain(domain) for name, domain in (("a", "x"), ("b", "y"))]
    new = pilot("c").joined().in_domain("x")
    found = scale_up(plane(kcp().initialized(), *old, new, cluster=with_domains("x", "y")))
    (made,) = found.actions
    assert isinstance(made, CreateMachine)
    assert made.failure_domain == "y"


def test_making_the_replacement_ends_the_remediation() -> None:
    record = {"controlplane.cluster.x-k8s.io/remediation-in-progress": "{}"}
    found = scale_up(plane(kcp().initialized().annotated(record), *running("a", "b")))
    assert isinstance(found.actions[-1], RememberRemediation)
    assert found.actions[-1].record is None


def test_the_leader_hands_over_before_its_machine_goes() -> None:
    leading = tenant("a", "b", "c", etcd=etcd("a", "b", "c", leader="a"))
    found = scaling(plane(kcp(1).initialized(), *running("a", "b", "c"), tenant=leading))
    assert found is not None
    move, delete = found.actions
    assert isinstance(move, MoveLeader)
    assert (move.leader, set(move.candidates)) == ("a", {"b", "c"})
    assert isinstance(delete, DeleteMachine)
    assert names(delete.machine) == "a"


def test_no_machine_goes_while_nobody_knows_who_leads() -> None:
    leaderless = tenant("a", "b")
    leaderless = replace(leaderless, etcd=replace(leaderless.etcd, leader=None))
    found = scaling(plane(kcp(1).initialized(), *running("a", "b"), tenant=leaderless))
    assert found is not None
    assert found.problem
    assert found.actions == ()
    assert "failed to detect etcd leader" in found.why


def test_candidates_are_those_that_will_stay_and_the_newest_of_them() -> None:
    machines = [
        pilot("sick").joined(),
        pilot("doomed").joined().given_up(),
        pilot("old", version="v1.35.0").joined().reporting("HealthCheckSucceeded", "True"),
        pilot("elder").joined().reporting("HealthCheckSucceeded", "True").created(timedelta(hours=3)),
        pilot("younger").joined().reporting("HealthCheckSucceeded", "True").created(timedelta(hours=2)),
        pilot("going").joined().going(),
        pilot("coming"),
        pilot("leader").joined(),
    ]
    there = ["sick", "doomed", "old", "elder", "younger", "going", "leader"]
    members = etcd(*there[1:], leader="leader")
    found = plane(kcp().initialized(), *machines, tenant=tenant(*there, etcd=members))
    leader = next(each for each in found.machines if each.metadata.name == "leader")
    ordered = [each.metadata.name for each in candidates_for(found, leader)]
    assert ordered == ["younger", "elder", "old", "doomed", "sick"]
    assert handover(found, leader).move[0].candidates[0] == "younger"
    assert handover(found, next(each for each in found.machines if each.metadata.name == "old")).move == ()


def aged(name: str, domain: str, hours: int, *marks: str) -> Pilot:
    machine = pilot(name).joined().in_domain(domain).created(timedelta(hours=hours))
    return machine.annotated(dict.fromkeys(marks, ""))


MARK = "cluster.x-k8s.io/delete-machine"
FLEET = {
    1: aged("1", "one", 0),
    2: aged("2", "one", 4),
    3: aged("3", "one", 5),
    4: aged("4", "two", 2),
    5: aged("5", "two", 3),
    6: aged("6", "two", 8),
    7: aged("7", "two", 6, MARK),
    8: aged("8", "two", 7, MARK),
    9: aged("9", "two", 6),
    10: aged("10", "two", 5),
    11: aged("11", "two", 4),
}


# The cases of Cluster API. On 10 the API server fails, on 11 the etcd member.
@subtest_cases(
    ("present", "outdated", "chosen"),
    [
        ((1, 2, 3, 4, 5), (5,), "5"),
        ((1, 2, 3, 4), (), "3"),
        ((6, 7, 8), (6, 7), "7"),
        ((6, 7, 8), (7, 8), "8"),
        ((6, 7, 8), (), "8"),
        ((1, 2, 3, 4, 5, 7), (7, 3), "7"),
        ((9, 10, 11), (9, 10), "10"),
        ((9, 10, 11), (9, 10, 11), "10"),
    ],
)
def test_the_machine_that_goes_is_chosen_as_cluster_api_does(
    present: tuple[int, ...], outdated: tuple[int, ...], chosen: str
) -> None:
    there = [str(each) for each in present]
    seen_there = without_pods(tenant(*there, etcd=etcd(*(each for each in there if each != "11"))), "kube-apiserver-10")
    found = plane(
        kcp().initialized(),
        *(FLEET[each] for each in present),
        tenant=seen_there,
        cluster=with_domains("one", "two"),
    )
    old = [each for each in found.machines if each.metadata.name in {str(number) for number in outdated}]
    assert names(select(found, old)) == chosen


def test_a_rollout_updates_what_joining_machines_read_first() -> None:
    found = rollout(plane(kcp().initialized(), *(pilot(n, version="v1.35.0").joined() for n in "abc")))
    assert found is not None
    assert [type(each) for each in found.actions] == [UpdateKubeadmConfig, CreateMachine]
    assert 'Machine a needs rollout: Machine version "v1.35.0" is not equal' in found.why


def test_without_a_surge_the_old_machine_goes_first() -> None:
    old = [pilot(n, version="v1.35.0").joined() for n in "abc"]
    found = rollout(plane(kcp().initialized().surging(0), *old))
    assert found is not None
    assert isinstance(found.actions[-1], DeleteMachine)
    less = rollout(plane(kcp().initialized().surging(0), *old[:2]))
    assert less is not None
    assert isinstance(less.actions[-1], CreateMachine)


def test_a_rollout_waits_for_its_tenant() -> None:
    found = rollout(plane(kcp(1), pilot("a", version="v1.35.0")))
    assert found is not None
    assert found.problem
    assert found.actions == ()


@pytest.mark.parametrize(("said", "meant"), [(None, 1), (1, 1), (0, 0), ("1", 1), ("0", 0), ("x", 0)])
def test_a_surge_may_be_a_number_or_a_text(said: int | str | None, meant: int) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {} if said is None else {"maxSurge": said}}
    assert max_surge(kcp().wanting(rollout={"strategy": strategy}).made()) == meant
    assert max_surge(kcp().made()) == 1


def test_a_deletion_without_a_machine_is_a_problem_and_no_crash() -> None:
    assert scale_down(plane(kcp().initialized()), None).problem
