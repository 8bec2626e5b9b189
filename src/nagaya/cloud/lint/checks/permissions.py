"""L12: the cloud controller manager must be allowed to do its work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.cloud.lint.check import Check, finding
from nagaya.cloud.lint.components import runs_controller
from nagaya.cloud.lint.finding import Finding, Severity
from nagaya.cloud.lint.manifests import Manifests
from nagaya.cloud.lint.permissions import Permissions
from nagaya.cloud.lint.workload import Workload

_ID: Final = "L12"
_NEEDED: Final = (
    ("nodes", ("get", "list", "watch", "update"), Severity.ERROR),
    ("nodes/status", ("patch",), Severity.ERROR),
    ("nodes", ("patch", "delete"), Severity.WARNING),
    ("events", ("create", "patch", "update"), Severity.WARNING),
)
_FOR_SERVICES: Final = (
    ("services", ("list", "watch", "patch"), Severity.WARNING),
    ("services/status", ("patch",), Severity.WARNING),
)
_FOR_ACCOUNTS: Final = (
    ("serviceaccounts", ("get", "create"), Severity.ERROR),
    ("serviceaccounts/token", ("create",), Severity.ERROR),
)
_READER: Final = "extension-apiserver-authentication-reader"


def _run(manifests: Manifests) -> Iterator[Finding]:
    permissions = Permissions(manifests)
    for each in manifests.inside:
        if each.static or each.flag("kubeconfig"):
            continue
        if not permissions.are_known(each):
            yield _unknown(manifests, each)
            continue
        for resource, verbs, severity in _needed(each):
            if missing := permissions.missing(each, "", resource, verbs):
                yield finding(
                    _ID,
                    severity,
                    permissions.role_of(each),
                    "rules",
                    f"{resource}: {', '.join(missing)}",
                    f"{each} runs as ServiceAccount {each.namespace}/{each.service_account}, which may not "
                    f"{', '.join(missing)} {resource}"
                    + (": it cannot initialise nodes." if severity is Severity.ERROR else "."),
                    f'- apiGroups: [""]\n  resources: [{resource}]\n  verbs: [{", ".join(verbs)}]',
                )
        if not permissions.has_role(each, _READER):
            yield finding(
                _ID,
                Severity.WARNING,
                each.manifest,
                f"{each.path}.serviceAccountName",
                _READER,
                "It may not read how the API server authenticates requests; programs made with Kubernetes' library for "
                "cloud controller managers complain of that, and serve metrics to nobody.",
                _BINDING.format(namespace=each.namespace, account=each.service_account, reader=_READER),
            )


def _needed(workload: Workload) -> Iterator[tuple[str, tuple[str, ...], Severity]]:
    """With credentials for each controller, Kubernetes' own roles for these controllers count."""
    if workload.is_on("use-service-account-credentials", False):
        yield from _FOR_ACCOUNTS
        return
    yield from _NEEDED
    if runs_controller(workload, "service", "service-lb-controller"):
        yield from _FOR_SERVICES


def _unknown(manifests: Manifests, workload: Workload) -> Finding:
    certain = manifests.complete
    return finding(
        _ID,
        Severity.ERROR if certain else Severity.INFO,
        workload.manifest,
        f"{workload.path}.serviceAccountName",
        workload.service_account,
        f"No role is bound to ServiceAccount {workload.namespace}/{workload.service_account}"
        + (
            ": it may not read a single node."
            if certain
            else " in these manifests, so its permissions were not checked."
        ),
        "Bind a ClusterRole to it that allows what the documentation of this check lists."
        if certain
        else "Lint the ServiceAccount, ClusterRole and bindings together with it.",
    )


_BINDING: Final = """apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {account}:{reader}
  namespace: kube-system
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {reader}
subjects:
- kind: ServiceAccount
  name: {account}
  namespace: {namespace}"""

CHECK: Final = Check(
    _ID,
    "the cloud controller manager is not allowed to do its work",
    Severity.ERROR,
    """It needs: leases get, create, update (see L11); nodes get, list, watch, update, patch, delete; nodes/status
patch; events create, patch, update; and for load balancers services list, watch, patch and services/status patch. With
--use-service-account-credentials it needs serviceaccounts get, create and serviceaccounts/token create instead, and
the roles that Kubernetes has for these controllers do the rest. An error is what keeps nodes from being initialised;
what only breaks other work is a warning. If no binding is in the set, that is said and nothing is assumed.""",
    _run,
)
