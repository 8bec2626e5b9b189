"""CertificateSigningRequest objects: what they hold, and what writing them through each of their doors means.

The `prepare` functions bring an object into the state in which it is checked and stored.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Final

from cryptography import x509

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.meta.status import JsonObject
from nagaya.pki import requests
from nagaya.pki.requests import CertificateRequest
from nagaya.pki.usages import Usage

DECISIONS: Final = ("Approved", "Denied")

_NODE_ORGANIZATION: Final = ["system:nodes"]
_CLIENT_USAGES: Final = frozenset({Usage.DIGITAL_SIGNATURE, Usage.CLIENT_AUTH})
_SERVING_USAGES: Final = frozenset({Usage.DIGITAL_SIGNATURE, Usage.SERVER_AUTH})


class Part(Enum):
    """Through which door an object is written."""

    MAIN = ""
    STATUS = "status"
    APPROVAL = "approval"


def parse(obj: JsonObject) -> CertificateRequest:
    """The request that an object carries. Raises ValueError."""
    return requests.parse(decoded((obj.get("spec") or {}).get("request")))


def decoded(text: str | None) -> bytes:
    """The bytes of a base64 member; nothing if there are none."""
    try:
        return base64.b64decode(text or "")
    except (binascii.Error, ValueError):
        return b""


def kubelet_client_problem(request: CertificateRequest, usages: Iterable[str]) -> str:
    """Why this is not a kubelet's request for a client certificate; nothing if it is."""
    if request.organizations != _NODE_ORGANIZATION:
        return "subject organization is not system:nodes"
    for kind, title in (
        (x509.DNSName, "DNS"),
        (x509.RFC822Name, "Email"),
        (x509.IPAddress, "IP"),
        (x509.UniformResourceIdentifier, "URI"),
    ):
        if request.names_of(kind):
            return f"{title} subjectAltNames are not allowed"
    if not request.common_name.startswith("system:node:"):
        return "subject common name does not begin with system:node:"
    return _usage_problem(usages, _CLIENT_USAGES)


def kubelet_serving_problem(request: CertificateRequest, usages: Iterable[str]) -> str:
    """Why this is not a kubelet's request for a serving certificate; nothing if it is."""
    if request.organizations != _NODE_ORGANIZATION:
        return "subject organization is not system:nodes"
    if not request.names_of(x509.DNSName) and not request.names_of(x509.IPAddress):
        return "DNS or IP subjectAltName is required"
    for kind, title in ((x509.RFC822Name, "Email"), (x509.UniformResourceIdentifier, "URI")):
        if request.names_of(kind):
            return f"{title} subjectAltNames are not allowed"
    problem = _usage_problem(usages, _SERVING_USAGES)
    if problem or request.common_name.startswith("system:node:"):
        return problem
    return "subject common name does not begin with system:node:"


def _usage_problem(usages: Iterable[str], wanted: frozenset[Usage]) -> str:
    given = set(usages)
    if given in (wanted, wanted | {Usage.KEY_ENCIPHERMENT}):
        return ""
    return f"usages did not match [{' '.join(sorted(wanted | {Usage.KEY_ENCIPHERMENT}))}]"


def prepare_create(obj: JsonObject, user: User) -> None:
    """Write down who asks, whatever the request says, and forget any status. Changes the object."""
    spec = {
        key: value
        for key, value in (obj.get("spec") or {}).items()
        if key not in ("username", "uid", "groups", "extra")
    }
    obj["spec"] = spec | user.as_info()
    obj["status"] = {}


def prepare_update(new: JsonObject, old: JsonObject, part: Part, now: str) -> None:
    """Restore what cannot be written through this door, and date the conditions. Changes the new object."""
    if "spec" in old:
        new["spec"] = old["spec"]
    before, after = old.get("status") or {}, dict(new.get("status") or {})
    if part is Part.MAIN:
        new["status"] = before
        return
    conditions = [dict(each) for each in after.get("conditions") or ()]
    if part is Part.STATUS:
        for kind in DECISIONS:
            _keep_conditions(conditions, before.get("conditions") or (), kind)
    else:
        after = dict(before)
    since = {_identity(each): each.get("lastTransitionTime") for each in reversed(before.get("conditions") or ())}
    for condition in conditions:
        if not condition.get("lastUpdateTime"):
            condition["lastUpdateTime"] = now
        if not condition.get("lastTransitionTime"):
            condition["lastTransitionTime"] = since.get(_identity(condition)) or now
    after.pop("conditions", None)
    new["status"] = after | ({"conditions": conditions} if conditions else {})


def _keep_conditions(conditions: list[JsonObject], before: Sequence[JsonObject], kind: str) -> None:
    """Where no condition of a kind was added or removed, those that were there stay as they were."""
    positions = [index for index, each in enumerate(conditions) if each.get("type") == kind]
    kept = [each for each in before if each.get("type") == kind]
    if len(positions) == len(kept):
        for position, condition in zip(positions, kept, strict=True):
            conditions[position] = dict(condition)


def _identity(condition: JsonObject) -> tuple[str | None, str | None]:
    return condition.get("type"), condition.get("status")
