"""What admission knows of a write: the objects before and after, the operation, and who asks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from nagaya.apiserver.admission.reinvocation import Reinvocation
from nagaya.apiserver.authn.user import User
from nagaya.apiserver.meta import status
from nagaya.apiserver.meta.gvk import GroupVersionKind
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.registry.resource import Resource


class Operation(StrEnum):
    """What is done to the object."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


@dataclass(slots=True)
class Attributes:
    """One write on its way through admission. Mutating plugins change `object` in place or replace it."""

    call: Call
    operation: Operation
    kind: GroupVersionKind
    namespace: str
    name: str
    object: JsonObject | None
    old: JsonObject | None
    options: JsonObject
    dry_run: bool = False
    reinvocation: Reinvocation | None = None  # made by the first webhook or policy that has a say

    @property
    def resource(self) -> Resource:
        """The resource that is written to."""
        return self.call.resource

    @property
    def subresource(self) -> str:
        """The subresource that is written to, or nothing."""
        return self.call.subresource.name if self.call.subresource else ""

    @property
    def user(self) -> User:
        """Who asks."""
        return self.call.user

    def rounds(self) -> Reinvocation:
        """What the rounds of mutating admission have to know of each other."""
        if self.reinvocation is None:
            self.reinvocation = Reinvocation()
        return self.reinvocation

    def forbidden(self, why: str) -> ApiError:
        """The refusal of this write, in the words all plugins use."""
        name = self.name
        if not name:
            metadata = (self.object or {}).get("metadata") or {}
            # The name may still have to be generated.
            name = metadata.get("name") or metadata.get("generateName") or "Unknown"
        return status.forbidden(self.resource.group_resource, name, why)
