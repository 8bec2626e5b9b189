"""Certificate requests are approved and signed by those who may act for the signer, and never make an administrator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nagaya.apiserver.admission.chain import Plugin
from nagaya.apiserver.registry.backend import Backend

if TYPE_CHECKING:
    from nagaya.apiserver.admission.attributes import Attributes


class SigningRequests(Plugin):
    """Guards certificate signing requests."""

    resources = frozenset({"certificatesigningrequests.certificates.k8s.io"})

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def validate(self, write: Attributes) -> None:
        """Check who approves and signs, and what is asked for."""
        from nagaya.apiserver.authz import signers

        new, old = write.object, write.old
        problem = ""
        authorizer = self._backend.authorizer
        if write.operation == "UPDATE" and new is not None and old is not None:
            if write.subresource == "approval":
                problem = signers.approval_problem(authorizer, write.user, old)
            elif write.subresource == "status":
                problem = signers.signing_problem(authorizer, write.user, new, old)
        elif write.operation == "CREATE" and new is not None and not write.subresource:
            problem = signers.subject_problem(new)
        if problem:
            raise write.forbidden(problem)
