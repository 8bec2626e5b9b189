"""L11: of several cloud controller managers one must work, and each kind must have a lease of its own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from nagaya.cloud.lint.check import Check, finding
from nagaya.cloud.lint.finding import Finding, Severity
from nagaya.cloud.lint.manifests import Manifests
from nagaya.cloud.lint.permissions import Permissions
from nagaya.cloud.lint.workload import Workload

_ID: Final = "L11"
LEASE: Final = "cloud-controller-manager"
_LEASES: Final = ("coordination.k8s.io", "leases")
_VERBS: Final = ("get", "create", "update")


def _run(manifests: Manifests) -> Iterator[Finding]:
    permissions = Permissions(manifests)
    for each in manifests.inside:
        if not each.is_on("leader-elect", True):
            if each.daemon or each.replicas > 1:
                yield finding(
                    _ID,
                    Severity.ERROR,
                    each.manifest,
                    f"{each.path}.containers[0].args",
                    "--leader-elect=false",
                    "Several of its pods work at the same time and undo each other's changes: nodes are initialised "
                    "twice and may be deleted by the one that knows less.",
                    "args:\n- --leader-elect=true",
                )
            continue
        own = each.static or each.flag("kubeconfig")  # then it is no service account that is asked for permissions
        missing = [] if own else permissions.missing(each, *_LEASES, _VERBS, everywhere=False)
        if missing:
            yield finding(
                _ID,
                Severity.ERROR,
                permissions.role_of(each),
                "rules",
                f"leases: {', '.join(missing)}",
                f"{each} may not {', '.join(missing)} leases, so none of its pods ever becomes the leader "
                "and none works.",
                "- apiGroups: [coordination.k8s.io]\n  resources: [leases]\n  verbs: [get, create, update]",
            )
    for one, other in combinations(manifests.inside, 2):
        if one.name != other.name and _lease(one) == _lease(other) and _provider(one) != _provider(other):
            yield finding(
                _ID,
                Severity.WARNING,
                other.manifest,
                f"{other.path}.containers[0].args",
                f"--leader-elect-resource-name={_lease(other)[1]}",
                f"{one} uses the same lease: only one of the two ever works.",
                f"args:\n- --leader-elect-resource-name={LEASE}-{_provider(other) or other.name}",
            )


def _lease(workload: Workload) -> tuple[str, str]:
    namespace = workload.flag("leader-elect-resource-namespace", "kube-system")
    return namespace, workload.flag("leader-elect-resource-name", LEASE)


def _provider(workload: Workload) -> str:
    return workload.flag("cloud-provider")


CHECK: Final = Check(
    _ID,
    "leader election is off, shared, or not permitted",
    Severity.ERROR,
    """Cloud controller managers elect a leader with the Lease kube-system/cloud-controller-manager. Without election
several of them work at once. Two different ones in one cluster need different names (--leader-elect-resource-name), or
one of them waits for ever. And without the permission for leases nobody leads: the pods run, are healthy, and do
nothing.""",
    _run,
)
