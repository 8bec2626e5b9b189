"""What service accounts may do, by the roles and bindings of the set."""

from __future__ import annotations

from collections.abc import Iterable

from nagaya.cloud.lint.manifest import Manifest
from nagaya.cloud.lint.manifests import Manifests
from nagaya.cloud.lint.plain import Object, mappings, text, texts
from nagaya.cloud.lint.workload import Workload


class Permissions:
    """The roles of each service account. What a role says that is not in the set is not known, and never held against
    anybody."""

    def __init__(self, manifests: Manifests) -> None:
        self._manifests = manifests
        self._bindings = manifests.of("ClusterRoleBinding", "RoleBinding")

    def are_known(self, workload: Workload) -> bool:
        """Whether anything is bound to the account of a workload."""
        return bool(self._of(workload))

    def has_role(self, workload: Workload, name: str) -> bool:
        """Whether a role of this name, or the one that allows everything, is bound to the account of a workload."""
        names = {text(each.at("roleRef", "name")) for each in self._of(workload)}
        return bool(names & {name, "cluster-admin"})

    def role_of(self, workload: Workload) -> Manifest:
        """The role to add a rule to; the workload itself if there is none to be seen."""
        roles = [role for each in self._of(workload) if (role := self._role(each)) is not None]
        return next((each for each in roles if each.kind == "ClusterRole"), roles[0] if roles else workload.manifest)

    def missing(
        self, workload: Workload, group: str, resource: str, verbs: Iterable[str], *, everywhere: bool = True
    ) -> list[str]:
        """The verbs that the account of a workload lacks; none if that cannot be told. What is needed `everywhere` is
        not given by a role in a namespace."""
        bindings = [each for each in self._of(workload) if not everywhere or each.kind == "ClusterRoleBinding"]
        if not bindings and self._manifests.complete:
            return list(verbs)
        roles = [self._role(each) for each in bindings]
        if not bindings or any(role is None for role in roles):
            return []
        rules = [rule for role in roles if role is not None for rule in mappings(role.raw.get("rules"))]
        return [verb for verb in verbs if not any(_allows(rule, group, resource, verb) for rule in rules)]

    def _of(self, workload: Workload) -> list[Manifest]:
        return [each for each in self._bindings if any(_is(one, workload) for one in mappings(each.at("subjects")))]

    def _role(self, binding: Manifest) -> Manifest | None:
        kind, name = text(binding.at("roleRef", "kind")), text(binding.at("roleRef", "name"))
        if name == "cluster-admin":
            return _ADMIN
        if kind == "Role" and name == "extension-apiserver-authentication-reader":
            return _READER
        found = self._manifests.find(kind, "" if kind == "ClusterRole" else binding.namespace, name)
        # The rules of an aggregated role are filled in by the cluster.
        return None if found is not None and found.raw.get("aggregationRule") and not found.raw.get("rules") else found


_ADMIN = Manifest({"kind": "ClusterRole", "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]})
_READER = Manifest({"kind": "Role", "rules": []})


def _is(subject: Object, workload: Workload) -> bool:
    namespace, name = workload.namespace, workload.service_account
    kind, own = text(subject.get("kind")), text(subject.get("name"))
    if kind == "ServiceAccount":
        return (text(subject.get("namespace")), own) == (namespace, name)
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    return own in groups if kind == "Group" else own == f"system:serviceaccount:{namespace}:{name}"


def _allows(rule: Object, group: str, resource: str, verb: str) -> bool:
    if texts(rule.get("resourceNames")) and (resource != "leases" or verb == "create"):
        return False  # a rule for single objects: neither all nodes nor one that is yet to be made
    return (
        _covers(texts(rule.get("apiGroups")), group)
        and _covers(texts(rule.get("resources")), resource)
        and _covers(texts(rule.get("verbs")), verb)
    )


def _covers(values: list[str], wanted: str) -> bool:
    subresource = f"*/{wanted.partition('/')[2]}" if "/" in wanted else wanted
    return wanted in values or "*" in values or subresource in values
