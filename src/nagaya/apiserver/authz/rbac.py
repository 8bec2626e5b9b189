"""Role-based access control: who is bound to which role, and what that allows.

`RbacIndex` holds all roles and bindings by what a request asks for: the user's name and groups. The store's events keep
it up to date through `replace`, `upsert` and `delete`; objects are kept as they are and must not be changed afterwards.
Nothing is derived from a role before somebody bound to it asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from nagaya.apiserver.authn.user import User, service_account_name
from nagaya.apiserver.authz.attributes import Attributes
from nagaya.apiserver.authz.authorizer import NO_OPINION, Decision, Rules, Verdict
from nagaya.apiserver.authz.policy_rules import RuleSet, places
from nagaya.apiserver.meta import gostring, status
from nagaya.apiserver.meta.status import JsonObject

GROUP: Final = "rbac.authorization.k8s.io"

ROLES: Final = "roles"
CLUSTER_ROLES: Final = "clusterroles"
ROLE_BINDINGS: Final = "rolebindings"
CLUSTER_ROLE_BINDINGS: Final = "clusterrolebindings"
RESOURCES: Final = (CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS, ROLES, ROLE_BINDINGS)


class _Role:
    """A role, and its rules in the form in which they are asked, made at the first question."""

    __slots__ = ("_ready", "rules")

    def __init__(self, obj: JsonObject) -> None:
        self.rules: list[JsonObject] = obj.get("rules") or []
        self._ready: RuleSet | None = None

    @property
    def ready(self) -> RuleSet:
        if self._ready is None:
            self._ready = RuleSet(self.rules)
        return self._ready


class RoleReference(NamedTuple):
    """The role that a binding names."""

    kind: str
    name: str

    @property
    def absence(self) -> str:
        """What is said when it is not there."""
        if self.kind not in ("Role", "ClusterRole"):
            return f"unsupported role reference kind: {gostring.quote(self.kind)}"
        return f"{self.kind.lower()}.{GROUP} {gostring.quote(self.name)} not found"


def role_of(binding: JsonObject) -> RoleReference:
    """The role that a binding names."""
    reference = binding.get("roleRef") or {}
    return RoleReference(reference.get("kind") or "", reference.get("name") or "")


class _Binding:
    """A binding of subjects to a role."""

    __slots__ = ("_reasons", "name", "namespace", "role", "subjects")

    def __init__(self, obj: JsonObject) -> None:
        metadata = obj["metadata"]
        self.name: str = metadata["name"]
        self.namespace: str = metadata.get("namespace") or ""
        self.role = role_of(obj)
        self.subjects: list[JsonObject] = obj.get("subjects") or []
        self._reasons: dict[int, str] = {}

    def names(self) -> Iterator[tuple[bool, str]]:
        """What each subject is found by: whether it is a group, and the name; nothing for subjects that match
        nobody."""
        for subject in self.subjects:
            kind, name = subject.get("kind"), subject.get("name") or ""
            if kind == "User":
                yield False, name
            elif kind == "Group":
                yield True, name
            elif kind == "ServiceAccount":
                namespace = subject.get("namespace") or self.namespace
                if namespace:
                    yield False, service_account_name(namespace, name)

    def reason(self, user: User) -> str:
        """Why this binding lets the user do something: it names the first subject that applies."""
        for position, subject in enumerate(self.subjects):
            if self._applies(subject, user):
                known = self._reasons.get(position)
                if known is None:
                    known = self._reasons[position] = f"RBAC: allowed by {self._describe(subject)}"
                return known
        return ""

    def _applies(self, subject: JsonObject, user: User) -> bool:
        kind, name = subject.get("kind"), subject.get("name") or ""
        if kind == "Group":
            return name in user.groups
        if kind == "ServiceAccount":
            namespace = subject.get("namespace") or self.namespace
            return bool(namespace) and service_account_name(namespace, name) == user.name
        return kind == "User" and name == user.name

    def _describe(self, subject: JsonObject) -> str:
        name = f"{self.name}/{self.namespace}" if self.namespace else self.name
        kind, who = subject.get("kind"), subject.get("name") or ""
        if kind == "ServiceAccount":
            who = f"{who}/{subject.get('namespace') or self.namespace}"
        return (
            f"{'RoleBinding' if self.namespace else 'ClusterRoleBinding'} {gostring.quote(name)} "
            f"of {self.role.kind} {gostring.quote(self.role.name)} to {kind} {gostring.quote(who)}"
        )


class _Bindings:
    """The bindings of one scope, by the users and groups they name."""

    __slots__ = ("_by_group", "_by_name", "_by_user")

    def __init__(self) -> None:
        self._by_name: dict[str, _Binding] = {}
        self._by_user: dict[str, dict[str, _Binding]] = {}
        self._by_group: dict[str, dict[str, _Binding]] = {}

    def put(self, binding: _Binding) -> None:
        self.drop(binding.name)
        self._by_name[binding.name] = binding
        for is_group, name in binding.names():
            index = self._by_group if is_group else self._by_user
            index.setdefault(name, {})[binding.name] = binding

    def drop(self, name: str) -> None:
        gone = self._by_name.pop(name, None)
        if gone is None:
            return
        for is_group, key in gone.names():
            index = self._by_group if is_group else self._by_user
            named = index.get(key)
            if named is not None:
                named.pop(name, None)
                if not named:
                    del index[key]

    def of(self, user: User) -> list[_Binding]:
        """Bindings that apply; one that names the user and a group of hers comes more than once."""
        found: list[_Binding] = []
        named = self._by_user.get(user.name)
        if named is not None:
            found += named.values()
        by_group = self._by_group
        for group in user.groups:
            named = by_group.get(group)
            if named is not None:
                found += named.values()
        return found

    def __bool__(self) -> bool:
        return bool(self._by_name)


class RbacIndex:
    """All roles and bindings of one server."""

    def __init__(self) -> None:
        self._cluster_roles: dict[str, _Role] = {}
        self._roles: dict[tuple[str, str], _Role] = {}
        self._cluster_bindings = _Bindings()
        self._bindings: dict[str, _Bindings] = {}

    def replace(self, resource: str, objects: Iterable[JsonObject]) -> None:
        """Forget all objects of a resource and take these."""
        if resource == CLUSTER_ROLES:
            self._cluster_roles = {}
        elif resource == ROLES:
            self._roles = {}
        elif resource == CLUSTER_ROLE_BINDINGS:
            self._cluster_bindings = _Bindings()
        else:
            self._bindings = {}
        for obj in objects:
            self.upsert(resource, obj)

    def upsert(self, resource: str, obj: JsonObject) -> None:
        """Take a new or changed object."""
        metadata = obj["metadata"]
        if resource == CLUSTER_ROLES:
            self._cluster_roles[metadata["name"]] = _Role(obj)
        elif resource == ROLES:
            self._roles[metadata["namespace"], metadata["name"]] = _Role(obj)
        elif resource == CLUSTER_ROLE_BINDINGS:
            self._cluster_bindings.put(_Binding(obj))
        elif resource == ROLE_BINDINGS:
            self._bindings.setdefault(metadata["namespace"], _Bindings()).put(_Binding(obj))
        else:
            raise ValueError(f"not a resource of {GROUP}: {resource}")

    def delete(self, resource: str, namespace: str, name: str) -> None:
        """Forget an object."""
        if resource == CLUSTER_ROLES:
            self._cluster_roles.pop(name, None)
        elif resource == ROLES:
            self._roles.pop((namespace, name), None)
        elif resource == CLUSTER_ROLE_BINDINGS:
            self._cluster_bindings.drop(name)
        elif (bindings := self._bindings.get(namespace)) is not None:
            bindings.drop(name)
            if not bindings:
                del self._bindings[namespace]

    def role_rules(self, reference: RoleReference, namespace: str) -> list[JsonObject] | None:
        """The rules of the role that a binding in this namespace names; None if it is not there."""
        role = self._role(reference, namespace)
        return None if role is None else role.rules

    def _role(self, reference: RoleReference, namespace: str) -> _Role | None:
        if reference.kind == "ClusterRole":
            return self._cluster_roles.get(reference.name)
        if reference.kind == "Role":
            return self._roles.get((namespace, reference.name))
        return None

    def _scopes(self, namespace: str) -> tuple[_Bindings, ...]:
        local = self._bindings.get(namespace) if namespace else None
        return (self._cluster_bindings,) if local is None else (self._cluster_bindings, local)

    def resolve(self, user: User, namespace: str) -> tuple[list[JsonObject], list[RoleReference]]:
        """All rules that apply to a user in a namespace, in the order of the bindings' names, and the roles that are
        missing."""
        rules: list[JsonObject] = []
        missing: list[RoleReference] = []
        for bindings in self._scopes(namespace):
            mine = {binding.name: binding for binding in bindings.of(user)}
            for _, binding in sorted(mine.items()):
                role = self._role(binding.role, binding.namespace)
                if role is None:
                    missing.append(binding.role)
                else:
                    rules += role.rules
        return rules, missing

    def authorize(self, attributes: Attributes) -> Decision:
        """Allow what a role of the user allows. Roles that are missing are told as the reason when none does."""
        user, verb, name, path = attributes.user, attributes.verb, attributes.name, attributes.path
        where = places(attributes) if attributes.is_resource else None
        cluster_roles = self._cluster_roles
        complete = True
        for bindings in self._scopes(attributes.namespace):
            for binding in bindings.of(user):
                reference = binding.role
                # Most bindings are to a ClusterRole; the short way is worth it on a path that every request takes.
                if reference.kind == "ClusterRole":
                    role = cluster_roles.get(reference.name)
                else:
                    role = self._role(reference, binding.namespace)
                if role is None:
                    complete = False
                    continue
                rules = role.ready
                if rules.allows_path(path, verb) if where is None else rules.allows_resource(where, verb, name):
                    return Decision(Verdict.ALLOW, binding.reason(user))
        if complete:
            return NO_OPINION
        _, missing = self.resolve(user, attributes.namespace)
        return Decision(Verdict.NO_OPINION, f"RBAC: {status.aggregate([role.absence for role in missing])}")

    def rules_for(self, user: User, namespace: str) -> Rules:
        """What the user may do, for SelfSubjectRulesReview."""
        rules, missing = self.resolve(user, namespace)
        listed = Rules([], [], errors=tuple(role.absence for role in missing))
        for rule in rules:
            verbs = rule.get("verbs") or []
            if rule.get("resources"):
                members = ("apiGroups", "resources", "resourceNames")
                shown = {member: rule[member] for member in members if rule.get(member)}
                listed.resource_rules.append({"verbs": verbs, **shown})
            if rule.get("nonResourceURLs"):
                listed.non_resource_rules.append({"verbs": verbs, "nonResourceURLs": rule["nonResourceURLs"]})
        return listed
