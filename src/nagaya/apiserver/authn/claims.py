"""What a service account token says: whose it is, for whom, how long, and what it is bound to."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from nagaya.apiserver.authn.facts import Audiences
from nagaya.apiserver.authn.user import service_account_name
from nagaya.apiserver.meta.status import JsonObject

LEGACY_ISSUER: Final = "kubernetes/serviceaccount"
_PRIVATE: Final = "kubernetes.io"
_LEGACY: Final = "kubernetes.io/serviceaccount/"


class Reference(NamedTuple):
    """An object by name and uid."""

    name: str
    uid: str

    @classmethod
    def of(cls, obj: JsonObject) -> Reference:
        """The reference to an object."""
        metadata = obj.get("metadata") or {}
        return cls(metadata.get("name") or "", metadata.get("uid") or "")

    def as_claim(self) -> JsonObject:
        """Its form in a token; what is empty is left out."""
        return {key: value for key, value in self._asdict().items() if value}


class Claims(NamedTuple):
    """The claims of a token whose signature has been verified. Dates are seconds since 1970; None where there is
    none."""

    issuer: str
    subject: str
    audiences: Audiences
    expires: float | None
    not_before: float | None
    issued: float | None
    token_id: str
    namespace: str
    service_account: Reference
    pod: Reference | None = None
    node: Reference | None = None
    secret: Reference | None = None
    warn_after: float | None = None


def read(claims: JsonObject) -> Claims:
    """The claims of either sort of token. A member of the wrong type counts as missing."""
    issuer = _text(claims, "iss")
    if issuer == LEGACY_ISSUER:
        account = Reference(
            _text(claims, f"{_LEGACY}service-account.name"), _text(claims, f"{_LEGACY}service-account.uid")
        )
        namespace = _text(claims, f"{_LEGACY}namespace")
        secret_name = _text(claims, f"{_LEGACY}secret.name")
        own: JsonObject = {}
        secret = Reference(secret_name, "") if secret_name else None
    else:
        found = claims.get(_PRIVATE)
        own = found if isinstance(found, dict) else {}
        account = _reference(own, "serviceaccount") or Reference("", "")
        namespace, secret = _text(own, "namespace"), _reference(own, "secret")
    return Claims(
        issuer=issuer,
        subject=_text(claims, "sub"),
        audiences=_audiences(claims.get("aud")),
        expires=_date(claims, "exp"),
        not_before=_date(claims, "nbf"),
        issued=_date(claims, "iat"),
        token_id=_text(claims, "jti"),
        namespace=namespace,
        service_account=account,
        pod=_reference(own, "pod"),
        node=_reference(own, "node"),
        secret=secret,
        warn_after=_date(own, "warnafter"),
    )


def bound(
    issuer: str,
    token_id: str,
    service_account: JsonObject,
    audiences: Audiences,
    now: datetime,
    lifetime: timedelta,
    *,
    pod: JsonObject | None = None,
    node: Reference | None = None,
    secret: JsonObject | None = None,
    warn_after: timedelta | None = None,
) -> JsonObject:
    """The claims of a token that expires. With a pod, the node is only information; alone it is what the token is bound
    to."""
    metadata = service_account["metadata"]
    second = int(now.timestamp())
    own: JsonObject = {
        "namespace": metadata["namespace"],
        "serviceaccount": Reference.of(service_account).as_claim(),
    }
    if pod is not None:
        own["pod"] = Reference.of(pod).as_claim()
    if node is not None:
        own["node"] = node.as_claim()
    if secret is not None:
        own["secret"] = Reference.of(secret).as_claim()
    if warn_after is not None:
        own["warnafter"] = int((now + warn_after).timestamp())
    return {
        "iss": issuer,
        "sub": service_account_name(metadata["namespace"], metadata["name"]),
        "aud": list(audiences),
        "exp": int((now + lifetime).timestamp()),
        "nbf": second,
        "iat": second,
        "jti": token_id,
        _PRIVATE: own,
    }


def legacy(service_account: JsonObject, secret: JsonObject) -> JsonObject:
    """The claims of a token that lives in a Secret and never expires."""
    metadata = service_account["metadata"]
    account = Reference.of(service_account)
    return {
        "iss": LEGACY_ISSUER,
        "sub": service_account_name(metadata["namespace"], metadata["name"]),
        f"{_LEGACY}namespace": metadata["namespace"],
        f"{_LEGACY}secret.name": secret["metadata"]["name"],
        f"{_LEGACY}service-account.name": account.name,
        f"{_LEGACY}service-account.uid": account.uid,
    }


def _text(claims: JsonObject, key: str) -> str:
    value = claims.get(key)
    return value if isinstance(value, str) else ""


def _date(claims: JsonObject, key: str) -> float | None:
    value = claims.get(key)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _audiences(value: Any) -> Audiences:
    if isinstance(value, str):
        return (value,)
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


def _reference(own: JsonObject, key: str) -> Reference | None:
    value = own.get(key)
    return Reference(_text(value, "name"), _text(value, "uid")) if isinstance(value, dict) else None
