from __future__ import annotations

from typing import Any

import pytest

from nagaya.apiserver.crd import name_rules
from nagaya.apiserver.crd.name_rules import Approval


def crd(group: str, annotation: str | None = None) -> dict[str, Any]:
    annotations = {} if annotation is None else {name_rules.APPROVED: annotation}
    return {"metadata": {"annotations": annotations}, "spec": {"group": group}}


@pytest.mark.parametrize(
    ("group", "protected"),
    [("k8s.io", True), ("apps.kubernetes.io", True), ("cluster.x-k8s.io", False), ("example.io", False)],
)
def test_which_groups_belong_to_kubernetes(group: str, protected: bool) -> None:
    assert name_rules.is_protected(group) is protected


@pytest.mark.parametrize(
    ("annotation", "state"),
    [
        (None, Approval.MISSING),
        ("https://github.com/kubernetes/kubernetes/pull/1", Approval.APPROVED),
        ("unapproved, because", Approval.BYPASSED),
        ("/no/host", Approval.INVALID),
        ("sure", Approval.INVALID),
    ],
)
def test_what_an_approval_says(annotation: str | None, state: Approval) -> None:
    assert name_rules.approval(crd("k8s.io", annotation))[0] is state


def test_only_protected_groups_need_an_approval() -> None:
    assert name_rules.check_approval(crd("example.io"), None) == []
    assert [error.field for error in name_rules.check_approval(crd("k8s.io"), None)] == [
        "metadata.annotations[api-approved.kubernetes.io]"
    ]


def test_an_update_may_leave_a_bad_approval_as_it_was() -> None:
    assert name_rules.check_approval(crd("k8s.io", "sure"), crd("k8s.io", "well")) == []
    assert len(name_rules.check_approval(crd("k8s.io", "sure"), crd("k8s.io"))) == 1
