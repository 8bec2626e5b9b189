"""The status of ValidatingAdmissionPolicies: which spec was looked at, and what may be wrong with its expressions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.controllers import policy_type_checks
from nagaya.apiserver.controllers.tables import came_or_changed, keys
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.internal import Internal
from nagaya.apiserver.storage import Event

POLICIES: Final = GroupResource("admissionregistration.k8s.io", "validatingadmissionpolicies")
_TABLE: Final = "admissionregistration.k8s.io/validatingadmissionpolicies"


class PolicyStatus:
    """Looks at each spec once."""

    name = "policy status"
    tables = (_TABLE,)

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._api = Internal(backend, "validatingadmissionpolicy-status-controller")

    def start(self) -> Iterator[str]:
        """All policies."""
        return keys(self._backend.store, _TABLE)

    def on_event(self, event: Event) -> Iterator[str]:
        """A policy came or changed."""
        return came_or_changed(event, _TABLE)

    async def sync(self, key: object) -> float | None:
        """Check one policy."""
        assert isinstance(key, str)
        await self._api.change(POLICIES, "", key, self._checked, subresource="status")
        return None

    def _checked(self, policy: JsonObject) -> JsonObject | None:
        generation = policy["metadata"].get("generation") or 0
        status = policy.get("status") or {}
        if (status.get("observedGeneration") or 0) >= generation:
            return None
        found = policy_type_checks.warnings(policy, self._backend.catalog)
        checked: JsonObject = {"expressionWarnings": found} if found else {}
        return {**policy, "status": {**status, "observedGeneration": generation, "typeChecking": checked}}
