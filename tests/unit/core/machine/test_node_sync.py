from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nagaya.api.cluster.machine_set import MACHINE_SETS
from nagaya.clusters.node import NODES, Node
from nagaya.core.machine.node_sync import node_change, outdated
from nagaya.core.machine.seen import Seen, Settings
from nagaya.kube.patches import difference
from support.builders import Draft, machine, machine_deployment, machine_set
from support.machine_seen import node, seen

GIVEN = {
    "cluster.x-k8s.io/cluster-name": "harbour",
    "cluster.x-k8s.io/cluster-namespace": "fleet",
    "cluster.x-k8s.io/machine": "a",
}
NOTES = {
    "cluster.x-k8s.io/labels-from-machine": "",
    "cluster.x-k8s.io/annotations-from-machine": "",
    "cluster.x-k8s.io/taints-from-machine": "",
}
UNINITIALIZED = {"key": "node.cluster.x-k8s.io/uninitialized", "effect": "NoSchedule"}
OUTDATED = {"key": "node.cluster.x-k8s.io/outdated-revision", "effect": "PreferNoSchedule"}
GPU = {"key": "example.com/gpu", "value": "big", "effect": "NoSchedule"}


def tainted(*taints: dict[str, str], **metadata: Any) -> Node:
    raw = {"metadata": {"name": "node-a", **metadata}, "spec": {"taints": [*taints]}}
    return NODES.convert(raw)


def after(view: Seen, before: Node, interruptible: bool = False) -> Node:
    """The Node with the patch applied."""
    patch = node_change(view, before, interruptible)
    return before if patch is None else NODES.convert(merged(NODES.content(before), patch))


def merged(content: Any, patch: dict[str, Any]) -> Any:
    result = dict(content)
    for name, part in patch.items():
        if part is None:
            result.pop(name, None)
        elif isinstance(part, dict):
            result[name] = merged(result.get(name, {}), part)
        else:
            result[name] = part
    return result


def taints(node: Node) -> list[tuple[str, str, str]]:
    return [(each.key, each.value, each.effect) for each in node.spec.taints]


def test_a_new_node_learns_where_it_belongs() -> None:
    assert node_change(seen(), node(), False) == {"metadata": {"annotations": GIVEN | NOTES}}


def test_a_node_that_has_everything_is_left_alone() -> None:
    assert node_change(seen(), node(annotations=GIVEN | NOTES), False) is None


def test_the_owner_of_the_machine_is_written_down() -> None:
    owned = machine().owned_by(machine_set().made(), MACHINE_SETS, controller=True)
    annotations = after(seen(owned), node()).metadata.annotations
    assert annotations["cluster.x-k8s.io/owner-kind"] == "MachineSet"
    assert annotations["cluster.x-k8s.io/owner-name"] == "workers-1"


def test_the_owner_goes_when_it_is_gone() -> None:
    before = node(annotations={**GIVEN, **NOTES, "cluster.x-k8s.io/owner-kind": "MachineSet"})
    assert "cluster.x-k8s.io/owner-kind" not in after(seen(), before).metadata.annotations


def test_only_labels_of_certain_domains_are_carried_over() -> None:
    labelled = machine().labelled(
        {
            "node-role.kubernetes.io/worker": "",
            "node-restriction.kubernetes.io/tier": "1",
            "a.node-restriction.kubernetes.io/tier": "2",
            "node.cluster.x-k8s.io/tier": "3",
            "a.node.cluster.x-k8s.io/tier": "4",
            "xnode.cluster.x-k8s.io/tier": "5",
            "a.node-role.kubernetes.io/worker": "6",
            "tier": "7",
        }
    )
    made = after(seen(labelled), node()).metadata
    assert made.labels == {
        "node-role.kubernetes.io/worker": "",
        "node-restriction.kubernetes.io/tier": "1",
        "a.node-restriction.kubernetes.io/tier": "2",
        "node.cluster.x-k8s.io/tier": "3",
        "a.node.cluster.x-k8s.io/tier": "4",
    }
    assert made.annotations["cluster.x-k8s.io/labels-from-machine"] == ",".join(sorted(made.labels))


def test_the_operator_may_have_more_carried_over() -> None:
    settings = Settings(sync_labels=(re.compile("^tier$"),), sync_annotations=(re.compile("contact"),))
    known = machine().labelled({"tier": "7", "frontier": "8"}).annotated({"example.com/contact": "me"})
    made = after(seen(known, settings=settings), node()).metadata
    assert made.labels == {"tier": "7"}
    assert made.annotations["example.com/contact"] == "me"
    assert made.annotations["cluster.x-k8s.io/annotations-from-machine"] == "example.com/contact"


def test_what_came_from_the_machine_goes_with_it_and_nothing_else() -> None:
    notes = {
        "cluster.x-k8s.io/labels-from-machine": "node.cluster.x-k8s.io/old",
        "cluster.x-k8s.io/annotations-from-machine": "node.cluster.x-k8s.io/note",
        "node.cluster.x-k8s.io/note": "x",
        "theirs": "x",
    }
    before = node(labels={"node.cluster.x-k8s.io/old": "x", "theirs": "x"}, annotations=notes)
    made = after(seen(), before).metadata
    assert made.labels == {"theirs": "x"}
    assert "node.cluster.x-k8s.io/note" not in made.annotations
    assert made.annotations["theirs"] == "x"


