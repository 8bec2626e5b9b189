"""Bootstrap tokens: what lets a machine into a cluster that does not know it yet.

A token is a Secret in the tenant that lives for a quarter of an hour. It is made for one machine, kept alive until that
machine is a node, and revoked then. What always holds: a token is in the config before it is in the tenant, so that one
that was made is never forgotten; and it is in no message and no log.
"""

from __future__ import annotations

import base64
import binascii
import re
import secrets
import string
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from nagaya.api.kind import Kind, Resource
from nagaya.kube.client import Client
from nagaya.kube.errors import AlreadyExists, NotFound
from nagaya.kube.patches import Merge

LIFE: Final = timedelta(minutes=15)
CHECK_INTERVAL: Final = LIFE / 3
"""Often enough that a token whose refresh fails once is still alive at the next try."""
REFRESH_BELOW: Final = LIFE * 5 / 6
ROTATE_BELOW: Final = LIFE / 2
NAMESPACE: Final = "kube-system"
GROUP: Final = "system:bootstrappers:kubeadm:default-node-token"
_FORM: Final = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")
_ALPHABET: Final = string.ascii_lowercase + string.digits
_EXPIRATION: Final = "expiration"
_NONE: Final[Mapping[str, str]] = {}


class TokenSecret(Resource):
    """A Secret of a tenant that holds a token."""

    data: Mapping[str, str] = _NONE


_SECRETS: Final = Kind("", "v1", "Secret", "secrets", TokenSecret)


class NoToken(ValueError):
    """A text that is no token. The message does not repeat it."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token: a name that is no secret, and a secret. `repr` shows the name only."""

    id: str
    secret: str

    @classmethod
    def new(cls) -> Token:
        """One that cannot be guessed."""
        draw = "".join(secrets.choice(_ALPHABET) for _ in range(22))
        return cls(draw[:6], draw[6:])

    @classmethod
    def read(cls, text: str) -> Token:
        """Raises NoToken."""
        found = _FORM.fullmatch(text)
        if found is None:
            raise NoToken(
                "spec.joinConfiguration.discovery.bootstrapToken.token: it is not of the form "
                "[a-z0-9]{6}.[a-z0-9]{16}. Correct it, or leave it out to have one made."
            )
        return cls(found[1], found[2])

    @property
    def text(self) -> str:
        """As machines show it."""
        return f"{self.id}.{self.secret}"

    @property
    def secret_name(self) -> str:
        """The Secret in the tenant."""
        return f"bootstrap-token-{self.id}"

    def __repr__(self) -> str:
        return f"Token({self.id!r})"


class Tokens:
    """The tokens of one tenant."""

    def __init__(self, client: Client, now: datetime) -> None:
        self._client = client
        self._now = now

    async def ensure(self, token: Token) -> None:
        """Have the tenant know a token. One that is there already stays as it is."""
        expires = _moment(self._now + LIFE)
        data = {
            "token-id": token.id,
            "token-secret": token.secret,
            _EXPIRATION: expires,
            "usage-bootstrap-signing": "true",
            "usage-bootstrap-authentication": "true",
            "auth-extra-groups": GROUP,
            "description": "Lets one machine join. Made and revoked by Nagaya.",
        }
        content = {
            "metadata": {"name": token.secret_name, "namespace": NAMESPACE},
            "type": "bootstrap.kubernetes.io/token",
            "data": {name: _encoded(value) for name, value in data.items()},
        }
        try:
            await self._client.create(_SECRETS, content)
        except AlreadyExists:
            return

    async def remaining(self, token: Token) -> timedelta | None:
        """How long a token will live; None if the tenant does not know it. One without a date has no time left."""
        try:
            found = await self._client.get(_SECRETS, NAMESPACE, token.secret_name)
        except NotFound:
            return None
        try:
            expires = datetime.fromisoformat(base64.b64decode(found.data.get(_EXPIRATION, "")).decode())
        except (ValueError, binascii.Error):
            return timedelta()
        return (expires if expires.tzinfo else expires.replace(tzinfo=UTC)) - self._now

    async def prolong(self, token: Token) -> None:
        """Let a token live for its whole life again. Raises NotFound."""
        change: dict[str, Any] = {"data": {_EXPIRATION: _encoded(_moment(self._now + LIFE))}}
        await self._client.patch(_SECRETS, NAMESPACE, token.secret_name, Merge(change))

    async def revoke(self, token: Token) -> None:
        """Have the tenant forget a token. Again: no effect."""
        try:
            await self._client.delete(_SECRETS, NAMESPACE, token.secret_name)
        except NotFound:
            return


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
