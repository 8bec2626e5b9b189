"""Roles and bindings: their rules, and that nobody grants more than they have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from nagaya.apiserver.authz import rbac_validation
from nagaya.apiserver.authz.rbac import GROUP
from nagaya.apiserver.builtins.kinds.kind import Kind
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.registry.strategy import Strategy, Undo

Validate = Callable[[JsonObject, JsonObject | None], list[FieldError]]


class _RbacStrategy(Strategy):
    """What roles and bindings have in common: names may hold colons, and a PUT may create."""

    allow_create_on_update = True
    name_check = staticmethod(names.path_segment)

    def __init__(self, resource: str, validate: Validate) -> None:
        self._resource = resource
        self._validate = validate

    def validate_create(self, obj: JsonObject, call: Call, found: Sequence[FieldError]) -> list[FieldError]:
        """The kind's rules."""
        return self._validate(obj, None)

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """The kind's rules, some of which look at what was there before."""
        return self._validate(new, old)


class RoleStrategy(_RbacStrategy):
    """Role and ClusterRole."""

    async def begin_create(self, obj: JsonObject, call: Call) -> Undo | None:
        """Nobody may write down more than they have."""
        namespace = obj["metadata"].get("namespace") or ""
        call.backend.escalation.check_role(call.user, self._resource, obj, None, namespace)
        return None

    async def begin_update(self, new: JsonObject, old: JsonObject, call: Call) -> Undo | None:
        """The same for a change."""
        call.backend.escalation.check_role(call.user, self._resource, new, old, call.namespace, call.name)
        return None


class BindingStrategy(_RbacStrategy):
    """RoleBinding and ClusterRoleBinding."""

    def default(self, obj: JsonObject) -> None:
        """The groups of the role and the subjects."""
        rbac_validation.default_binding(obj)

    async def begin_create(self, obj: JsonObject, call: Call) -> Undo | None:
        """Nobody may hand out more than they have."""
        namespace = obj["metadata"].get("namespace") or ""
        call.backend.escalation.check_binding(call.user, self._resource, obj, None, namespace)
        return None

    async def begin_update(self, new: JsonObject, old: JsonObject, call: Call) -> Undo | None:
        """The same for a change."""
        call.backend.escalation.check_binding(call.user, self._resource, new, old, call.namespace)
        return None


def _role(role: JsonObject, _: JsonObject | None) -> list[FieldError]:
    return rbac_validation.validate_role(role)


KINDS: Final[Mapping[GroupResource, Kind]] = {
    GroupResource(GROUP, "roles"): Kind(RoleStrategy("roles", _role)),
    GroupResource(GROUP, "clusterroles"): Kind(RoleStrategy("clusterroles", rbac_validation.validate_cluster_role)),
    GroupResource(GROUP, "rolebindings"): Kind(BindingStrategy("rolebindings", rbac_validation.validate_role_binding)),
    GroupResource(GROUP, "clusterrolebindings"): Kind(
        BindingStrategy("clusterrolebindings", rbac_validation.validate_cluster_role_binding)
    ),
}
