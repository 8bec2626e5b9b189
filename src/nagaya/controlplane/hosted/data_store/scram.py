"""What PostgreSQL keeps of a password (RFC 5803), made on our side: the password is in no statement and no log."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from typing import Final

_ITERATIONS: Final = 4096
_SALT_BYTES: Final = 16


def new_password() -> str:
    """A password that needs no quoting anywhere."""
    return secrets.token_hex(24)


def kept_password(kept: bytes) -> str:
    """The password that was kept, or a new one if it is none of ours: a tenant may be able to write where it was kept,
    and it becomes part of a URL."""
    return kept.decode() if re.fullmatch(rb"[0-9a-f]{48}", kept) else new_password()


def verifier(password: str, salt: bytes | None = None) -> str:
    """What a server needs to recognise who knows a password. The password is of ASCII characters."""
    salt = secrets.token_bytes(_SALT_BYTES) if salt is None else salt
    salted = hashlib.pbkdf2_hmac("sha256", password.encode("ascii"), salt, _ITERATIONS)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    return f"SCRAM-SHA-256${_ITERATIONS}:{_text(salt)}${_text(stored)}:{_text(server)}"


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
