"""Secrets with credentials. The cache knows that they are there and when they change, and keeps the content of none."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Final

import msgspec

from nagaya.api.kind import Kind, Resource
from nagaya.api.meta import NONE
from nagaya.kube.cache.cache import Cache


class CredentialsSecret(Resource):
    """A Secret. What the cache has of it is without data."""

    data: Mapping[str, str] = NONE

    @property
    def values(self) -> dict[str, bytes]:
        """Its data; what is no base64 is left out, as no server stores that."""
        found = {}
        for name, text in self.data.items():
            try:
                found[name] = base64.b64decode(text, validate=True)
            except binascii.Error:
                continue
        return found


class CredentialsMap(Resource):
    """A ConfigMap, which may have the certificate of an authority."""

    data: Mapping[str, str] = NONE


CREDENTIALS: Final = Kind("", "v1", "Secret", "secrets", CredentialsSecret)
CONFIG_MAPS: Final = Kind("", "v1", "ConfigMap", "configmaps", CredentialsMap)


def follow_credentials(cache: Cache) -> None:
    """Hear of Secrets that change, without keeping what is in them. Again: no effect."""
    if not cache.has(CREDENTIALS):
        cache.start(CREDENTIALS, transform=_trim)


def _trim(secret: CredentialsSecret) -> CredentialsSecret:
    return msgspec.structs.replace(secret, data=NONE) if secret.data else secret
