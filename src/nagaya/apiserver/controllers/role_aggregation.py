"""ClusterRoles that are put together from others are kept complete."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.authz import aggregation
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.internal import Internal
from nagaya.apiserver.storage import Event, Record

_ROLES: Final = GroupResource("rbac.authorization.k8s.io", "clusterroles")
_TABLE: Final = "rbac.authorization.k8s.io/clusterroles"


class RoleAggregation:
    """Gives every ClusterRole with an aggregation rule the rules of those it chooses."""

    name = "role aggregation"
    tables = (_TABLE,)

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._api = Internal(backend, "clusterrole-aggregation-controller")
        self._aggregating: set[str] = set()

    def start(self) -> Iterator[str]:
        """All roles with an aggregation rule."""
        for record in self._backend.store.list(_TABLE).records:
            self._note(record)
        yield from self._aggregating

    def on_event(self, event: Event) -> Iterator[str]:
        """Any role may be chosen by any aggregating one."""
        if event.table == _TABLE:
            self._aggregating.discard(event.key)
            if event.record is not None:
                self._note(event.record)
            yield from self._aggregating

    def _note(self, record: Record) -> None:
        if b'"aggregationRule"' in record.value:
            self._aggregating.add(record.key)

    async def sync(self, key: object) -> float | None:
        """Bring the rules of one role up to date."""
        assert isinstance(key, str)
        role = self._api.get(_ROLES, "", key)
        if role is None or "aggregationRule" not in role:
            return None

        def change(obj: JsonObject) -> JsonObject | None:
            rules = self._rules(obj)
            if rules is None or not aggregation.needs_update(obj, rules):
                return None
            return {**obj, "rules": rules}

        await self._api.change(_ROLES, "", key, change)
        return None

    def _rules(self, role: JsonObject) -> list[JsonObject] | None:
        selectors = aggregation.selectors(role)
        # By their labels, for which they need not be read: no selector chooses most of the roles there are.
        chosen = (
            record.object()
            for record in self._backend.store.list(_TABLE).records
            if any(each.matches(record.labels) for each in selectors)
        )
        return aggregation.aggregated_rules(role, chosen)
