"""Who is who."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.cloud.lint import components
from nagaya.cloud.lint.manifest import Manifest
from nagaya.cloud.lint.workload import Workload
from support.subtest_cases import subtest_cases


def _workload(kind: str, name: str, image: str = "", *arguments: str, **pod: Any) -> Workload:
    container = {"name": name, "image": image, "args": list(arguments)}
    spec = {"template": {"spec": {"containers": [container], **pod}}}
    return Workload(Manifest({"kind": kind, "metadata": {"name": name}, "spec": spec}))


@subtest_cases(
    ("workload", "expected"),
    [
        (_workload("Deployment", "some", "ghcr.io/x/proxmox-cloud-controller-manager:v1"), True),
        (_workload("DaemonSet", "some", "registry.k8s.io/cloud-pv-vsphere/cloud-provider-vsphere:v1"), True),
        (_workload("Deployment", "hcloud", "x/hcloud:v1", "--cloud-provider=hcloud"), True),
        (_workload("Deployment", "some-ccm", "x/y:v1"), True),
        (
            _workload("Deployment", "kube-controller-manager", "x/kube-controller-manager:v1", "--cloud-provider=aws"),
            False,
        ),
        (_workload("Deployment", "vsphere-csi-controller", "x/cloud-provider-vsphere/csi:v1"), False),
        (_workload("Deployment", "cluster-autoscaler", "x/autoscaler:v1", "--cloud-provider=clusterapi"), False),
        (_workload("Job", "cloud-controller-manager", "x/y:v1"), False),
        (_workload("Deployment", "web", "nginx:1"), False),
    ],
)
def test_a_cloud_controller_manager_is_known_by_its_programs(workload: Workload, expected: bool) -> None:
    assert components.is_cloud(workload) is expected


@pytest.mark.parametrize(
    ("controllers", "expected"),
    [
        ([], True),
        (["--controllers=*"], True),
        (["--controllers=*,-cloud-node"], False),
        (["--controllers=cloud-node,cloud-node-lifecycle"], True),
        (["--controllers=cloud-node-lifecycle"], False),
        (["--controllers", "cloud-node-controller"], True),
    ],
)
def test_one_that_does_not_run_cloud_node_initialises_nothing(controllers: list[str], expected: bool) -> None:
    assert components.initialises(_workload("Deployment", "ccm", "", *controllers)) is expected


@subtest_cases(
    ("workload", "expected"),
    [
        (_workload("DaemonSet", "cilium", "quay.io/cilium/cilium:v1"), ("Cilium", False)),
        (_workload("Deployment", "cilium-operator", "quay.io/cilium/operator-generic:v1"), ("Cilium", True)),
        (_workload("DaemonSet", "calico-node", "calico/node:v3"), ("Calico", False)),
        (_workload("Deployment", "tigera-operator", "quay.io/tigera/operator:v1"), ("Calico", True)),
        (_workload("Deployment", "calico-kube-controllers", "calico/kube-controllers:v3"), None),
        (_workload("DaemonSet", "kube-flannel-ds", "flannel/flannel:v1"), ("Flannel", False)),
        (
            _workload("DaemonSet", "kube-multus-ds", "x/multus:v1", volumes=[{"hostPath": {"path": "/etc/cni/net.d"}}]),
            None,
        ),
        (
            _workload("DaemonSet", "own-net", "x/own:v1", volumes=[{"hostPath": {"path": "/etc/cni/net.d"}}]),
            ("own-net", False),
        ),
        (_workload("DaemonSet", "kube-proxy", "registry.k8s.io/kube-proxy:v1"), None),
    ],
)
def test_a_pod_network_is_known_by_its_programs(workload: Workload, expected: tuple[str, bool] | None) -> None:
    found = components.network_of(workload)

    assert (None if found is None else (found.name, found.operator)) == expected


def test_one_with_the_kubeconfig_of_a_tenant_runs_outside_of_it() -> None:
    volumes = [{"name": "kubeconfig", "secret": {"secretName": "demo-kubeconfig"}}]
    outside = _workload("Deployment", "ccm", "x/ccm:v1", "--kubeconfig=/etc/k/value", volumes=volumes)
    inside = _workload("Deployment", "ccm", "x/ccm:v1", volumes=volumes)

    assert components.is_outside(outside)
    assert not components.is_outside(inside)
