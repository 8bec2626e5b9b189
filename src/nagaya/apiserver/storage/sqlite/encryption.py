"""Secrets are encrypted before they reach a file.

What is stored of a row of `SEALED` is a header (format and key id), a nonce of its own, and AES-256-GCM of the value,
bound to the table, the key and the revision: what was encrypted for one row is refused in every other. Row checksums
cover what is stored, so all but reading Secrets works without the key. Only this folder knows of it.

The first key of the key file writes, all of them read. A start encrypts anew, in one transaction, what the first one
did not write, and removes what it replaced from free pages and from the log. A key is made only where nothing is
encrypted yet, and is on the disk before the first row that needs it.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final

import apsw
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from nagaya.apiserver.storage.errors import CorruptData, DataNotPermitted, DataRefused
from nagaya.apiserver.storage.sqlite.failures import RESTORE
from nagaya.apiserver.storage.sqlite.files import close_to_others
from nagaya.apiserver.storage.sqlite.layout import Files
from nagaya.pki.files import write_atomically

SEALED: Final = frozenset(
    {
        "secrets",
        # Their specs hold tokens, hashes of passwords and files.
        "bootstrap.cluster.x-k8s.io/kubeadmconfigs",
        "bootstrap.cluster.x-k8s.io/kubeadmconfigtemplates",
        "controlplane.cluster.x-k8s.io/kubeadmcontrolplanes",
        "controlplane.cluster.x-k8s.io/kubeadmcontrolplanetemplates",
    }
)
FORMAT: Final = b"\x00\x01"  # no JSON begins like this
_ID: Final = slice(2, 10)
_NONCE: Final = slice(10, 22)
_KEY_BYTES: Final = 32
_LARGEST: Final = 64 * 1024


class Keys:
    """The keys of a key file. `repr` does not show them."""

    def __init__(self, path: Path, keys: Sequence[bytes]) -> None:
        self.path = path
        self._ciphers = {blake2b(key, digest_size=8, person=b"nagaya-key").digest(): AESGCM(key) for key in keys}
        self._first = next(iter(self._ciphers))

    def seal(self, table: str, key: str, revision: int, value: bytes | None) -> bytes | None:
        """What to store of a value."""
        if value is None or table not in SEALED:
            return value
        nonce = os.urandom(12)
        encrypted = self._ciphers[self._first].encrypt(nonce, value, _place(table, key, revision))
        return FORMAT + self._first + nonce + encrypted

    def open(self, path: Path, table: str, key: str, revision: int, stored: bytes | None) -> bytes | None:
        """The value of what is stored in a file. Raises DataRefused."""
        if stored is None or not stored.startswith(FORMAT):
            return stored
        cipher = self._ciphers.get(stored[_ID])
        if cipher is None:
            held = ", ".join(each.hex() for each in self._ciphers)
            finding = f"it does not hold the key {stored[_ID].hex()} of {table} {key!r} in {path}, only {held}"
            remedy = "Nothing was changed. Add the line with that key, from your copy of the key file, below the others"
            raise DataRefused(self.path, finding, remedy)
        try:
            return cipher.decrypt(stored[_NONCE], stored[_NONCE.stop :], _place(table, key, revision))
        except (InvalidTag, ValueError) as error:
            finding = f"row {revision} ({table} {key!r}) is damaged: it is not what was encrypted for this place"
            raise CorruptData(path, finding, RESTORE) from error

    def wrote(self, table: str, stored: bytes | None) -> bool:
        """Whether what is stored need not be encrypted anew."""
        return stored is None or table not in SEALED or stored[: _ID.stop] == FORMAT + self._first


def is_sealed(stored: bytes | None) -> bool:
    """Whether what is stored is encrypted."""
    return stored is not None and stored.startswith(FORMAT)


def has_sealed(connection: apsw.Connection) -> bool:
    """Whether any row is encrypted. Reads them all."""
    rows = connection.execute("SELECT 1 FROM log WHERE substr(value, 1, ?) = ? LIMIT 1", (len(FORMAT), FORMAT))
    return rows.get is not None


def keys_of(files: Files, has_sealed: Callable[[], bool]) -> Keys:
    """The keys of a store. Its own key file is made if it is missing and nothing is encrypted yet. Raises DataRefused,
    or OSError.
    """
    path = files.key
    if files.makes_key and not path.exists():
        if has_sealed():
            finding = "it is missing, and Secrets are encrypted with the key in it"
            remedy = "Nothing was changed. Put it back from your copy, or name the key file with --encryption-key"
            raise DataRefused(path, finding, remedy)
        write_atomically(path, base64.b64encode(os.urandom(_KEY_BYTES)) + b"\n")
    try:
        close_to_others(path if files.makes_key else path.resolve(strict=True))
        with path.open("rb") as file:
            lines = file.read(_LARGEST).split()
    except OSError as error:
        remedy = "Name a key file that the user of this process can read"
        raise DataNotPermitted(path, f"cannot be read ({error.strerror})", remedy) from error
    try:
        keys = [base64.b64decode(line, validate=True) for line in lines]
    except binascii.Error:
        keys = []
    if not keys or any(len(key) != _KEY_BYTES for key in keys):
        remedy = "Put it back from your copy. `head -c 32 /dev/urandom | base64` makes a key for new data"
        raise DataRefused(path, "not every line is a key (32 bytes in Base64), or there is none", remedy)
    return Keys(path, keys)


def _place(table: str, key: str, revision: int) -> bytes:
    return f"{revision} {len(table)} {table}{key}".encode()
