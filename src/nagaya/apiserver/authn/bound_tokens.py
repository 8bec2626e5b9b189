"""What has to hold for a token that expires: its dates, its account, and the object it is bound to."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from nagaya.apiserver.authn.claims import Claims, Reference
from nagaya.apiserver.authn.facts import Refused, RequestFacts
from nagaya.apiserver.authn.lookups import ServiceAccountLookups, uid_of
from nagaya.apiserver.meta import gostring
from nagaya.apiserver.meta.durations import parse_timestamp
from nagaya.apiserver.meta.status import JsonObject

_LEEWAY: Final = 60.0  # seconds by which clocks may differ
_INVALIDATED: Final = "service account token has been invalidated"


def check(known: Claims, lookups: ServiceAccountLookups, facts: RequestFacts, now: datetime) -> None:
    """Raise Refused unless the token is good now."""
    second = now.timestamp()
    _check_dates(known, second)
    namespace, reference = known.namespace, known.service_account
    account = lookups.get_service_account(namespace, reference.name)
    if account is None:
        raise Refused(f"serviceaccounts {gostring.quote(reference.name)} not found")
    if uid_of(account) != reference.uid:
        raise Refused(f"service account UID ({uid_of(account)}) does not match claim ({reference.uid})")
    if _is_deleted(account, now):
        raise Refused(f"service account {namespace}/{reference.name} has been deleted")
    if known.secret is not None:
        _check_object("secret", lookups.get_secret(namespace, known.secret.name), known.secret, now)
    if known.pod is not None:
        _check_object("pod", lookups.get_pod(namespace, known.pod.name), known.pod, now)
    elif known.node is not None:
        _check_object("node", lookups.get_node(known.node.name), known.node, now)
    if known.warn_after and second > known.warn_after:
        late = int(second) - int(known.warn_after)
        facts.annotations["authentication.k8s.io/stale-token"] = (
            f"subject: {known.subject}, seconds after warning threshold: {late}"
        )


def _check_dates(known: Claims, now: float) -> None:
    if known.not_before is not None and now + _LEEWAY < known.not_before:
        raise Refused("service account token is not valid yet")
    if known.expires is not None and now - _LEEWAY > known.expires:
        raise Refused("service account token has expired")
    if known.issued is not None and now + _LEEWAY < known.issued:
        raise Refused("service account token is issued in the future")


def _check_object(kind: str, found: JsonObject | None, wanted: Reference, now: datetime) -> None:
    if found is None:
        raise Refused(_INVALIDATED)
    uid = uid_of(found)
    if uid != wanted.uid:
        raise Refused(f"{kind} UID ({uid}) does not match service account {kind} ref claim ({wanted.uid})")
    if _is_deleted(found, now):
        raise Refused(_INVALIDATED)


def _is_deleted(obj: JsonObject, now: datetime) -> bool:
    """Whether an object's deletion date is past, beyond what clocks may differ by."""
    text = obj["metadata"].get("deletionTimestamp")
    if not text:
        return False
    moment = parse_timestamp(text)
    return moment is not None and (now - moment).total_seconds() > _LEEWAY
