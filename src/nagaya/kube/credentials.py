"""What proves who asks, as it is now: tokens rotate, certificates are renewed, plugins log in again.

A `Proof` is all that a request and a TLS connection need. Files are looked at again once a minute and after a refusal,
so that what a kubelet or cert-manager puts in their place is used in time, without a look at the disk for every call.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from nagaya.kube.connection import Connection, Pem
from nagaya.kube.exec_plugin import Credential, ExecCredentials, PluginFailed
from nagaya.world import Clock

_LONGEST: Final = 16 << 10  # characters: answers are searched for credentials, and a Secret holds any length
FILES_AGE: Final = 60.0  # seconds; service account tokens are replaced long before they expire


@dataclass(frozen=True, slots=True)
class Proof:
    """One set of credentials. `pair` is a certificate and its key, PEM."""

    authorization: str = field(default="", repr=False)
    authority: bytes | None = field(default=None, repr=False)
    pair: tuple[bytes, bytes] | None = field(default=None, repr=False)


class Credentials:
    """The credentials of a connection."""

    def __init__(self, connection: Connection, clock: Clock, environment: Mapping[str, str] | None = None) -> None:
        self._connection = connection
        self._clock = clock
        plugin = connection.plugin
        self._plugin = None if plugin is None else ExecCredentials(plugin, clock, environment)
        files = (connection.authority, connection.certificate, connection.key, connection.token_file)
        self._changing = any(isinstance(each, Path) for each in files)
        self._held: Proof | None = None
        self._given: Credential | None = None
        self._read_at = 0.0

    async def get(self) -> Proof:
        """What to ask with now. Raises OSError for a file that cannot be read, and PluginFailed."""
        if self._plugin is not None:
            given = await self._plugin.get()
            if self._held is None or given is not self._given or self._stale():
                self._given = given
                self._held = self._read(given)
        elif self._held is None or self._stale():
            self._held = self._read(None)
        return self._held

    async def renew(self, refused: Proof) -> bool:
        """Look for other credentials than those that were refused. Returns whether there are some."""
        if self._plugin is not None and self._given is not None and self._held == refused:
            await self._plugin.renew(self._given)
        self._read_at = float("-inf")
        return await self.get() != refused

    def _stale(self) -> bool:
        return self._changing and self._clock.monotonic() - self._read_at >= FILES_AGE

    def _read(self, given: Credential | None) -> Proof:
        self._read_at = self._clock.monotonic()
        connection = self._connection
        certificate, key = _content(connection.certificate), _content(connection.key)
        token = connection.token
        if connection.token_file is not None:
            token = connection.token_file.read_text().strip()
        if given is not None:
            token = token or given.token
            if certificate is None and given.certificate:
                certificate, key = given.certificate.encode(), given.key.encode()
        if not (token.isascii() and token.isprintable()):
            raise PluginFailed("the token of the kubeconfig holds characters that no header can: write it anew")
        if len(token) + len(connection.username) + len(connection.password) > _LONGEST:
            raise PluginFailed(f"the token of the kubeconfig has more than {_LONGEST >> 10} KiB: shorten it")
        authorization = f"Bearer {token}" if token else ""
        if not token and connection.username:
            pair = f"{connection.username}:{connection.password}"
            authorization = f"Basic {base64.b64encode(pair.encode()).decode()}"
        pair_of_pem = None if certificate is None or key is None else (certificate, key)
        return Proof(authorization, _content(connection.authority), pair_of_pem)


def _content(pem: Pem | None) -> bytes | None:
    return pem.read_bytes() if isinstance(pem, os.PathLike) else pem
