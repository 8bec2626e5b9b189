"""Bootstrap tokens go when their time is over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.authn.bootstrap_tokens import NAMESPACE, SECRET_TYPE, has_expired
from nagaya.apiserver.authn.lookups import secret_bytes
from nagaya.apiserver.meta.durations import parse_timestamp
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.internal import Internal
from nagaya.apiserver.storage import Event, Record
from nagaya.world import Clock

_SECRETS: Final = GroupResource("", "secrets")
_TYPE: Final = SECRET_TYPE.encode()


def seconds_left(secret: JsonObject, clock: Clock) -> float | None:
    """How long a bootstrap token is good yet; None if it is for ever. Never nothing, so that time passes between two
    looks.
    """
    text = secret_bytes(secret, "expiration")
    if not text:
        return None
    moment = parse_timestamp(text.decode(errors="replace"))
    return 0.01 if moment is None else max((moment - clock.now()).total_seconds(), 0.01)


class TokenCleaner:
    """Deletes expired bootstrap tokens."""

    name = "token cleaner"
    tables = ("secrets",)

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._api = Internal(backend, "kube-controller-manager")

    def start(self) -> Iterator[str]:
        """All bootstrap tokens."""
        for record in self._backend.store.list("secrets", f"{NAMESPACE}/").records:
            yield from self._note(record)

    def on_event(self, event: Event) -> Iterator[str]:
        """A Secret came or changed."""
        if event.table == "secrets" and event.record is not None and event.key.startswith(f"{NAMESPACE}/"):
            yield from self._note(event.record)

    @staticmethod
    def _note(record: Record) -> Iterator[str]:
        if _TYPE in record.value:
            yield record.key

    async def sync(self, key: object) -> float | None:
        """Delete one token if it has expired; look again when it will have."""
        assert isinstance(key, str)
        namespace, _, name = key.partition("/")
        secret = self._api.get(_SECRETS, namespace, name)
        if secret is None or secret.get("type") != SECRET_TYPE:
            return None
        if not has_expired(secret, self._backend.world.clock):
            return seconds_left(secret, self._backend.world.clock)
        await self._api.delete(_SECRETS, namespace, name, uid=secret["metadata"]["uid"])
        return None
