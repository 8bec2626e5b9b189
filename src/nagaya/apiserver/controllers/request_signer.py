"""Signs certificate requests that are approved, with the server's own authority.

Each of Kubernetes' signers has rules of its own for what it signs. A request that breaks them gets the condition
`Failed` and stays as it is.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Final

from nagaya.apiserver.authz import signers, signing_requests
from nagaya.apiserver.controllers.request_approver import REQUESTS, TABLE, conditions_of, has_condition
from nagaya.apiserver.controllers.tables import keys
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.internal import Internal
from nagaya.apiserver.storage import Event
from nagaya.pki import certificates
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.requests import CertificateRequest
from nagaya.pki.usages import Usage

LONGEST: Final = timedelta(days=365)
_SHORTEST: Final = timedelta(minutes=10)
_CLIENT_USAGES: Final = frozenset({Usage.DIGITAL_SIGNATURE, Usage.KEY_ENCIPHERMENT, Usage.CLIENT_AUTH})

Rule = Callable[[CertificateRequest, Sequence[str]], str]


def _client_problem(_: CertificateRequest, usages: Sequence[str]) -> str:
    for usage in usages:
        if usage not in _CLIENT_USAGES:
            return f"invalid usage for client certificate: {usage}"
    if Usage.CLIENT_AUTH not in usages:
        return f"missing required usage for client certificate: {Usage.CLIENT_AUTH}"
    return ""


def _no_problem(_: CertificateRequest, __: Sequence[str]) -> str:
    return ""


_RULES: Final[Mapping[str, Rule]] = {
    signers.API_CLIENT: _client_problem,
    signers.KUBELET_CLIENT: signing_requests.kubelet_client_problem,
    signers.KUBELET_SERVING: signing_requests.kubelet_serving_problem,
    signers.LEGACY_UNKNOWN: _no_problem,
}


class RequestSigner:
    """Issues the certificates of approved requests."""

    name = "certificate request signer"
    tables = (TABLE,)

    def __init__(self, backend: Backend, authority: CertificateAuthority) -> None:
        self._backend = backend
        self._authority = authority
        self._api = Internal(backend, "kube-controller-manager")

    def start(self) -> Iterator[str]:
        """All requests."""
        return keys(self._backend.store, TABLE)

    def on_event(self, event: Event) -> Iterator[str]:
        """A request came or changed."""
        if event.table == TABLE and event.record is not None and b'"Approved"' in event.record.value:
            yield event.key

    async def sync(self, key: object) -> float | None:
        """Sign one request if it is approved and nothing has come of it yet."""
        assert isinstance(key, str)
        request = self._api.get(REQUESTS, "", key)
        if request is None or not _is_due(request):
            return None
        result = self._result(request)
        uid = request["metadata"]["uid"]

        def change(obj: JsonObject) -> JsonObject | None:
            if not _is_due(obj) or obj["metadata"]["uid"] != uid:
                return None
            status = obj.get("status") or {}
            if isinstance(result, str):
                return {**obj, "status": {**status, "certificate": result}}
            return {**obj, "status": {**status, "conditions": [*conditions_of(obj), result]}}

        await self._api.change(REQUESTS, "", key, change, subresource="status")
        return None

    def _result(self, request: JsonObject) -> str | JsonObject:
        """The certificate, or the condition that says why there is none."""
        spec = request["spec"]
        parsed, usages = signing_requests.parse(request), spec.get("usages") or []
        if problem := _RULES[spec["signerName"]](parsed, usages):
            return {"type": "Failed", "status": "True", "reason": "SignerValidationFailure", "message": problem}
        validity = lifetime(spec.get("expirationSeconds"))
        made = self._authority.sign_request(parsed, usages, validity, self._backend.world.clock)
        return base64.b64encode(certificates.to_pem(made)).decode()


def _is_due(request: JsonObject) -> bool:
    status = request.get("status") or {}
    return (
        request["spec"].get("signerName") in _RULES
        and not status.get("certificate")
        and has_condition(request, "Approved")
        and not has_condition(request, "Denied")
        and not has_condition(request, "Failed")
    )


def lifetime(asked: int | None) -> timedelta:
    """How long a certificate is good for: as asked, within limits, and otherwise a year."""
    if asked is None:
        return LONGEST
    return max(min(timedelta(seconds=asked), LONGEST), _SHORTEST)
