"""Service account tokens: verified once, then known by their digest until they expire.

Only the signature's verification is remembered. That the account still exists under the same uid, and so does the pod,
node or Secret a token is bound to, is looked up on every request: deleting one of them ends the token at once (the real
server takes up to ten seconds).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from nagaya.apiserver.authn import bound_tokens, claims, jwt, legacy_tokens
from nagaya.apiserver.authn.claims import LEGACY_ISSUER, Claims
from nagaya.apiserver.authn.facts import Audiences, Identity, Refused, RequestFacts, common
from nagaya.apiserver.authn.jwt import VerificationKeys
from nagaya.apiserver.authn.lookups import ServiceAccountLookups
from nagaya.apiserver.authn.static_tokens import digest
from nagaya.apiserver.authn.user import (
    CREDENTIAL_ID,
    NO_EXTRA,
    NODE_NAME,
    NODE_UID,
    POD_NAME,
    POD_UID,
    User,
    authenticated,
    quoted,
    service_account_groups,
    service_account_name,
)
from nagaya.apiserver.meta.status import JsonObject
from nagaya.world import Clock

_REMEMBERED: Final = 4096
_WRONG_SIGNATURE: Final = "go-jose/go-jose: error in cryptographic primitive"


class _Verified(NamedTuple):
    claims: Claims
    user: User


class ServiceAccountTokens:
    """Knows the tokens this server has signed, bound ones and those of Secrets."""

    def __init__(
        self,
        keys: VerificationKeys,
        issuers: Sequence[str],
        api_audiences: Audiences,
        lookups: ServiceAccountLookups,
        clock: Clock,
        on_legacy_use: Callable[[JsonObject], None] | None = None,
    ) -> None:
        """`on_legacy_use` is told the Secret of each never-expiring token that is used, so that its label can be
        kept."""
        self._keys = keys
        self._issuers = frozenset((*issuers, LEGACY_ISSUER))
        self._api_audiences = api_audiences
        self._lookups = lookups
        self._clock = clock
        self._on_legacy_use = on_legacy_use
        self._verified: OrderedDict[bytes, _Verified] = OrderedDict()

    def authenticate_token(self, token: str, facts: RequestFacts) -> Identity | None:
        """The service account whose token it is."""
        key = digest(token)
        known = self._verified.get(key)
        if known is None:
            known = self._verify(token)
            if known is None:
                return None
            self._verified[key] = known
            if len(self._verified) > _REMEMBERED:
                self._verified.popitem(last=False)
        else:
            self._verified.move_to_end(key)
        audiences = self._audiences(known.claims, facts)
        try:
            if known.claims.issuer == LEGACY_ISSUER:
                legacy_tokens.check(known.claims, token, self._lookups, facts, self._on_legacy_use)
            else:
                bound_tokens.check(known.claims, self._lookups, facts, self._clock.now())
        except Refused:
            # What is refused now is seldom asked again, and must not push others out.
            self._verified.pop(key, None)
            raise
        return Identity(known.user, audiences)

    def _verify(self, text: str) -> _Verified | None:
        token = jwt.parse(text)
        # A look at the issuer before the signature is checked decides only whether to check it.
        issuer = None if token is None else token.claims.get("iss")
        if token is None or not isinstance(issuer, str) or issuer not in self._issuers:
            return None
        candidates = self._keys.candidates(token.key_id)
        if not candidates:
            raise Refused("invalid signature, no keys found")
        if not any(jwt.is_signed_by(token, key) for key in candidates):
            raise Refused(_WRONG_SIGNATURE)
        found = claims.read(token.claims)
        return _Verified(found, authenticated(_user(found)))

    def _audiences(self, known: Claims, facts: RequestFacts) -> Audiences:
        offered = known.audiences
        if not offered:
            facts.annotations["authentication.k8s.io/legacy-token"] = known.subject
            offered = self._api_audiences
        wanted = facts.audiences or self._api_audiences
        found = common(wanted, offered)
        if not found and self._api_audiences:
            raise Refused(f"token audiences {quoted(offered)} is invalid for the target audiences {quoted(wanted)}")
        return found


def _user(known: Claims) -> User:
    extra: dict[str, tuple[str, ...]] = {}
    if known.pod is not None and known.pod.name and known.pod.uid:
        extra[POD_NAME] = (known.pod.name,)
        extra[POD_UID] = (known.pod.uid,)
    if known.token_id:
        extra[CREDENTIAL_ID] = (f"JTI={known.token_id}",)
    if known.node is not None and known.node.name:
        extra[NODE_NAME] = (known.node.name,)
        if known.node.uid:
            extra[NODE_UID] = (known.node.uid,)
    name = service_account_name(known.namespace, known.service_account.name)
    groups = service_account_groups(known.namespace)
    return User(name, known.service_account.uid, groups, extra or NO_EXTRA)
