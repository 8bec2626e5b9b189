"""What admission knows of a write: the objects before and after, the operation, and who asks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

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

    def forbidden(self, why: str) -> ApiError:
        """The refusal of this write, in the words all plugins use."""
        name = self.name
        if not name and self.object is not None:
            metadata = self.object.get("metadata") or {}
            name = metadata.get("name") or ""
            if not name and metadata.get("generateName"):
                name = "Unknown"
        return status.forbidden(self.resource.group_resource, name, why)
