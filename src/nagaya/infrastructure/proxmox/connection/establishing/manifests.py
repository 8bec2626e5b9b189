"""The objects that make a connection, as they are stored or printed: a ProxmoxConnection and the Secret it names."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from nagaya.api.proxmox.proxmox_connection import (
    KEY_FINGERPRINT,
    KEY_INSECURE,
    KEY_PASSWORD,
    KEY_ROOT_CA,
    KEY_SECRET,
    KEY_TOKEN,
    KEY_URL,
    KEY_USER,
    PROXMOX_CONNECTIONS,
)
from nagaya.infrastructure.proxmox.client import Endpoint, Trust
from nagaya.infrastructure.proxmox.connection.establishing.chosen import Chosen
from nagaya.infrastructure.proxmox.connection.establishing.remembered import ANNOTATION, Purpose
from nagaya.infrastructure.proxmox.connection.secrets import CREDENTIALS

INSECURE_BECAUSE: Final = "infrastructure.nagaya.dev/insecure-because"
"""On a connection that recognises nobody: why that is all right."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be stored, but for the token."""

    endpoints: tuple[Endpoint, ...]
    trust: Trust
    chosen: Chosen
    insecure_because: str = ""
    purpose: Purpose = field(default_factory=Purpose)
    """What was asked."""
    keeps_trust: bool = False
    """Whether the connection says already by what hosts are recognised, and goes on to."""

    def connection(self, secret: str) -> dict[str, Any]:
        """The spec of the ProxmoxConnection. What does not hold any more is null, to be removed."""
        scope, chosen = self.chosen.scope, self.chosen
        defaults = {"storage": chosen.storage, "isoStorage": scope.iso_storage, "bridge": chosen.bridge}
        given = {name: value for name, value in defaults.items() if value}
        prints = self.trust.fingerprints
        recognised = {
            "fingerprint": _pairs(prints[0]) if prints else None,
            "insecure": True if self.trust.insecure else None,
            "caRef": None,
        }
        return {
            "endpoints": [each.url for each in self.endpoints],
            "credentialsRef": {"name": secret},
            **({} if self.keeps_trust else recognised),
            **({"pool": scope.pool} if scope.pool else {}),
            **({"defaults": given} if given else {}),
        }

    def annotations(self) -> dict[str, str | None]:
        """Of the ProxmoxConnection."""
        because = {} if self.keeps_trust else {INSECURE_BECAUSE: self.insecure_because or None}
        return {ANNOTATION: self.purpose.written(), **because}

    def data(self, token: str, secret: str, *, foreign: bool = False) -> dict[str, str | None]:
        """Of the Secret, in base64. Keys of another way to log in are null, to be removed. One that is `foreign`, in
        another namespace than the connection, says itself where its token goes and who is trusted."""
        said: dict[str, str | None] = {KEY_TOKEN: token, KEY_SECRET: secret, KEY_USER: None, KEY_PASSWORD: None}
        # So that CAPMOX's credentialsRef can name the Secret, too. CAPMOX does not read a list.
        said[KEY_URL] = ",".join(each.url for each in self.endpoints[: None if foreign else 1])
        if not self.keeps_trust:
            said |= {KEY_ROOT_CA: self.trust.authority, KEY_INSECURE: None, KEY_FINGERPRINT: None}
            if foreign:
                said[KEY_FINGERPRINT] = ",".join(map(_pairs, self.trust.fingerprints)) or None
                said[KEY_INSECURE] = "true" if self.trust.insecure else None
        return {
            key: None if value is None else base64.b64encode(value.encode()).decode() for key, value in said.items()
        }


def manifests(wanted: Wanted, namespace: str, name: str, token: str, secret: str) -> list[dict[str, Any]]:
    """Both objects, whole. The Secret is one."""
    metadata = {"name": name, "namespace": namespace}
    annotations = without_nulls(wanted.annotations())
    return [
        {
            "apiVersion": CREDENTIALS.api_version,
            "kind": CREDENTIALS.kind,
            "metadata": metadata,
            "type": "Opaque",
            "data": without_nulls(wanted.data(token, secret)),
        },
        {
            "apiVersion": PROXMOX_CONNECTIONS.api_version,
            "kind": PROXMOX_CONNECTIONS.kind,
            "metadata": {**metadata, **({"annotations": annotations} if annotations else {})},
            "spec": without_nulls(wanted.connection(name)),
        },
    ]


def without_nulls(content: Mapping[str, Any]) -> dict[str, Any]:
    """What is really there."""
    return {key: value for key, value in content.items() if value is not None}


def _pairs(digits: str) -> str:
    return ":".join(digits[place : place + 2] for place in range(0, len(digits), 2)).upper()
