"""The controllers' way to the embedded server, when both run in one process.

The caller is trusted, so nothing has to be proved on every call: it shows a certificate that the server's own authority
issued to it, which the server knows again by its fingerprint. Any identity can be had that way, and RBAC, audit and
managed fields treat it like one that came over the network.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from cryptography.hazmat.primitives.serialization import Encoding

from nagaya.apiserver.server import ApiServer
from nagaya.in_process import Handle, HandlerTransport
from nagaya.kube.transport import Call, Unreachable
from nagaya.pki.certificates import CertificateSpec

_VALIDITY: Final = timedelta(days=30)
_RENEW_BEFORE: Final = timedelta(days=10)


class InProcessTransport(HandlerTransport):
    """A way to a server in this process, as one user."""

    def __init__(
        self,
        server: ApiServer,
        user: str = "nagaya",
        groups: tuple[str, ...] = ("system:masters",),
        user_agent: str = "nagaya",
    ) -> None:
        super().__init__(self._serve, {"user-agent": user_agent})
        self._server = server
        self._spec = CertificateSpec(user, groups, validity=_VALIDITY, since_authority=True)
        self._certificate = b""
        self._renew_at: datetime | None = None

    def _serve(self, call: Call) -> tuple[Handle, bytes]:
        if self._server.store.closed:
            raise Unreachable(call, "the server in this process has stopped")
        return self._server.handle, self._shown()

    def _shown(self) -> bytes:
        clock = self._server.world.clock
        if self._renew_at is None or clock.now() >= self._renew_at:
            certificate, _ = self._server.identity.authority.issue_pair(self._spec, clock)
            self._certificate = certificate.public_bytes(Encoding.DER)
            self._renew_at = certificate.not_valid_after_utc - _RENEW_BEFORE
        return self._certificate
