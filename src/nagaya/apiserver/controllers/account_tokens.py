"""Service account tokens that live in Secrets: filled in when the Secret is made, gone when the account goes.

Such a token never expires, so nobody gets one who does not ask for it by making a Secret of the type
`kubernetes.io/service-account-token` with the account's name as an annotation.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.authn import claims
from nagaya.apiserver.authn.jwt import Signer
from nagaya.apiserver.authn.lookups import secret_bytes
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.internal import Internal
from nagaya.apiserver.storage import Event, Record

_SECRETS: Final = GroupResource("", "secrets")
_ACCOUNTS: Final = GroupResource("", "serviceaccounts")
_TYPE: Final = "kubernetes.io/service-account-token"
_NAME: Final = "kubernetes.io/service-account.name"
_UID: Final = "kubernetes.io/service-account.uid"


class AccountTokens:
    """Fills and removes the Secrets with tokens of service accounts."""

    name = "service account tokens"
    tables = ("secrets", "serviceaccounts")

    def __init__(self, backend: Backend, signer: Signer, root_ca: bytes) -> None:
        self._backend = backend
        self._signer = signer
        self._root_ca = base64.b64encode(root_ca).decode()
        self._api = Internal(backend, "kube-controller-manager")
        self._secrets: dict[str, set[str]] = {}  # of each account, by its key

    def start(self) -> Iterator[str]:
        """All such Secrets."""
        for record in self._backend.store.list("secrets").records:
            yield from self._note(record)

    def on_event(self, event: Event) -> Iterator[str]:
        """A Secret changed, or an account came or went."""
        if event.table == "secrets":
            if event.previous is not None and (account := _account_of(event.previous)):
                self._forget(account, event.key)
                if event.record is None:
                    yield event.key + "/" + account.rpartition("/")[2]
            if event.record is not None:
                yield from self._note(event.record)
        elif event.table == "serviceaccounts" and (event.record is None or event.previous is None):
            yield from sorted(self._secrets.get(event.key, ()))

    def _note(self, record: Record) -> Iterator[str]:
        if account := _account_of(record):
            self._secrets.setdefault(account, set()).add(record.key)
            yield record.key

    def _forget(self, account: str, secret: str) -> None:
        secrets = self._secrets.get(account, set())
        secrets.discard(secret)
        if not secrets:
            self._secrets.pop(account, None)

    async def sync(self, key: object) -> float | None:
        """Make one Secret right, or take a deleted one off its account's list."""
        assert isinstance(key, str)
        namespace, name, *gone = key.split("/")
        if gone:
            await self._unlist(namespace, name, gone[0])
            return None
        secret = self._api.get(_SECRETS, namespace, name)
        if secret is None or secret.get("type") != _TYPE:
            return None
        marks = secret["metadata"].get("annotations") or {}
        account = self._api.get(_ACCOUNTS, namespace, marks.get(_NAME) or "")
        if account is None or marks.get(_UID, "") not in ("", account["metadata"]["uid"]):
            await self._api.delete(_SECRETS, namespace, name, uid=secret["metadata"]["uid"])
            return None
        uid = secret["metadata"]["uid"]

        def fill(obj: JsonObject) -> JsonObject | None:
            return self._filled(obj, account) if obj["metadata"]["uid"] == uid else None

        await self._api.change(_SECRETS, namespace, name, fill)
        return None

    def _filled(self, secret: JsonObject, account: JsonObject) -> JsonObject | None:
        """The Secret with all it should hold; None if it does."""
        data: dict[str, str] = dict(secret.get("data") or {})
        if data.get("ca.crt") == self._root_ca and secret_bytes(secret, "namespace") and secret_bytes(secret, "token"):
            return None
        data["ca.crt"] = self._root_ca
        if not data.get("namespace"):
            data["namespace"] = base64.b64encode(secret["metadata"]["namespace"].encode()).decode()
        if not data.get("token"):
            token = self._signer.sign(claims.legacy(account, secret))
            data["token"] = base64.b64encode(token.encode()).decode()
        metadata = {**secret["metadata"]}
        own = {_NAME: account["metadata"]["name"], _UID: account["metadata"]["uid"]}
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **own}
        return {**secret, "metadata": metadata, "data": data}

    async def _unlist(self, namespace: str, name: str, account: str) -> None:
        """Take a Secret that is gone off the list of its account."""
        if self._api.get(_SECRETS, namespace, name) is not None:
            return
        found = self._api.get(_ACCOUNTS, namespace, account)
        if found is None or not any(each.get("name") == name for each in found.get("secrets") or ()):
            return

        def change(obj: JsonObject) -> JsonObject:
            kept = [each for each in obj.get("secrets") or () if each.get("name") != name]
            made = {key: value for key, value in obj.items() if key != "secrets"}
            return {**made, "secrets": kept} if kept else made

        await self._api.change(_ACCOUNTS, namespace, account, change)


def _account_of(record: Record) -> str:
    """The key of the account whose token a Secret holds or is to hold; nothing for other Secrets."""
    if _TYPE.encode() not in record.value:
        return ""
    secret = record.object()
    name = (secret["metadata"].get("annotations") or {}).get(_NAME)
    return f"{secret['metadata']['namespace']}/{name}" if secret.get("type") == _TYPE and name else ""
