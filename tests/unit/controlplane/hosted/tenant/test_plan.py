from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.api.untyped import Untyped
from nagaya.controlplane.hosted.tenant import kinds
from nagaya.controlplane.hosted.tenant.access import cluster_binding, group
from nagaya.controlplane.hosted.tenant.kinds import Manifest, config_map, manifest
from nagaya.controlplane.hosted.tenant.plan import Settled, Verb, difference, plan, step_for

MAP = config_map("kube-system", "kubeadm-config", {"a": "1"})
BINDING = cluster_binding("kubeadm:get-nodes", "kubeadm:get-nodes", group("system:nodes"))
CONTAINER = {"name": "dns", "image": "dns:1", "args": ["-conf", "/x"]}
DEPLOYMENT = manifest(
    kinds.DEPLOYMENTS,
    "kube-system",
    "coredns",
    spec={
        "replicas": 2,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"spec": {"containers": [CONTAINER], "tolerations": [{"operator": "Exists"}]}},
    },
    kept=("spec", "replicas"),
)
SERVICE = manifest(kinds.SERVICES, "kube-system", "kube-dns", spec={"clusterIP": "10.96.0.10", "selector": {"a": "b"}})


def held(wanted: Manifest, change: Any = None) -> Untyped:
    """An object as a server holds it: with what is wanted, and with what servers add."""
    content = deepcopy(dict(wanted.content))
    content["metadata"] |= {"uid": "u", "resourceVersion": "5", "generation": 1}
    content["status"] = {"observed": 1}
    if change is not None:
        change(content)
    return Untyped(content)


def step(wanted: Manifest, obj: Untyped | None, settled: Any = None) -> Any:
    return step_for(wanted, obj, settled or {})


def container_of(content: Any) -> Any:
    return content["spec"]["template"]["spec"]["containers"][0]


def test_what_is_missing_is_applied() -> None:
    found = step(MAP, None)
    assert (found.verb, found.content) == (Verb.APPLY, MAP.content)
    assert str(found) == "apply ConfigMap kube-system/kubeadm-config: it is missing."


@pytest.mark.parametrize("wanted", [MAP, BINDING, DEPLOYMENT, SERVICE], ids=str)
def test_what_is_as_wanted_needs_nothing(wanted: Manifest) -> None:
    assert step(wanted, held(wanted)) is None


@pytest.mark.parametrize(
    ("wanted", "change", "where"),
    [
        (MAP, lambda content: content["data"].update(a="2"), "data.a"),
        (MAP, lambda content: content["data"].pop("a"), "data.a"),
        (MAP, lambda content: content["metadata"].pop("labels"), "metadata.labels"),
        (BINDING, lambda content: content["subjects"].append({"kind": "User", "name": "eve"}), "subjects"),
        (
            DEPLOYMENT,
            lambda content: container_of(content).update(image="x"),
            "spec.template.spec.containers[dns].image",
        ),
        (
            DEPLOYMENT,
            lambda content: container_of(content)["args"].append("x"),
            "spec.template.spec.containers[dns].args",
        ),
        (SERVICE, lambda content: content["spec"]["selector"].update(a="c"), "spec.selector.a"),
    ],
)
def test_what_was_changed_is_applied_again_and_the_place_is_named(wanted: Manifest, change: Any, where: str) -> None:
    found = step(wanted, held(wanted, change))
    assert (found.verb, found.why) == (Verb.APPLY, f"{where} was changed.")


@pytest.mark.parametrize(
    ("wanted", "change", "field"),
    [
        (BINDING, lambda content: content["roleRef"].update(name="cluster-admin"), "roleRef"),
        (DEPLOYMENT, lambda content: content["spec"]["selector"]["matchLabels"].update(x="y"), "spec.selector"),
        (SERVICE, lambda content: content["spec"].update(clusterIP="10.96.0.9"), "spec.clusterIP"),
    ],
)
def test_what_cannot_be_changed_in_place_is_made_anew(wanted: Manifest, change: Any, field: str) -> None:
    obj = held(wanted, change)
    found = step(wanted, obj)
    assert (found.verb, found.held) == (Verb.REPLACE, obj)
    assert found.why.startswith(f"{field} is another")


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content["spec"].update(replicas=7),
        lambda content: content["spec"].update(paused=True),
        lambda content: container_of(content).update(terminationMessagePath="/dev/x"),
        lambda content: content["spec"]["template"]["spec"]["containers"].insert(0, {"name": "sidecar"}),
        lambda content: content["metadata"]["labels"].update(team="x"),
    ],
)
def test_what_others_add_is_theirs(change: Any) -> None:
    assert step(DEPLOYMENT, held(DEPLOYMENT, change)) is None


def test_a_change_beside_a_kept_field_does_not_touch_it() -> None:
    def change(content: Any) -> None:
        content["spec"]["replicas"] = 7
        container_of(content)["image"] = "x"

    found = step(DEPLOYMENT, held(DEPLOYMENT, change))
    assert found.content["spec"]["replicas"] == 7
    assert DEPLOYMENT.content["spec"]["replicas"] == 2


def test_what_applying_could_not_change_is_left_until_it_changes() -> None:
    def change(content: Any) -> None:
        content["spec"]["template"]["spec"]["tolerations"].append({"key": "x"})

    obj = held(DEPLOYMENT, change)
    place = (DEPLOYMENT.kind, DEPLOYMENT.key)
    content = step(DEPLOYMENT, obj).content
    settled = {place: Settled.after(content, obj)}
    assert step(DEPLOYMENT, obj, settled) is None

    def newer_status(content: Any) -> None:
        change(content)
        content["status"] = {"observed": 2}
        content["metadata"]["resourceVersion"] = "6"

    assert step(DEPLOYMENT, held(DEPLOYMENT, newer_status), settled) is None

    def another_change(content: Any) -> None:
        change(content)
        container_of(content)["image"] = "x"

    assert step(DEPLOYMENT, held(DEPLOYMENT, another_change), settled).verb is Verb.APPLY


def test_only_what_was_switched_off_is_removed() -> None:
    copy = manifest(kinds.SERVICES, "kube-system", "copy")
    objects = {(each.kind, each.key): held(each) for each in (MAP, SERVICE, copy)}
    (found,) = plan([MAP], objects, {(SERVICE.kind, SERVICE.key)}, {})
    assert str(found) == "remove Service kube-system/kube-dns: it belongs to what has been switched off."


def test_what_is_going_already_is_not_removed_again() -> None:
    going = held(SERVICE, lambda content: content["metadata"].update(deletionTimestamp="2026-11-16T00:00:00Z"))
    place = (SERVICE.kind, SERVICE.key)
    assert plan([], {place: going}, {place}, {}) == ()


JSON = st.recursive(
    st.booleans() | st.integers(0, 1) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=3),
    max_leaves=10,
)


@given(JSON)
def test_a_value_does_not_differ_from_itself(value: Any) -> None:
    assert difference(value, deepcopy(value)) is None


@given(JSON, JSON)
def test_values_that_do_not_differ_either_way_are_equal(one: Any, other: Any) -> None:
    if difference(one, other) is None and difference(other, one) is None:
        assert one == other


def test_true_is_not_one() -> None:
    assert difference({"a": True}, {"a": 1}) == "a"
