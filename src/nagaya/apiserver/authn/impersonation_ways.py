"""The five ways in which acting as someone else can be allowed.

A way has no opinion on users it is not for, allows, or refuses with the 403 that names the right that is missing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from nagaya.apiserver.authn.user import (
    ANONYMOUS_NAME,
    AUTHENTICATED,
    MASTERS,
    NODE_NAME,
    NODES,
    UNAUTHENTICATED,
    User,
    node_name_in,
    quoted,
    service_account_groups,
    split_service_account,
)
from nagaya.apiserver.authz.attributes import Attributes
from nagaya.apiserver.authz.authorizer import Authorizer
from nagaya.apiserver.authz.refusal import forbidden
from nagaya.apiserver.meta import field_errors, gostring, names, status

_GROUP: Final = "authentication.k8s.io"
_MANY: Final = 4  # from this number of checks on, one for everything is tried first


class Impersonated(NamedTuple):
    """Who the request is to be served for, and the verb that allowed it where the way was a constrained one.

    The verb is for the audit log.
    """

    user: User
    constraint: str = ""


def all_ways(authorizer: Authorizer) -> tuple[Way, ...]:
    """The ways in the order in which they are tried. The last has an opinion on everyone."""
    return (
        _AssociatedNode(authorizer, "associated-node", _is_associated_node),
        _Constrained(authorizer, "arbitrary-node", _is_node),
        _Constrained(authorizer, "serviceaccount", _is_service_account),
        _Constrained(authorizer, "user-info", _is_other),
        _Legacy(authorizer),
    )


class Way(ABC):
    """One way to be allowed to act as someone: the checks that all have in common."""

    constrained = True

    def __init__(self, authorizer: Authorizer, verb: str) -> None:
        self._authorizer = authorizer
        self._verb = verb
        self._group = _GROUP if self.constrained else ""

    @abstractmethod
    def check(self, wanted: User, attributes: Attributes) -> Impersonated | None:
        """Whether the requester (`attributes.user`) may act as the wanted user; None without an opinion. Raises 403."""

    def _require(self, attributes: Attributes) -> None:
        decision = self._authorizer.authorize(attributes)
        if not decision.allowed:
            raise forbidden(attributes, decision.reason)

    def _allowed(self, attributes: Attributes) -> bool:
        return self._authorizer.authorize(attributes).allowed

    def _become(self, wanted: User, requester: User) -> Impersonated:
        """Check every part of the wanted user, and complete her groups."""
        groups = self._check_name(wanted, requester)
        if wanted.uid:
            self._require(self._about(requester, _GROUP, "uids", wanted.uid))
        if wanted.groups:
            self._check_groups(wanted.groups, requester)
        if wanted.extra:
            self._check_extra(wanted, requester)
        if wanted.name == ANONYMOUS_NAME:
            groups = _with(groups, UNAUTHENTICATED)
        elif UNAUTHENTICATED not in groups:
            groups = _with(groups, AUTHENTICATED)
        return Impersonated(wanted.with_groups(groups), self._verb if self.constrained else "")

    def _about(self, requester: User, group: str, resource: str, name: str = "") -> Attributes:
        return Attributes(requester, self._verb, group, "v1", resource, name=name)

    def _check_name(self, wanted: User, requester: User) -> tuple[str, ...]:
        """Check the right to the name, and tell the groups that come with it."""
        asked = self._about(requester, self._group, "users", wanted.name)
        groups = wanted.groups
        node = node_name_in(wanted.name) if self.constrained else None
        if node is not None:
            asked = replace(asked, resource="nodes", name=node)
            if wanted.groups:
                raise forbidden(asked, f"when impersonating a node, cannot impersonate groups {quoted(wanted.groups)}")
            groups = (NODES,)
        account = split_service_account(wanted.name)
        if account is not None:
            asked = replace(asked, resource="serviceaccounts", namespace=account[0], name=account[1])
            if self.constrained and wanted.groups:
                why = f"when impersonating a service account, cannot impersonate groups {quoted(wanted.groups)}"
                raise forbidden(asked, why)
            groups = wanted.groups or service_account_groups(account[0])
        self._require(asked)
        return groups

    def _check_groups(self, groups: Sequence[str], requester: User) -> None:
        asked = self._about(requester, self._group, "groups")
        if self.constrained:
            if "" in groups:
                raise forbidden(asked, "impersonating the empty string group is not allowed")
            if MASTERS in groups:
                named = replace(asked, name=MASTERS)
                raise forbidden(named, "impersonating the system:masters group is not allowed")
            if len(groups) >= _MANY and self._allowed(replace(asked, name="*")):
                return
        for group in groups:
            self._require(replace(asked, name=group))

    def _check_extra(self, wanted: User, requester: User) -> None:
        asked = self._about(requester, _GROUP, "userextras")
        if self.constrained:
            for key, values in wanted.extra.items():
                problem = _extra_problem(key, values)
                if problem:
                    raise forbidden(asked, problem)
            many = len(wanted.extra) >= _MANY or sum(map(len, wanted.extra.values())) >= _MANY
            if many and self._allowed(replace(asked, subresource="*", name="*")):
                return
        for key, values in sorted(wanted.extra.items()):
            for value in values:
                self._require(replace(asked, subresource=key, name=value))


class _Legacy(Way):
    """The verb `impersonate`."""

    constrained = False

    def __init__(self, authorizer: Authorizer) -> None:
        super().__init__(authorizer, "impersonate")

    def check(self, wanted: User, attributes: Attributes) -> Impersonated | None:
        return self._become(wanted, attributes.user)


class _Constrained(Way):
    """A pair of verbs: `impersonate:<mode>` on the user, and `impersonate-on:<mode>:<verb>` on what is asked."""

    def __init__(self, authorizer: Authorizer, mode: str, applies: Callable[[User, User], bool]) -> None:
        super().__init__(authorizer, f"impersonate:{mode}")
        self._mode = mode
        self._applies = applies

    def check(self, wanted: User, attributes: Attributes) -> Impersonated | None:
        if not self._applies(wanted, attributes.user):
            return None
        self._require(replace(attributes, verb=f"impersonate-on:{self._mode}:{attributes.verb}"))
        return self._become(wanted, attributes.user)


class _AssociatedNode(_Constrained):
    """A service account acting as the node its pod runs on. What is allowed is allowed for all nodes, so the node is
    not named."""

    def _seen(self, attributes: Attributes) -> Attributes:
        extra = {"authentication.kubernetes.io/associated-node-keys": tuple(sorted(attributes.user.extra))}
        user = replace(attributes.user, extra=extra)
        name = "*" if attributes.verb == self._verb else attributes.name
        return replace(attributes, user=user, name=name)

    def _require(self, attributes: Attributes) -> None:
        super()._require(self._seen(attributes))


def _only_name(wanted: User) -> bool:
    return not wanted.uid and not wanted.groups and not wanted.extra


def _is_associated_node(wanted: User, requester: User) -> bool:
    node = node_name_in(wanted.name)
    if node is None or not _only_name(wanted) or split_service_account(requester.name) is None:
        return False
    return requester.extra.get(NODE_NAME) == (node,)


def _is_node(wanted: User, requester: User) -> bool:
    return _only_name(wanted) and node_name_in(wanted.name) is not None


def _is_service_account(wanted: User, requester: User) -> bool:
    return _only_name(wanted) and split_service_account(wanted.name) is not None


def _is_other(wanted: User, requester: User) -> bool:
    return node_name_in(wanted.name) is None and split_service_account(wanted.name) is None


def _extra_problem(key: str, values: Sequence[str]) -> str:
    if not key:
        return "impersonating the empty string key in extra is not allowed"
    problems = _path_problems(key)
    if problems:
        return f"impersonating an invalid key in extra is not allowed: {status.aggregate(problems)}"
    if key != key.lower():
        return f"impersonating a non-lowercase key in extra is not allowed: {gostring.quote(key)}"
    if "" in values:
        return "impersonating the empty string value in extra is not allowed"
    return ""


def _path_problems(key: str) -> list[str]:
    """What is wrong with a key that has to look like `acme.io/foo`."""
    where = "extra.key"
    host, _, path = key.partition("/")
    if not host or not path:
        problem = 'must be a domain-prefixed path (such as "acme.io/foo")'
        return [str(field_errors.invalid(where, key, problem))]
    found = [field_errors.invalid(where, host, problem) for problem in names.dns_subdomain(host)]
    found += [field_errors.invalid(where, path, problem) for problem in names.http_path(path)]
    return [str(error) for error in found]


def _with(groups: tuple[str, ...], group: str) -> tuple[str, ...]:
    return groups if group in groups else (*groups, group)
