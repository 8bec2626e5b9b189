"""What is read from a workload."""

from __future__ import annotations

import pytest

from nagaya.cloud.lint.flags import of_extra_arguments, of_words
from nagaya.cloud.lint.manifest import Manifest
from nagaya.cloud.lint.workload import Workload, is_static
from unit.cloud.lint.building import pod_with, workload


def test_options_are_read_with_and_without_an_equals_sign() -> None:
    assert of_words(["prog", "--a=1", "--b", "2", "--c", "--d=", "-v=4", "--e"]) == {
        "a": "1",
        "b": "2",
        "c": "true",
        "d": "",
        "v": "4",
        "e": "true",
    }


def test_options_in_the_script_of_a_shell_are_found_and_variables_are_put_in() -> None:
    script = "set -e\nexec /bin/aws-cloud-controller-manager \\\n  --cloud-provider=aws --x=$(X) --y=$(Y)"
    container = {"command": ["/bin/bash", "-c", script], "env": [{"name": "X", "value": "1"}]}

    some = pod_with(containers=[container])

    assert (some.flag("cloud-provider"), some.flag("x"), some.flag("y")) == ("aws", "1", "$(Y)")


def test_extra_arguments_of_kubeadm_are_read_in_both_forms() -> None:
    expected = {"cloud-provider": "external", "v": "2"}

    assert of_extra_arguments({"cloud-provider": "external", "v": 2}) == expected
    assert (
        of_extra_arguments([{"name": "cloud-provider", "value": "external"}, {"name": "v", "value": "2"}]) == expected
    )


@pytest.mark.parametrize(
    ("host_network", "policy", "expected"),
    [
        (False, None, True),
        (True, None, False),
        (True, "ClusterFirst", False),
        (True, "ClusterFirstWithHostNet", True),
        (False, "Default", False),
        (False, "None", False),
    ],
)
def test_who_is_asked_for_names(host_network: bool, policy: str | None, expected: bool) -> None:
    assert pod_with(hostNetwork=host_network, dnsPolicy=policy).uses_cluster_dns is expected


@pytest.mark.parametrize(
    ("replicas", "strategy", "expected"),
    [
        (1, {}, (1, 0)),
        (3, {}, (1, 0)),
        (4, {}, (1, 1)),
        (2, {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}, (0, 1)),
        (2, {"rollingUpdate": {"maxSurge": "50%", "maxUnavailable": "50%"}}, (1, 1)),
        (2, {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}, (0, 1)),  # Kubernetes takes one then
        (2, {"type": "Recreate"}, (0, 2)),
    ],
)
def test_the_budget_of_a_rollout_rounds_as_kubernetes_does(
    replicas: int, strategy: dict[str, object], expected: tuple[int, int]
) -> None:
    raw = {"kind": "Deployment", "spec": {"replicas": replicas, "strategy": strategy}}

    assert Workload(Manifest(raw)).budget() == expected


def test_what_must_exist_before_a_container_starts_is_told() -> None:
    some = workload("""
kind: DaemonSet
metadata: {name: some}
spec:
  template:
    spec:
      volumes:
      - {name: a, secret: {secretName: one}}
      - {name: b, configMap: {name: two, optional: true}}
      - {name: c, projected: {sources: [{configMap: {name: three}}]}}
      containers:
      - envFrom: [{secretRef: {name: four}}]
        env: [{name: X, valueFrom: {configMapKeyRef: {name: five, key: x}}}]
""")

    assert [(each.kind, each.name) for each in some.references()] == [
        ("Secret", "one"),
        ("ConfigMap", "three"),
        ("Secret", "four"),
        ("ConfigMap", "five"),
    ]


def test_a_pod_that_refers_to_the_api_is_not_static() -> None:
    bare = {"kind": "Pod", "spec": {"hostNetwork": True, "volumes": [{"hostPath": {"path": "/etc"}}]}}
    referring = {"kind": "Pod", "spec": {"hostNetwork": True, "volumes": [{"secret": {"secretName": "x"}}]}}
    mirror = {**referring, "metadata": {"annotations": {"kubernetes.io/config.mirror": "abc"}}}

    assert is_static(Manifest(bare))
    assert not is_static(Manifest(referring))
    assert is_static(Manifest(mirror))


def test_nonsense_in_a_manifest_is_not_followed() -> None:
    some = Workload(Manifest({"kind": "Deployment", "metadata": [], "spec": {"template": {"spec": [1, 2]}}}))
    other = pod_with(containers=[1, {"env": "x", "args": {"a": 1}, "ports": None}], tolerations={"key": 1}, volumes=[3])

    assert (some.containers, some.tolerations[0].seconds, list(some.references())) == ((), 300, [])
    assert (other.flags, list(other.references())) == ({}, [])
