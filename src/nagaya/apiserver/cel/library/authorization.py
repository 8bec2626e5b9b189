"""Asking in an expression what a user may do:
`authorizer.group('apps').resource('deployments').check('create').allowed()`.

The checks are values that remember what to ask for; only `check` asks. Who answers is handed in with the `authorizer`
variable.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from nagaya.apiserver.authn.user import User, service_account_groups, service_account_name
from nagaya.apiserver.authz.attributes import Attributes
from nagaya.apiserver.authz.authorizer import Authorizer, Decision
from nagaya.apiserver.cel.declarations import function, overload
from nagaya.apiserver.cel.values import CelError, Opaque
from nagaya.apiserver.meta import names
from nagaya.apiserver.selectors import fields, labels
from nagaya.apiserver.selectors.requirement import SelectorError

_T: Final = "kubernetes.authorization"


@dataclass(frozen=True, eq=False)
class AuthorizerValue(Opaque):
    """Who is asked, and about whom."""

    type_name = f"{_T}.Authorizer"

    authorizer: Authorizer
    user: User


@dataclass(frozen=True, eq=False)
class PathCheck(Opaque):
    """A question about a path that is no resource."""

    type_name = f"{_T}.PathCheck"

    origin: AuthorizerValue
    path: str


@dataclass(frozen=True, eq=False)
class GroupCheck(Opaque):
    """The beginning of a question about a resource: its API group."""

    type_name = f"{_T}.GroupCheck"

    origin: AuthorizerValue
    group: str


@dataclass(frozen=True, eq=False)
class ResourceCheck(Opaque):
    """A question about a resource."""

    type_name = f"{_T}.ResourceCheck"

    origin: AuthorizerValue
    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""


@dataclass(frozen=True, eq=False)
class DecisionValue(Opaque):
    """An answer."""

    type_name = f"{_T}.Decision"

    decision: Decision


def _path(origin: AuthorizerValue, path: str) -> PathCheck:
    if not path.strip():
        raise CelError("path must not be empty")
    return PathCheck(origin, path)


def _service_account(origin: AuthorizerValue, namespace: str, name: str) -> AuthorizerValue:
    if names.dns_subdomain(name):
        raise CelError("Invalid service account name")
    if names.dns_label(namespace):
        raise CelError("Invalid service account namespace")
    user = User(service_account_name(namespace, name), groups=service_account_groups(namespace))
    return AuthorizerValue(origin.authorizer, user)


def _resource(check: GroupCheck, resource: str) -> ResourceCheck:
    if not resource.strip():
        raise CelError("resource must not be empty")
    return ResourceCheck(check.origin, check.group, resource)


def _check_path(check: PathCheck, verb: str) -> DecisionValue:
    asked = Attributes(check.origin.user, verb, path=check.path, is_resource=False)
    return DecisionValue(check.origin.authorizer.authorize(asked))


def _check_resource(check: ResourceCheck, verb: str) -> DecisionValue:
    asked = Attributes(
        check.origin.user,
        verb,
        group=check.group,
        version="*",
        resource=check.resource,
        subresource=check.subresource,
        name=check.name,
        namespace=check.namespace,
        fields=_requirements(fields, check.field_selector),
        labels=_requirements(labels, check.label_selector),
    )
    return DecisionValue(check.origin.authorizer.authorize(asked))


def _requirements(language: Any, selector: str) -> tuple[Any, ...]:
    """What a selector demands. One that cannot be read is as good as none: it never allows more."""
    if not selector:
        return ()
    try:
        return tuple(language.parse(selector).requirements)
    except SelectorError:
        return ()


_R: Final = f"{_T}.ResourceCheck"

FUNCTIONS: Final = (
    function("path", overload(f"{_T}.Authorizer.(string) -> {_T}.PathCheck", _path)),
    function("group", overload(f"{_T}.Authorizer.(string) -> {_T}.GroupCheck", GroupCheck)),
    function("serviceAccount", overload(f"{_T}.Authorizer.(string, string) -> {_T}.Authorizer", _service_account)),
    function("resource", overload(f"{_T}.GroupCheck.(string) -> {_R}", _resource)),
    function("subresource", overload(f"{_R}.(string) -> {_R}", lambda check, text: replace(check, subresource=text))),
    function("namespace", overload(f"{_R}.(string) -> {_R}", lambda check, text: replace(check, namespace=text))),
    function("name", overload(f"{_R}.(string) -> {_R}", lambda check, text: replace(check, name=text))),
    function(
        "fieldSelector", overload(f"{_R}.(string) -> {_R}", lambda check, text: replace(check, field_selector=text))
    ),
    function(
        "labelSelector", overload(f"{_R}.(string) -> {_R}", lambda check, text: replace(check, label_selector=text))
    ),
    function(
        "check",
        overload(f"{_T}.PathCheck.(string) -> {_T}.Decision", _check_path),
        overload(f"{_R}.(string) -> {_T}.Decision", _check_resource),
    ),
    function("allowed", overload(f"{_T}.Decision.() -> bool", lambda value: value.decision.allowed)),
    function("reason", overload(f"{_T}.Decision.() -> string", lambda value: value.decision.reason)),
    # Authorizers of this server answer from memory and cannot fail.
    function("errored", overload(f"{_T}.Decision.() -> bool", lambda _: False)),
    function("error", overload(f"{_T}.Decision.() -> string", lambda _: "")),
)
