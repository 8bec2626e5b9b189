"""Nobody grants what they do not have.

Writing a role needs all permissions of the role, or the verb `escalate` on it; binding a role needs all its
permissions, or the verb `bind`. Members of `system:masters` may do both. These checks come before validation, and are
skipped for changes that only concern garbage collection.
"""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.authn.user import MASTERS, User, quoted
from nagaya.apiserver.authz.attributes import Attributes
from nagaya.apiserver.authz.authorizer import Authorizer
from nagaya.apiserver.authz.policy_rules import TooManyRules, compacted, describe, uncovered
from nagaya.apiserver.authz.rbac import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, GROUP, RbacIndex, RoleReference, role_of
from nagaya.apiserver.meta import gostring, status
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import ApiError, JsonObject

_EVERYTHING: Final[list[JsonObject]] = [
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
]
_SHOWN: Final = 64 * 1024  # of what is missing, so many characters are enough
_COLLECTOR_FIELDS: Final = frozenset({"ownerReferences", "finalizers", "selfLink", "managedFields"})


class EscalationCheck:
    """Judges writes of roles and bindings."""

    def __init__(self, index: RbacIndex, authorizer: Authorizer) -> None:
        self._index = index
        self._authorizer = authorizer

    def check_role(
        self, user: User, resource: str, obj: JsonObject, old: JsonObject | None, namespace: str = "", name: str = ""
    ) -> None:
        """Raise 403 unless the user may write this Role or ClusterRole.

        `namespace` and `name` are the ones in the URL; the name is empty for a creation.
        """
        if MASTERS in user.groups or self._may(user, "escalate", resource, namespace, name):
            return
        if old is not None and only_concerns_collector(obj, old):
            return
        target = GroupResource(GROUP, resource)
        problem = self._missing(user, namespace, obj.get("rules") or [], target)
        if problem:
            raise status.forbidden(target, _name(obj), problem)
        aggregates = resource == CLUSTER_ROLES and (_aggregates(obj) or (old is not None and _aggregates(old)))
        if aggregates and self._missing(user, namespace, _EVERYTHING, target):
            why = "must have cluster-admin privileges to use the aggregationRule"
            raise status.forbidden(target, _name(obj), why)

    def check_binding(
        self, user: User, resource: str, obj: JsonObject, old: JsonObject | None, namespace: str = ""
    ) -> None:
        """Raise 403 unless the user may write this RoleBinding or ClusterRoleBinding; 404 if the role is not there."""
        if MASTERS in user.groups or (old is not None and only_concerns_collector(obj, old)):
            return
        role = role_of(obj)
        roles = {"ClusterRole": CLUSTER_ROLES, "Role": "roles"}.get(role.kind)
        group = (obj.get("roleRef") or {}).get("apiGroup") or ""
        if roles is not None and self._may(user, "bind", roles, namespace, role.name, group):
            return
        target = GroupResource(GROUP, resource)
        rules = self._index.role_rules(role, namespace)
        if rules is None:
            raise _unresolved(role, resource, target)
        problem = self._missing(user, namespace, rules, target)
        if problem:
            raise status.forbidden(target, _name(obj), problem)

    def _may(self, user: User, verb: str, resource: str, namespace: str, name: str, group: str = GROUP) -> bool:
        asked = Attributes(user, verb, group=group, version="*", resource=resource, namespace=namespace, name=name)
        return self._authorizer.authorize(asked).allowed

    def _missing(self, user: User, namespace: str, rules: list[JsonObject], target: GroupResource) -> str:
        """What the user lacks for granting these rules, in words; nothing if nothing is lacking."""
        owned, unresolved = self._index.resolve(user, namespace)
        try:
            missing = uncovered(owned, rules)
        except TooManyRules:
            return "the rules are too many to be compared with what the user may do; split them over several roles"
        if not missing:
            return ""
        shown: set[str] = set()
        size = 0
        for rule in compacted(missing):
            shown.add(line := describe(rule))
            size += len(line)
            if size > _SHOWN:
                break
        lines = "\n".join(sorted(shown))
        problem = (
            f"user {gostring.quote(user.name)} (groups={quoted(user.groups)}) "
            f"is attempting to grant RBAC permissions not currently held:\n{lines}"
        )
        if unresolved:
            texts = [f"{target} {gostring.quote(role.name)} not found" for role in unresolved]
            problem += f"; resolution errors: [{status.aggregate(texts)}]"
        return problem


def _unresolved(role: RoleReference, resource: str, target: GroupResource) -> ApiError:
    if role.kind not in ("Role", "ClusterRole"):
        return ApiError(500, "", role.absence)
    if role.kind == "Role" and resource == CLUSTER_ROLE_BINDINGS:
        return status.bad_request("Namespace parameter required.")
    # The real server names the resource of the request here, not that of the role.
    return status.not_found(target, role.name)


def only_concerns_collector(new: JsonObject, old: JsonObject) -> bool:
    """Whether a change touches nothing but what garbage collection works with."""
    return _without_collector_fields(new) == _without_collector_fields(old)


def _without_collector_fields(obj: JsonObject) -> JsonObject:
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _COLLECTOR_FIELDS and value}
    rest = {key: value for key, value in obj.items() if value and key not in ("kind", "apiVersion")}
    return {**rest, "metadata": metadata}


def _aggregates(role: JsonObject) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _name(obj: JsonObject) -> str:
    name: str = obj["metadata"].get("name") or ""
    return name
