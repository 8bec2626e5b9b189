from __future__ import annotations

import pytest

from nagaya.apiserver.authz.node_labels import forbidden_changes


@pytest.mark.parametrize(
    "label",
    ["foo", "example.com/x", "kubernetes.io/hostname", "kubelet.kubernetes.io/a", "x.node.kubernetes.io/b"],
)
def test_a_node_may_set_its_own_labels(label: str) -> None:
    assert forbidden_changes({label: "x"}, {}) == []


@pytest.mark.parametrize(
    "label",
    [
        "kubernetes.io/foo",
        "x.k8s.io/y",
        "node-role.kubernetes.io/control-plane",
        "node-restriction.kubernetes.io/x",
        "a.node-restriction.kubernetes.io/x",
    ],
)
def test_a_node_must_not_touch_labels_that_others_trust(label: str) -> None:
    assert forbidden_changes({label: "x"}, {}) == [label]
    assert forbidden_changes({}, {label: "x"}) == [label]
    assert forbidden_changes({label: "y"}, {label: "x"}) == [label]
    assert forbidden_changes({label: "x"}, {label: "x"}) == []


def test_all_of_them_are_listed_in_order() -> None:
    assert forbidden_changes({"x.k8s.io/b": "", "kubernetes.io/a": "", "free": ""}, {}) == [
        "kubernetes.io/a",
        "x.k8s.io/b",
    ]
