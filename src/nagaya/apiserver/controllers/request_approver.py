"""Approves kubelets' own requests for client certificates, if their askers have the right to that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.authz import signers
from nagaya.apiserver.authz.signing_requests import DECISIONS
from nagaya.apiserver.controllers.tables import came_or_changed, keys
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.internal import Internal
from nagaya.apiserver.storage import Event

REQUESTS: Final = GroupResource("certificates.k8s.io", "certificatesigningrequests")
TABLE: Final = "certificates.k8s.io/certificatesigningrequests"


def conditions_of(request: JsonObject) -> list[JsonObject]:
    """What has been decided about a request."""
    conditions: list[JsonObject] = (request.get("status") or {}).get("conditions") or []
    return conditions


def has_condition(request: JsonObject, kind: str) -> bool:
    """Whether a request has a condition of a kind that is true."""
    return any(each["type"] == kind and each.get("status") == "True" for each in conditions_of(request))


class RequestApprover:
    """Approves what needs no person."""

    name = "certificate request approver"
    tables = (TABLE,)

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._api = Internal(backend, "kube-controller-manager")

    def start(self) -> Iterator[str]:
        """All requests."""
        return keys(self._backend.store, TABLE)

    def on_event(self, event: Event) -> Iterator[str]:
        """A request came or changed."""
        return came_or_changed(event, TABLE)

    async def sync(self, key: object) -> float | None:
        """Decide about one request, if it is of the sort that is decided here."""
        assert isinstance(key, str)
        request = self._api.get(REQUESTS, "", key)
        if request is None or not self._message(request):
            return None

        def approve(obj: JsonObject) -> JsonObject | None:
            message = self._message(obj)
            if not message:
                return None
            new = {"type": "Approved", "status": "True", "reason": "AutoApproved", "message": message}
            status = obj.get("status") or {}
            return {**obj, "status": {**status, "conditions": [*conditions_of(obj), new]}}

        await self._api.change(REQUESTS, "", key, approve, subresource="approval")
        return None

    def _message(self, request: JsonObject) -> str:
        """Why it is approved; nothing if it is not, or if that has been decided already."""
        if (request.get("status") or {}).get("certificate"):
            return ""
        if any(has_condition(request, kind) for kind in DECISIONS):
            return ""
        return signers.automatic_approval(request, self._backend.authorizer)