def test_a_node_that_may_be_taken_away_says_so() -> None:
    assert after(seen(), node(), interruptible=True).metadata.labels == {"cluster.x-k8s.io/interruptible": ""}
    tracked = after(seen(), node(), interruptible=True)
    assert after(seen(), tracked).metadata.labels == {}


def test_pods_are_let_in_once_everything_is_there() -> None:
    unreachable = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": "2026-11-01T11:59:00Z"}
    patch = node_change(seen(), tainted(UNINITIALIZED, unreachable), False)
    assert patch is not None
    assert patch["spec"] == {"taints": [unreachable]}


def test_the_last_taint_goes_altogether() -> None:
    patch = node_change(seen(), tainted(UNINITIALIZED), False)
    assert patch is not None
    assert patch["spec"] == {"taints": None}


def test_a_taint_of_the_same_key_with_another_effect_is_another_taint() -> None:
    other = {**UNINITIALIZED, "effect": "NoExecute"}
    assert taints(after(seen(), tainted(other))) == [(other["key"], "", "NoExecute")]


def always(*more: dict[str, str]) -> Draft[Any]:
    return machine().having(spec={"taints": [{**each, "propagation": "Always"} for each in more]})


def once(*more: dict[str, str]) -> Draft[Any]:
    return machine().having(spec={"taints": [{**each, "propagation": "OnInitialization"} for each in more]})


def test_a_taint_that_always_holds_comes_back_with_its_value() -> None:
    view = seen(always(GPU))
    first = after(view, tainted())
    assert taints(first) == [("example.com/gpu", "big", "NoSchedule")]
    assert first.metadata.annotations["cluster.x-k8s.io/taints-from-machine"] == "example.com/gpu:NoSchedule"
    changed = tainted({**GPU, "value": "small"}, annotations=dict(first.metadata.annotations))
    assert taints(after(view, changed)) == [("example.com/gpu", "big", "NoSchedule")]


def test_a_taint_that_always_held_goes_when_the_machine_no_longer_has_it() -> None:
    first = after(seen(always(GPU)), tainted())
    assert taints(after(seen(), first)) == []


def test_a_taint_for_the_beginning_is_set_once_and_then_left_to_others() -> None:
    view = seen(once(GPU))
    first = after(view, tainted())
    assert taints(first) == [("example.com/gpu", "big", "NoSchedule")]
    assert first.metadata.annotations["cluster.x-k8s.io/taints-from-machine"] == ""
    removed = tainted(annotations=dict(first.metadata.annotations))
    assert taints(after(view, removed)) == []


def test_a_taint_that_becomes_one_for_the_beginning_stays() -> None:
    first = after(seen(always(GPU)), tainted())
    assert taints(after(seen(once(GPU)), first)) == [("example.com/gpu", "big", "NoSchedule")]


def test_nodes_that_go_soon_are_marked_and_unmarked() -> None:
    old = seen(machine_set=machine_set().made(), deployment=machine_deployment(revision=2).made())
    assert taints(after(old, tainted())) == [(OUTDATED["key"], "", OUTDATED["effect"])]
    new = seen(machine_set=machine_set(revision=2).made(), deployment=machine_deployment(revision=2).made())
    assert taints(after(new, tainted(OUTDATED))) == []


def test_a_revision_is_a_number_and_none_is_the_oldest() -> None:
    tenth = machine_deployment(revision=10).made()
    assert outdated(machine_set(revision=9).made(), tenth) is True
    bare = machine_set().annotated({"machinedeployment.clusters.x-k8s.io/revision": None}).made()
    assert outdated(bare, tenth) is True
    assert outdated(None, tenth) is False


NAMES = st.sampled_from(["node.cluster.x-k8s.io/a", "node.cluster.x-k8s.io/b", "node-role.kubernetes.io/c", "theirs/d"])
PAIRS = st.dictionaries(NAMES, st.sampled_from(["1", "2"]))
TAINTS = st.lists(
    st.builds(
        lambda key, value, effect, how: {"key": key, "value": value, "effect": effect, "propagation": how},
        st.sampled_from(["x/a", "x/b"]),
        st.sampled_from(["1", "2"]),
        st.sampled_from(["NoSchedule", "NoExecute"]),
        st.sampled_from(["Always", "OnInitialization"]),
    ),
    unique_by=lambda each: (each["key"], each["effect"]),
)


@given(PAIRS, PAIRS, TAINTS, PAIRS, PAIRS)
def test_one_patch_is_enough_and_what_others_set_survives(
    labels: dict[str, str],
    annotations: dict[str, str],
    wanted: list[dict[str, str]],
    present_labels: dict[str, str],
    present_annotations: dict[str, str],
) -> None:
    view = seen(machine().labelled(labels).annotated(annotations).having(spec={"taints": wanted}))
    before = node(labels=present_labels, annotations=present_annotations)
    made = after(view, before)
    assert node_change(view, made, False) is None
    theirs = {name: value for name, value in present_labels.items() if name.startswith("theirs/")}
    assert difference(theirs, {each: made.metadata.labels.get(each) for each in theirs}) is None
    assert {(each.key, each.effect) for each in made.spec.taints} == {(each["key"], each["effect"]) for each in wanted}
