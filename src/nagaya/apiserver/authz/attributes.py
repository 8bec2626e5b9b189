"""A request as authorisation sees it: who, which verb, on what.

Selectors are part of it, so that a rule can allow a list of some objects without allowing the list of all. A selector
that cannot be read, or is longer than what matters here (`RawQuery.peek`), counts as none, which never allows more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.selectors import fields, labels
from nagaya.apiserver.selectors.fields import FieldRequirement
from nagaya.apiserver.selectors.requirement import Requirement, SelectorError

if TYPE_CHECKING:
    from nagaya.apiserver.web.request_info import RequestInfo


@dataclass(slots=True)
class Attributes:
    """What is to be allowed or not. For requests that are not for a resource only `user`, `verb` and `path` count."""

    user: User
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    namespace: str = ""
    path: str = ""
    is_resource: bool = True
    fields: tuple[FieldRequirement, ...] = ()
    labels: tuple[Requirement, ...] = ()

    @property
    def group_resource(self) -> GroupResource:
        """The resource without version and subresource."""
        return GroupResource(self.group, self.resource)


def of_request(user: User, info: RequestInfo) -> Attributes:
    """What a user wants who sends a request with this meaning."""
    if not info.is_resource:
        return Attributes(user, info.verb, path=info.path, is_resource=False)
    return Attributes(
        user,
        info.verb,
        info.group,
        info.version,
        info.resource,
        info.subresource,
        info.name,
        info.namespace,
        info.path,
        fields=_fields(info.field_selector) if info.field_selector else (),
        labels=_labels(info.label_selector) if info.label_selector else (),
    )


def _fields(text: str) -> tuple[FieldRequirement, ...]:
    try:
        return fields.parse(text).requirements
    except SelectorError:
        return ()


def _labels(text: str) -> tuple[Requirement, ...]:
    try:
        return labels.parse(text).requirements
    except SelectorError:
        return ()
