"""The objects that credentials refer to, read from the server's memory.

Whoever builds the server hands in something with these methods; all answer at once, with None for what does not exist.
The objects are shared and must not be changed.
"""

from __future__ import annotations

import base64
import binascii
from typing import Protocol

from nagaya.apiserver.meta.status import JsonObject


class ServiceAccountLookups(Protocol):
    """What a service account token may be bound to."""

    def get_service_account(self, namespace: str, name: str) -> JsonObject | None:
        """A ServiceAccount."""
        ...

    def get_secret(self, namespace: str, name: str) -> JsonObject | None:
        """A Secret."""
        ...

    def get_pod(self, namespace: str, name: str) -> JsonObject | None:
        """A Pod."""
        ...

    def get_node(self, name: str) -> JsonObject | None:
        """A Node."""
        ...


class SecretLookup(Protocol):
    """Finds Secrets."""

    def get_secret(self, namespace: str, name: str) -> JsonObject | None:
        """A Secret."""
        ...


def uid_of(obj: JsonObject) -> str:
    """An object's uid."""
    uid: str = (obj.get("metadata") or {}).get("uid") or ""
    return uid


def secret_bytes(secret: JsonObject, key: str) -> bytes:
    """One value of a Secret, decoded; nothing if it is missing."""
    value = (secret.get("data") or {}).get(key)
    if not value:
        return b""
    try:
        return base64.b64decode(value)
    except (binascii.Error, ValueError):
        return b""
