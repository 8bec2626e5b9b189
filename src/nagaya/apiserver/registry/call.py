"""One request while it is being served: what was asked, by whom, of which resource, and what came up on the way.

A `Call` is made once the request is authenticated and routed, is handed through the write path, strategies and
admission, and dies with the answer. Warnings collected here become `Warning` headers, audit annotations a part of the
audit event.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.authz.attributes import Attributes
from nagaya.apiserver.authz.refusal import forbidden
from nagaya.apiserver.registry.resource import Resource, Subresource
from nagaya.apiserver.web.request import Request
from nagaya.apiserver.web.request_info import RequestInfo

if TYPE_CHECKING:
    from nagaya.apiserver.registry.backend import Backend

WARNINGS: Final = 1000  # what comes after so many finds no place in the headers


@dataclass(slots=True)
class Call:
    """The request being served."""

    backend: Backend
    request: Request
    info: RequestInfo
    user: User
    resource: Resource
    subresource: Subresource | None = None
    warnings: dict[str, None] = field(default_factory=dict)  # in their order; a body can give cause for thousands
    audit_annotations: dict[str, str] = field(default_factory=dict)
    dry_run: bool = False

    @property
    def namespace(self) -> str:
        """The namespace in the URL; empty for cluster-scoped resources and requests across all namespaces."""
        return self.info.namespace if self.resource.namespaced else ""

    @property
    def name(self) -> str:
        """The object named in the URL."""
        return self.info.name

    def warn(self, message: str) -> None:
        """Tell the client something, once."""
        if len(self.warnings) < WARNINGS:
            self.warnings.setdefault(message)

    def authorize_create(self) -> None:
        """Ask for leave to create: an update or apply that creates needs both. Raises 403."""
        attributes = Attributes(
            self.user,
            "create",
            self.resource.gvr.group,
            self.resource.gvr.version,
            self.resource.gvr.resource,
            self.subresource.name if self.subresource else "",
            self.name,
            self.namespace,
            self.request.path,
        )
        decision = self.backend.authorizer.authorize(attributes)
        if not decision.allowed:
            raise forbidden(attributes, decision.reason)

    def manager(self, given: str) -> str:
        """The field manager: the one given, or the program that asks."""
        if given:
            return given
        product = self.request.user_agent.partition("/")[0][:128]
        return "".join(char for char in product if char.isprintable()) or "unknown"
