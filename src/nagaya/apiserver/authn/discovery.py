"""The documents by which others verify this server's service account tokens (OpenID Connect discovery)."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from nagaya.apiserver.authn.jwt import VerificationKeys
from nagaya.apiserver.meta.status import JsonObject

CONFIGURATION_PATH: Final = "/.well-known/openid-configuration"
KEY_SET_PATH: Final = "/openid/v1/jwks"
CONFIGURATION_TYPE: Final = "application/json"
KEY_SET_TYPE: Final = "application/jwk-set+json"
CACHE_CONTROL: Final = "public, max-age=3600"


def configuration(issuer: str, key_set_url: str, keys: VerificationKeys) -> JsonObject:
    """The provider configuration. Raises ValueError if the issuer or the address of the key set is not fit for it."""
    parts = urlsplit(issuer)
    if not issuer:
        raise ValueError("empty issuer URL")
    if parts.scheme != "https":
        raise ValueError(f"issuer URL must use https scheme, got: {issuer}")
    if parts.query:
        raise ValueError(f"issuer URL may not include a query, got: {issuer}")
    if parts.fragment:
        raise ValueError(f"issuer URL may not include a fragment, got: {issuer}")
    if urlsplit(key_set_url).scheme != "https":
        raise ValueError(f"jwksURI requires https scheme, parsed as: {key_set_url}")
    return {
        "issuer": issuer,
        "jwks_uri": key_set_url,
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": keys.algorithms,
    }
