from __future__ import annotations

from typing import Any

import msgspec

from nagaya.api.controlplane import conditions, names
from nagaya.api.controlplane.kubeadm_control_plane import DEFINITION, KUBEADM_CONTROL_PLANES
from nagaya.api.controlplane.kubeadm_control_plane_template import KUBEADM_CONTROL_PLANE_TEMPLATES
from nagaya.api.crd import render
from nagaya.api.kind import Kind

REFERENCE = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "K", "name": "n"}


def written(kind: Kind[Any], obj: Any) -> Any:
    """An object as it is sent."""
    return msgspec.json.decode(msgspec.json.encode(kind.content(obj)))


def test_it_can_be_scaled() -> None:
    (version,) = render(DEFINITION)["spec"]["versions"]
    assert version["subresources"] == {
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        },
    }


def test_numbers_of_zero_are_kept_in_the_status() -> None:
    spec = {"version": "v1.36.3", "machineTemplate": {"spec": {"infrastructureRef": REFERENCE}}}
    status = {"replicas": 0, "readyReplicas": 0, "initialization": {"controlPlaneInitialized": False}}
    plane = KUBEADM_CONTROL_PLANES.convert({"metadata": {}, "spec": spec, "status": status})
    assert plane.spec.rollout.strategy is None
    assert written(KUBEADM_CONTROL_PLANES, plane)["status"] == status


def test_a_template_has_no_replicas_and_no_version() -> None:
    content = {"spec": {"template": {"spec": {"replicas": 3, "version": "v1", "remediation": {"maxRetry": 0}}}}}
    template = KUBEADM_CONTROL_PLANE_TEMPLATES.convert(content)
    kept = written(KUBEADM_CONTROL_PLANE_TEMPLATES, template)["spec"]["template"]["spec"]
    assert kept == {"remediation": {"maxRetry": 0}}


def test_the_names_are_those_of_cluster_api() -> None:
    assert names.PRE_TERMINATE_HOOK_CLEANUP == "pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup"
    reasons = [value for name, value in vars(conditions).items() if name.endswith("_REASON")]
    assert len(reasons) == len(set(reasons))
    assert all(value.isalpha() and value[0].isupper() for value in reasons)
