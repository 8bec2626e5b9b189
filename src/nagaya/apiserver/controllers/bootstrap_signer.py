"""Signs `cluster-info`, so that a machine that holds a bootstrap token can trust what it reads there.

A joining machine knows nothing but the token. It reads the ConfigMap `cluster-info` without any proof of who answers,
and believes it only if it carries a signature made with the secret half of its token. The signature is a detached JWS
whose exact bytes are compared, header included.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.authn.bootstrap_tokens import NAME_PREFIX, NAMESPACE, SECRET_TYPE, has_expired
from nagaya.apiserver.authn.lookups import secret_bytes
from nagaya.apiserver.controllers.token_cleaner import seconds_left
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.internal import Internal
from nagaya.apiserver.storage import Event

_CONFIG_MAPS: Final = GroupResource("", "configmaps")
_SECRETS: Final = GroupResource("", "secrets")
_PUBLIC: Final = "kube-public"
_CLUSTER_INFO: Final = "cluster-info"
_KEY: Final = f"{_PUBLIC}/{_CLUSTER_INFO}"
_SIGNATURE: Final = "jws-kubeconfig-"


def signature(content: str, token_id: str, token_secret: str) -> str:
    """The detached signature of a text."""
    header = _encoded(f'{{"alg":"HS256","kid":"{token_id}"}}'.encode())
    signed = f"{header}.{_encoded(content.encode())}".encode()
    made = hmac.new(token_secret.encode(), signed, hashlib.sha256).digest()
    return f"{header}..{_encoded(made)}"


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


class BootstrapSigner:
    """Keeps the signatures of `cluster-info` those of the tokens there are. Nothing happens while it does not exist."""

    name = "bootstrap signer"
    tables = ("configmaps", "secrets")

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._api = Internal(backend, "kube-controller-manager")

    def start(self) -> Iterator[str]:
        """There is only one thing to do."""
        yield _KEY

    def on_event(self, event: Event) -> Iterator[str]:
        """The ConfigMap or a token changed."""
        if event.table == "configmaps":
            if event.key == _KEY:
                yield _KEY
        elif event.table == "secrets" and event.key.startswith(f"{NAMESPACE}/{NAME_PREFIX}"):
            yield _KEY

    async def sync(self, key: object) -> float | None:
        """Make the signatures right; look again when the next token expires."""
        if self._api.get(_CONFIG_MAPS, _PUBLIC, _CLUSTER_INFO) is None:
            return None
        await self._api.change(_CONFIG_MAPS, _PUBLIC, _CLUSTER_INFO, self._signed)
        clock = self._backend.world.clock
        left = [seconds for each in self._tokens() if (seconds := seconds_left(each, clock)) is not None]
        return min(left) if left else None

    def _signed(self, obj: JsonObject) -> JsonObject | None:
        data = obj.get("data") or {}
        content = data.get("kubeconfig")
        if content is None:
            return None
        kept = {name: value for name, value in data.items() if not name.startswith(_SIGNATURE)}
        for secret in self._tokens():
            token_id, token_secret = (secret_bytes(secret, each).decode() for each in ("token-id", "token-secret"))
            kept[f"{_SIGNATURE}{token_id}"] = signature(content, token_id, token_secret)
        return None if kept == data else {**obj, "data": kept}

    def _tokens(self) -> Iterator[JsonObject]:
        """The tokens that may sign."""
        for record in self._api.records(_SECRETS, NAMESPACE):
            if not record.key.startswith(f"{NAMESPACE}/{NAME_PREFIX}"):
                continue
            secret = record.object()
            token_id = secret_bytes(secret, "token-id").decode(errors="replace")
            if (
                secret.get("type") == SECRET_TYPE
                and record.key == f"{NAMESPACE}/{NAME_PREFIX}{token_id}"
                and secret_bytes(secret, "token-secret").isascii()
                and secret_bytes(secret, "token-secret")
                and secret_bytes(secret, "usage-bootstrap-signing") == b"true"
                and not has_expired(secret, self._backend.world.clock)
            ):
                yield secret
