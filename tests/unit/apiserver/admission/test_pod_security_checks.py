"""What the pod security standards say about single pods."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.apiserver.admission.pod_security import policy_of
from nagaya.apiserver.admission.pod_security_checks import violations

HARMLESS = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def _spec(context: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"containers": [{"name": "c", "image": "i", "securityContext": context or {}}], **more}


def test_a_pod_that_gives_up_everything_is_restricted() -> None:
    assert violations("restricted", "latest", {}, _spec(HARMLESS)) == []
    assert violations("baseline", "latest", {}, _spec()) == []
    assert violations("privileged", "latest", {}, _spec({"privileged": True}, hostPID=True)) == []


@pytest.mark.parametrize(
    ("spec", "reason", "detail"),
    [
        (_spec({"privileged": True}), "privileged", 'container "c" must not set securityContext.privileged=true'),
        (_spec(hostNetwork=True, hostIPC=True), "host namespaces", "hostNetwork=true, hostIPC=true"),
        (_spec(volumes=[{"name": "v", "hostPath": {"path": "/"}}]), "hostPath volumes", 'volume "v"'),
        (_spec(securityContext={"sysctls": [{"name": "kernel.x"}]}), "forbidden sysctls", "kernel.x"),
        (
            _spec({"capabilities": {"add": ["NET_RAW", "CHOWN"]}}),
            "non-default capabilities",
            'container "c" must not include "NET_RAW" in securityContext.capabilities.add',
        ),
        (
            _spec(securityContext={"seccompProfile": {"type": "Unconfined"}}),
            "seccompProfile",
            'pod must not set securityContext.seccompProfile.type to "Unconfined"',
        ),
    ],
)
def test_baseline_names_the_offender(spec: dict[str, Any], reason: str, detail: str) -> None:
    assert violations("baseline", "latest", {}, spec) == [(reason, detail)]


def test_rules_are_those_of_the_version_asked_for() -> None:
    spec = _spec(securityContext={"sysctls": [{"name": "net.ipv4.tcp_rmem"}]})
    assert violations("baseline", "v1.31", {}, spec) == [("forbidden sysctls", "net.ipv4.tcp_rmem")]
    assert violations("baseline", "v1.32", {}, spec) == []


def test_warnings_follow_what_is_enforced_unless_they_are_set() -> None:
    prefix = "pod-security.kubernetes.io/"
    assert policy_of({f"{prefix}enforce": "baseline", f"{prefix}enforce-version": "v1.30"}).warn == (
        "baseline",
        "v1.30",
    )
    assert policy_of({f"{prefix}enforce": "baseline", f"{prefix}warn": "privileged"}).warn == ("privileged", "latest")
    odd = policy_of({f"{prefix}enforce": "odd", f"{prefix}audit": "odd"})
    assert (odd.enforce[0], odd.audit[0], len(odd.errors)) == ("restricted", "privileged", 2)
