"""Whether keys of those who may log in are keys."""

from __future__ import annotations

import base64
import binascii
import itertools
from urllib.parse import unquote

from nagaya.simulators.proxmox.failure import Failure

_TYPES = (
    "ssh-ed25519", "ssh-rsa", "ssh-dss", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521",
    "sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com",
)  # fmt: skip


def check_keys(encoded: str) -> None:
    """Refuse what is not a list of public keys. PVE hands each line to ssh-keygen alone, so a comment is no key."""
    if not all(_is_key(line) for line in unquote(encoded).split("\n") if line.strip()):
        raise Failure("SSH public key validation error\n")


def _is_key(line: str) -> bool:
    words = line.split()
    for type, blob in itertools.pairwise(words):
        if type in _TYPES:
            try:
                raw = base64.b64decode(blob, validate=True)
            except (binascii.Error, ValueError):
                return False
            return raw[4 : 4 + int.from_bytes(raw[:4])] == type.encode()
    return False
