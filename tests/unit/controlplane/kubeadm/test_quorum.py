from __future__ import annotations

from dataclasses import replace

import pytest

from nagaya.controlplane.kubeadm.control_plane import ControlPlane
from nagaya.controlplane.kubeadm.quorum import components_survive, etcd_survives, quorum
from nagaya.controlplane.kubeadm.tenant_seen import MemberSeen
from support.subtest_cases import subtest_cases
from unit.controlplane.kubeadm.examples import etcd, kcp, member, plane, running, tenant, without_pods


def etcd_of(sick: str, healthy: str, *, missing: str = "") -> ControlPlane:
    """Machines by letters, some with a member that raises an alarm; those that are missing have no member."""
    names = sorted(sick + healthy)
    members = [member(each, alarms=("CORRUPT",) if each in sick else ()) for each in names if each not in missing]
    return plane(kcp().initialized(), *running(*names), tenant=tenant(*names, etcd=etcd(*members)))


# The cases of Cluster API: the machine a goes, or another one comes.
@subtest_cases(
    ("sick", "healthy", "missing", "safe"),
    [
        ("a", "", "", False),
        ("a", "b", "", True),
        ("a", "b", "a", True),
        ("ab", "", "", False),
        ("a", "bc", "", True),
        ("a", "bc", "a", True),
        ("ab", "c", "", False),
        ("ab", "c", "b", True),
        ("ab", "c", "ab", True),
        ("ab", "cde", "", True),
        ("abc", "de", "b", True),
        ("abc", "de", "", False),
        ("abc", "defg", "", True),
        ("abcd", "efg", "b", True),
        ("abcd", "efg", "", False),
    ],
)
def test_a_member_goes_only_if_the_rest_has_a_quorum(sick: str, healthy: str, missing: str, safe: bool) -> None:
    assert etcd_survives(etcd_of(sick, healthy, missing=missing), without="a") is safe


@subtest_cases(
    ("sick", "healthy", "missing", "safe"),
    [
        ("", "", "", True),
        ("", "a", "", True),
        ("a", "", "", False),
        ("", "ab", "", True),
        ("b", "a", "b", True),
        ("b", "a", "", False),
        ("", "abc", "", True),
        ("b", "ac", "b", True),
        ("b", "ac", "", False),
        ("", "abcd", "", True),
        ("b", "acd", "b", True),
        ("b", "acd", "", True),
        ("bc", "ad", "", False),
        ("", "abcde", "", True),
        ("bc", "ade", "", False),
    ],
)
def test_a_member_comes_only_if_etcd_stands_that_it_does_not_work(
    sick: str, healthy: str, missing: str, safe: bool
) -> None:
    assert etcd_survives(etcd_of(sick, healthy, missing=missing), with_one_more=True) is safe


@pytest.mark.parametrize("newcomer", [member("c", learner=True), MemberSeen(7, "")])
def test_nothing_is_safe_while_a_member_is_about_to_vote(newcomer: MemberSeen) -> None:
    found = plane(
        kcp().initialized(), *running("a", "b", "c"), tenant=tenant("a", "b", "c", etcd=etcd("a", "b", newcomer))
    )
    assert not etcd_survives(found, without="a")
    assert not etcd_survives(found, with_one_more=True)


def test_a_member_without_a_machine_counts_by_its_alarms() -> None:
    def with_stranger(stranger: MemberSeen) -> ControlPlane:
        return plane(kcp().initialized(), *running("a", "b"), tenant=tenant("a", "b", etcd=etcd("a", "b", stranger)))

    assert etcd_survives(with_stranger(member("stranger")), without="a")
    assert not etcd_survives(with_stranger(member("stranger", alarms=("NOSPACE",))), without="a")
    assert etcd_survives(with_stranger(member("stranger", alarms=("NOSPACE",))), without="stranger")


def test_a_quorum_is_more_than_half() -> None:
    assert [quorum(count) for count in range(6)] == [1, 1, 2, 2, 3, 3]


def test_one_machine_must_keep_all_its_components() -> None:
    fine = plane(kcp().initialized(), *running("a", "b"))
    assert components_survive(fine, without="a")
    broken = without_pods(tenant("a", "b"), "kube-scheduler-b")
    half = plane(kcp().initialized(), *running("a", "b"), tenant=broken)
    assert not components_survive(half, without="a")
    assert components_survive(half, without="b")
    assert components_survive(half, with_one_more=True)


def test_a_machine_without_its_etcd_pod_does_not_count_unless_etcd_is_external() -> None:
    broken = without_pods(tenant("a", "b"), "etcd-b")
    found = plane(kcp().initialized(), *running("a", "b"), tenant=broken)
    assert not components_survive(found, without="a")
    external = (
        kcp()
        .initialized()
        .wanting(
            kubeadmConfigSpec={
                "clusterConfiguration": {
                    "etcd": {"external": {"endpoints": ["https://e"], "caFile": "a", "certFile": "b", "keyFile": "c"}}
                }
            }
        )
    )
    found = plane(external, *running("a", "b"), tenant=broken)
    assert components_survive(found, without="a")


def test_the_first_machine_of_all_is_always_safe_to_add() -> None:
    assert components_survive(plane(kcp()), with_one_more=True)
    alone = plane(kcp().initialized(), *running("a"), tenant=without_pods(tenant("a"), "kube-apiserver-a"))
    assert not components_survive(alone, with_one_more=True)
    assert not components_survive(replace(alone, machines=()), without="a")
