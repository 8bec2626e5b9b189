"""CertificateSigningRequests in the write path. What makes one valid is told in the room `authz`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from nagaya.apiserver.builtins.kinds.kind import Kind
from nagaya.apiserver.meta import names, status
from nagaya.apiserver.meta.field_errors import FieldError
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.registry.strategy import Strategy

if TYPE_CHECKING:
    from nagaya.apiserver.authz.signing_requests import Part

_REQUESTS: Final = GroupResource("certificates.k8s.io", "certificatesigningrequests")


class RequestStrategy(Strategy):
    """One of the three doors of a request: the object itself, its status, and the decision about it."""

    allow_unconditional_update = True
    name_check = staticmethod(names.path_segment)
    selectable_fields = frozenset({"spec.signerName"})

    def __init__(self, part: str = "") -> None:
        self._part = part
        self.reset_fields = _RESET[part]

    def select(self, obj: JsonObject) -> Mapping[str, str]:
        """By signer."""
        return {"spec.signerName": (obj.get("spec") or {}).get("signerName") or ""}

    def prepare_create(self, obj: JsonObject, call: Call) -> None:
        """Who asks is written down by the server."""
        from nagaya.apiserver.authz import signing_requests

        signing_requests.prepare_create(obj, call.user)

    def validate_create(self, obj: JsonObject, call: Call, found: Sequence[FieldError]) -> list[FieldError]:
        """The request itself, its usages and its signer. Raises 403 for the group that may do everything."""
        from nagaya.apiserver.authz import signers, signing_request_validation

        errors = signing_request_validation.validate_create(obj)
        if not errors and not found and (problem := signers.subject_problem(obj)):
            raise status.forbidden(_REQUESTS, obj["metadata"].get("name") or "", problem)
        return errors

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """Nothing but what this door is for changes."""
        from nagaya.apiserver.authz import signing_requests

        signing_requests.prepare_update(new, old, self._door, call.backend.now())

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """The same, and what may not be changed through this door. Deciding and signing are rights of their own, by
        signer; raises 403 for who has them not.
        """
        from nagaya.apiserver.authz import signers, signing_request_validation

        errors = signing_request_validation.validate_update(new, old, self._door)
        problem = ""
        if self._part == "approval":
            problem = signers.approval_problem(call.backend.authorizer, call.user, old)
        elif self._part == "status":
            problem = signers.signing_problem(call.backend.authorizer, call.user, new, old)
        if problem and not errors and not found:
            raise status.forbidden(_REQUESTS, call.name, problem)
        return errors

    @property
    def _door(self) -> Part:
        from nagaya.apiserver.authz.signing_requests import Part

        return Part(self._part)


_RESET: Final[Mapping[str, tuple[str, ...]]] = {
    "": ("spec", "status"),
    "status": ("spec", "status.conditions"),
    "approval": ("spec", "status.certificate"),
}
KINDS: Final[Mapping[GroupResource, Kind]] = {
    _REQUESTS: Kind(RequestStrategy(), {"status": RequestStrategy("status"), "approval": RequestStrategy("approval")})
}
