"""Bootstrap tokens: what a machine has before it has a certificate.

A token `id.secret` is valid while `kube-system` holds a Secret `bootstrap-token-<id>` that says so. Whatever is wrong
with the Secret, the token is simply not known: a guesser learns nothing.
"""

from __future__ import annotations

import hmac
import re
from typing import Final

from nagaya.apiserver.authn.facts import Audiences, Identity, RequestFacts, common
from nagaya.apiserver.authn.lookups import SecretLookup, secret_bytes
from nagaya.apiserver.authn.user import User
from nagaya.apiserver.meta.durations import parse_timestamp
from nagaya.apiserver.meta.status import JsonObject
from nagaya.world import Clock

NAMESPACE: Final = "kube-system"
NAME_PREFIX: Final = "bootstrap-token-"
SECRET_TYPE: Final = "bootstrap.kubernetes.io/token"  # noqa: S105 - the name of a kind of Secret
GROUP: Final = "system:bootstrappers"

_token = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})").fullmatch
_is_group = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]").fullmatch


class BootstrapTokens:
    """Knows the tokens that Secrets of `kube-system` hold."""

    def __init__(self, secrets: SecretLookup, clock: Clock, api_audiences: Audiences = ()) -> None:
        self._secrets = secrets
        self._clock = clock
        self._api_audiences = api_audiences

    def authenticate_token(self, token: str, facts: RequestFacts) -> Identity | None:
        """The user `system:bootstrap:<id>`."""
        audiences = common(facts.audiences, self._api_audiences)
        if facts.audiences and not audiences:
            return None
        parts = _token(token)
        if parts is None:
            return None
        secret = self._secrets.get_secret(NAMESPACE, NAME_PREFIX + parts[1])
        if secret is None or not self._is_valid(secret, parts[1], parts[2]):
            return None
        groups = groups_of(secret)
        if groups is None:
            return None
        return Identity(User(f"system:bootstrap:{parts[1]}", groups=groups), audiences)

    def _is_valid(self, secret: JsonObject, token_id: str, token_secret: str) -> bool:
        if (secret.get("metadata") or {}).get("deletionTimestamp") or secret.get("type") != SECRET_TYPE:
            return False
        if not hmac.compare_digest(secret_bytes(secret, "token-secret"), token_secret.encode()):
            return False
        return (
            secret_bytes(secret, "token-id") == token_id.encode()
            and not has_expired(secret, self._clock)
            and secret_bytes(secret, "usage-bootstrap-authentication") == b"true"
        )


def has_expired(secret: JsonObject, clock: Clock) -> bool:
    """Whether a bootstrap token's time is over. A date that cannot be read counts as past."""
    text = secret_bytes(secret, "expiration")
    if not text:
        return False
    moment = parse_timestamp(text.decode(errors="replace"))
    return moment is None or moment <= clock.now()


def groups_of(secret: JsonObject) -> tuple[str, ...] | None:
    """The groups of a bootstrap token's user, sorted; None if the Secret asks for one that such a user may not be
    in."""
    groups = {GROUP}
    text = secret_bytes(secret, "auth-extra-groups").decode(errors="replace")
    for group in text.split(",") if text else ():
        if not _is_group(group):
            return None
        groups.add(group)
    return tuple(sorted(groups))
