from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from nagaya.core.machine.deletion.drain.judgement import Around, Fate, Unjudged, Verdict, judge
from nagaya.core.machine.deletion.drain.pods import PODS, Pod
from nagaya.core.machine.deletion.drain.rules import rules_for
from nagaya.kube.key import Key
from support.builders import NOW, cluster, date, machine
from support.deletion_seen import rule
from support.subtest_cases import subtest_cases

AROUND = Around(NOW, daemon_sets={Key("apps", "agent")})
FINISHED: dict[str, Any] = {"status": {"phase": "Succeeded"}}


def pod(name: str = "p", *, owner: str = "ReplicaSet", owner_name: str = "web", **parts: Any) -> Pod:
    """A running pod of a ReplicaSet, unless told otherwise."""
    metadata: dict[str, Any] = {"namespace": "apps", "name": name, **parts.pop("metadata", {})}
    if owner:
        reference = {"apiVersion": "apps/v1", "kind": owner, "name": owner_name, "uid": "1", "controller": True}
        metadata["ownerReferences"] = [reference]
    return PODS.convert({"metadata": metadata, "status": {"phase": "Running"}, **parts})


def only(each: Pod, around: Around = AROUND) -> Verdict:
    (verdict,) = judge([each], around)
    return verdict


GOING = pod(metadata={"deletionTimestamp": date(NOW)})


def labelled(**labels: str) -> dict[str, Any]:
    return {"labels": labels}


@subtest_cases(
    ("each", "fate", "note"),
    [
        (pod(), Fate.EVICT, ""),
        (pod(owner="DaemonSet", owner_name="agent"), Fate.LEAVE, "ignoring DaemonSet-managed Pod"),
        (pod(owner="DaemonSet", owner_name="gone"), Fate.EVICT, "evicting orphaned DaemonSet-managed Pod"),
        (pod(owner="DaemonSet", owner_name="agent", **FINISHED), Fate.EVICT, ""),
        (pod(metadata={"annotations": {"kubernetes.io/config.mirror": "x"}}), Fate.LEAVE, "it is a static Pod"),
        (pod(spec={"volumes": [{"name": "v", "emptyDir": {}}]}), Fate.EVICT, "evicting Pod with local storage"),
        (pod(spec={"volumes": [{"name": "v", "emptyDir": {}}]}, **FINISHED), Fate.EVICT, ""),
        (pod(spec={"volumes": None}), Fate.EVICT, ""),
        (pod(owner=""), Fate.EVICT, "evicting Pod that has no controller"),
        (pod(owner="", **FINISHED), Fate.EVICT, ""),
        (
            pod(owner="DaemonSet", owner_name="gone", spec={"volumes": [{"name": "v", "emptyDir": {}}]}),
            Fate.EVICT,
            "evicting orphaned DaemonSet-managed Pod, evicting Pod with local storage",
        ),
    ],
)
def test_pods_are_judged_as_kubectl_does(each: Pod, fate: Fate, note: str) -> None:
    verdict = only(each)
    assert (verdict.fate, verdict.order, verdict.note) == (fate, 0, note)


@pytest.mark.parametrize(
    ("value", "fate"),
    [
        ("skip", Fate.LEAVE),
        ("Skip", Fate.LEAVE),
        ("wait-completed", Fate.WAIT),
        ("WaitCompleted", Fate.WAIT),
        ("whatever", Fate.EVICT),
        ("", Fate.EVICT),
    ],
)
def test_a_label_decides_about_its_pod(value: str, fate: Fate) -> None:
    assert only(pod(metadata={"labels": {"cluster.x-k8s.io/drain": value}})).fate is fate


def test_a_pod_that_was_waited_for_keeps_nobody_once_it_has_finished() -> None:
    verdict = only(pod(metadata={"labels": {"cluster.x-k8s.io/drain": "wait-completed"}}, **FINISHED))
    assert (verdict.fate, verdict.blocks) == (Fate.DONE, False)


@pytest.mark.parametrize(("ago", "fate"), [(0, Fate.EVICT), (1.9, Fate.EVICT), (2, Fate.LEAVE), (-30, Fate.EVICT)])
def test_a_silent_kubelet_confirms_no_end_so_pods_that_go_are_not_waited_for(ago: float, fate: Fate) -> None:
    assert only(GOING, Around(NOW + timedelta(seconds=ago), unreachable=True)).fate is fate


def test_with_a_kubelet_that_answers_pods_that_go_are_waited_for() -> None:
    assert only(GOING, Around(NOW + timedelta(hours=1))).blocks


def around(*rules: Any, namespaces: dict[str, dict[str, str]] | None = None) -> Around:
    return Around(NOW, rules=rules_for(machine().made(), cluster().made(), rules), namespaces=namespaces)


def test_the_first_rule_by_name_that_applies_counts() -> None:
    rules = around(
        rule("c", "Skip"),
        rule("b", "Drain", 7, pods=[{"selector": {"matchLabels": {"app": "web"}}}]),
        rule("a", "WaitCompleted", pods=[{"selector": {"matchLabels": {"app": "job"}}}]),
    )
    web, job, other = (only(pod(metadata=labelled(app=name)), rules) for name in ("web", "job", "other"))
    assert (web.fate, web.order) == (Fate.EVICT, 7)
    assert (job.fate, job.order) == (Fate.WAIT, 0)
    assert other.fate is Fate.LEAVE


def test_a_rule_asks_for_the_labels_of_pod_and_namespace_together() -> None:
    both = {"selector": {"matchLabels": {"app": "web"}}, "namespaceSelector": {"matchLabels": {"team": "x"}}}
    web = pod(metadata=labelled(app="web"))
    for labels, fate in (({"team": "x"}, Fate.LEAVE), ({"team": "y"}, Fate.EVICT)):
        assert only(web, around(rule("a", "Skip", pods=[both]), namespaces={"apps": labels})).fate is fate
    other = pod(metadata=labelled(app="other"))
    assert only(other, around(rule("a", "Skip", pods=[both]), namespaces={"apps": {"team": "x"}})).fate is Fate.EVICT


def test_a_label_and_a_daemon_set_come_before_rules() -> None:
    rules = around(rule("a", "Drain", 3))
    assert only(pod(metadata={"labels": {"cluster.x-k8s.io/drain": "skip"}}), rules).fate is Fate.LEAVE
    assert only(pod(metadata={"annotations": {"kubernetes.io/config.mirror": "x"}}), rules).fate is Fate.LEAVE


def test_warnings_go_with_the_order_of_a_rule() -> None:
    verdict = only(pod(owner=""), around(rule("a", "Drain", -2)))
    assert (verdict.order, verdict.note) == (-2, "evicting Pod that has no controller")


def test_pods_without_a_verdict_are_told_together() -> None:
    with pytest.raises(Unjudged, match='Pods with error "Pod Namespace does not exist": apps/a, apps/b'):
        judge([pod("b"), pod("a")], around(namespaces={}))
    told = r'Pods with error "MachineDrainRule \"r\" has unknown spec.drain.behavior: \"Shoo\"": apps/p'
    with pytest.raises(Unjudged) as raised:
        judge([pod()], around(rule("r", "Shoo")))
    assert str(raised.value) == told


def test_verdicts_are_in_the_order_of_names() -> None:
    assert [str(each.key) for each in judge([pod("b"), pod("a"), pod("a-1")], AROUND)] == [
        "apps/a",
        "apps/a-1",
        "apps/b",
    ]
