"""What a ProxmoxConnection and its Secret say, as the client needs it.

The Secret has `token` and `secret`, or `user` and `password`. Those that were made for CAPMOX work as they are: their
`url`, `insecure` and `root_ca` count too. With one difference, on purpose: a Secret that does not say `insecure` does
not mean it. Beyond CAPMOX, `url` may list several hosts with commas between, and `fingerprint` says by which
certificate they are recognised: a Secret that serves other namespaces says all of it itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from nagaya.infrastructure.proxmox.client.credentials import Credentials, Password, Token
from nagaya.infrastructure.proxmox.client.endpoint import Endpoint, endpoint
from nagaya.infrastructure.proxmox.client.trust import Trust, context, fingerprint

_TOKEN: Final = re.compile(r"^[^\s:/!]+@[A-Za-z][A-Za-z0-9.\-_]+![A-Za-z][A-Za-z0-9.\-_]+$")
_USER: Final = re.compile(r"^[^\s:/!]+@[A-Za-z][A-Za-z0-9.\-_]+$")
_CREDENTIALS: Final = ("token", "secret", "user", "password")
_LONGEST: Final = 4 << 10
"""Bytes of credentials: answers are searched for them."""
_LONGEST_TEXT: Final = 128 << 10
_YES: Final = frozenset({"1", "t", "true", "yes"})
_NO: Final = frozenset({"", "0", "f", "false", "no"})


class BadFacts(ValueError):
    """They cannot be used. The message is a sentence on what to change, and repeats no secret."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Where is asked, as whom, and whom that trusts."""

    endpoints: tuple[Endpoint, ...]
    credentials: Credentials
    trust: Trust = field(default_factory=Trust)
    name: str = ""
    """Of the connection, for metrics."""


def read(
    secret: Mapping[str, bytes],
    *,
    endpoints: Iterable[str] = (),
    authority: str = "",
    fingerprints: Iterable[str] = (),
    insecure: bool = False,
    name: str = "",
) -> Facts:
    """From the Secret's data, and what the connection itself says, which counts more. Raises BadFacts, BadEndpoint or
    BadTrust, all of them ValueErrors with a sentence."""
    said = {key: _text(key, value) for key, value in secret.items()}
    written = [each for each in endpoints if each.strip()] or _listed(said.get("url", ""))
    if not written:
        raise BadFacts(
            "no address of Proxmox VE is given: write https://<host>:8006 into the connection's endpoints or the key "
            "`url` of the Secret"
        )
    trust = Trust(
        authority or said.get("root_ca") or None,
        tuple(dict.fromkeys(map(fingerprint, [*fingerprints] or _listed(said.get("fingerprint", ""))))),
        insecure or _flag(said.get("insecure", "")),
    )
    context(trust)
    return Facts(tuple(dict.fromkeys(map(endpoint, written))), _credentials(said), trust, name)


def _credentials(said: Mapping[str, str]) -> Credentials:
    if said.get("token") or said.get("secret"):
        token, secret = said.get("token", ""), said.get("secret", "")
        if not _TOKEN.match(token):
            raise BadFacts("the Secret's key `token` is not the id of an API token: user@realm!name")
        if not secret:
            raise BadFacts("the Secret has no key `secret` with the value of the API token")
        return Token(token, secret)
    if said.get("user") or said.get("password"):
        user, password = said.get("user", ""), said.get("password", "")
        if not _USER.match(user):
            raise BadFacts("the Secret's key `user` is not a user of Proxmox VE: name@realm, such as root@pam")
        if not password:
            raise BadFacts("the Secret has no key `password`")
        return Password(user, password)
    raise BadFacts("the Secret has neither `token` and `secret` nor `user` and `password`")


def _text(key: str, value: bytes) -> str:
    if len(value) > (_LONGEST if key in _CREDENTIALS else _LONGEST_TEXT):
        raise BadFacts(f"the Secret's key `{key}` is too long")
    try:
        # Secrets made by hand often end in a newline, which no header may hold; a password may end in a space.
        return value.decode().strip("\r\n") if key == "password" else value.decode().strip()
    except UnicodeDecodeError:
        raise BadFacts(f"the Secret's key `{key}` is not text") from None


def _listed(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _flag(text: str) -> bool:
    if text.lower() not in _YES | _NO:
        raise BadFacts("the Secret's key `insecure` is neither true nor false")
    return text.lower() in _YES
