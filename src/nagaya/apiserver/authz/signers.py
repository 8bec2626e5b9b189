"""Who may approve and sign certificate requests.

The right is on a made-up resource `signers.certificates.k8s.io` under the signer's name, or under `<domain>/*` for all
signers of a domain.
"""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.authn.user import MASTERS, User
from nagaya.apiserver.authz import signing_requests
from nagaya.apiserver.authz.attributes import Attributes
from nagaya.apiserver.authz.authorizer import Authorizer
from nagaya.apiserver.meta import gostring
from nagaya.apiserver.meta.status import JsonObject

GROUP: Final = "certificates.k8s.io"
API_CLIENT: Final = "kubernetes.io/kube-apiserver-client"
KUBELET_CLIENT: Final = "kubernetes.io/kube-apiserver-client-kubelet"
KUBELET_SERVING: Final = "kubernetes.io/kubelet-serving"
LEGACY_UNKNOWN: Final = "kubernetes.io/legacy-unknown"

_RECOGNISED: Final = (
    ("selfnodeclient", "Auto approving self kubelet client certificate after SubjectAccessReview."),
    ("nodeclient", "Auto approving kubelet client certificate after SubjectAccessReview."),
)


def may(authorizer: Authorizer, user: User, verb: str, signer: str) -> bool:
    """Whether a user may do something (`approve`, `sign`, `attest`) as a signer."""
    domain = signer.partition("/")[0]
    return any(
        authorizer.authorize(Attributes(user, verb, GROUP, "*", "signers", name=name)).allowed
        for name in (signer, f"{domain}/*")
    )


def approval_problem(authorizer: Authorizer, user: User, old: JsonObject) -> str:
    """Why a user may not approve or deny a request; nothing if she may."""
    signer = (old.get("spec") or {}).get("signerName") or ""
    if may(authorizer, user, "approve", signer):
        return ""
    return f"user not permitted to approve requests with signerName {gostring.quote(signer)}"


def signing_problem(authorizer: Authorizer, user: User, new: JsonObject, old: JsonObject) -> str:
    """Why a user may not write a request's status; nothing if she may, or if neither certificate nor conditions
    change."""
    before, after = old.get("status") or {}, new.get("status") or {}
    if all((before.get(member) or None) == (after.get(member) or None) for member in ("certificate", "conditions")):
        return ""
    signer = (old.get("spec") or {}).get("signerName") or ""
    if may(authorizer, user, "sign", signer):
        return ""
    return f"user not permitted to sign requests with signerName {gostring.quote(signer)}"


def subject_problem(request: JsonObject) -> str:
    """Why nobody may create a request with such a subject; nothing if all is well.

    The group that may do everything is not for certificates that anyone with the right to approve can hand out.
    """
    if (request.get("spec") or {}).get("signerName") != API_CLIENT:
        return ""
    try:
        parsed = signing_requests.parse(request)
    except ValueError as problem:
        return f"failed to parse CSR: {problem}"
    return f"use of {API_CLIENT} signer with {MASTERS} group is not allowed" if MASTERS in parsed.organizations else ""


def automatic_approval(request: JsonObject, authorizer: Authorizer) -> str:
    """The message with which a kubelet's own request is approved without a person; nothing if it is not.

    It has to be recognised as a kubelet's, and the requester has to have the right to have such requests approved.
    """
    spec = request.get("spec") or {}
    if spec.get("signerName") != KUBELET_CLIENT:
        return ""
    try:
        parsed = signing_requests.parse(request)
    except ValueError:
        return ""
    if signing_requests.kubelet_client_problem(parsed, spec.get("usages") or ()):
        return ""
    extra = {key: tuple(values) for key, values in (spec.get("extra") or {}).items()}
    user = User(spec.get("username") or "", spec.get("uid") or "", tuple(spec.get("groups") or ()), extra)
    for part, message in _RECOGNISED:
        if part == "selfnodeclient" and user.name != parsed.common_name:
            continue
        asked = Attributes(user, "create", GROUP, "*", "certificatesigningrequests", part)
        if authorizer.authorize(asked).allowed:
            return message
    return ""
