"""The management API's part: the Secret with the token and the ProxmoxConnection that names it.

It is asked whether it would take them before anything is made in Proxmox VE. What is under way is written down in
annotations of the Secret, so that a run that is interrupted can be run again: which token is about to be made, and
which ones are to be removed when another is in their place.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Final

from nagaya.api.meta import Condition
from nagaya.api.proxmox.group import ALLOWED_NAMESPACES
from nagaya.api.proxmox.proxmox_connection import KEY_SECRET, KEY_TOKEN, PROXMOX_CONNECTIONS, ProxmoxConnection
from nagaya.infrastructure.proxmox.connection.establishing.manifests import Wanted, without_nulls
from nagaya.infrastructure.proxmox.connection.grant import is_granted, refusal
from nagaya.infrastructure.proxmox.connection.secrets import CREDENTIALS, CredentialsSecret
from nagaya.kube.client import Client
from nagaya.kube.conditions import get
from nagaya.kube.errors import ApiError, Conflict, Expired, NotFound
from nagaya.kube.key import Key
from nagaya.kube.patches import Merge, contains
from nagaya.kube.transport import NoAnswer

TOKEN_IN_THE_MAKING: Final = "infrastructure.nagaya.dev/token-in-the-making"  # noqa: S105 - a name, no secret
TOKENS_TO_REMOVE: Final = "infrastructure.nagaya.dev/tokens-to-remove"
_PART: Final = "infrastructure-proxmox"


class NotManaged(Exception):
    """The management API does not take a connection. The text is a sentence with the remedy."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What the management API has of a connection."""

    secret: CredentialsSecret | None = field(default=None, repr=False)
    connection: ProxmoxConnection | None = None

    @property
    def token(self) -> str:
        """The id of the token; empty if there is none."""
        return self._value(KEY_TOKEN)

    @property
    def token_secret(self) -> str:
        """Its secret."""
        return self._value(KEY_SECRET)

    @property
    def making(self) -> str:
        """The id of a token that was about to be made."""
        return self._noted(TOKEN_IN_THE_MAKING)

    @property
    def leaving(self) -> tuple[str, ...]:
        """The ids of tokens that were about to be removed."""
        return tuple(filter(None, self._noted(TOKENS_TO_REMOVE).split(",")))

    def _value(self, key: str) -> str:
        return "" if self.secret is None else self.secret.values.get(key, b"").decode(errors="replace").strip()

    def _noted(self, annotation: str) -> str:
        return "" if self.secret is None else self.secret.metadata.annotations.get(annotation, "")


class Management:
    """One connection, by its name."""

    def __init__(self, client: Client, namespace: str, name: str) -> None:
        self._client = client
        self.key = Key(namespace, name)
        self._secret = self.key
        self.stored = Stored()

    @property
    def secret(self) -> Key:
        """The Secret that holds the token."""
        return self._secret

    async def read(self) -> Stored:
        """What is there, and that it could be changed. Raises NotManaged: nothing has to be made then."""
        try:
            connection = await self._find_connection()
            if connection is not None and connection.metadata.deleting:
                raise NotManaged(
                    f"ProxmoxConnection {self.key} is being deleted: wait until it is gone, or give another --name. "
                    "Nothing was made in Proxmox VE."
                )
            if connection is not None:
                named = connection.spec.credentials_ref
                self._secret = Key(named.namespace or self.key.namespace, named.name)
            secret = await self._find_secret()
            if secret is not None and not is_granted(secret, self.key.namespace):
                raise NotManaged(f"{refusal(self._secret, self.key.namespace)} Nothing was made in Proxmox VE.")
            self.stored = Stored(secret, connection)
            await self._rehearse()
        except NoAnswer as error:
            raise NotManaged(
                f"The management API does not answer, and nothing was made in Proxmox VE: {error}. Start it (`nagaya "
                "up`), name another kubeconfig, or have the manifests printed with --output yaml."
            ) from error
        except ApiError as error:
            raise NotManaged(f"{_explained(error, self.key)} Nothing was made in Proxmox VE.") from error
        return self.stored

    async def reserve(self, token: str) -> None:
        """Write down which token is about to be made."""
        metadata = {"annotations": self._grant() | {TOKEN_IN_THE_MAKING: token}}
        if self.stored.secret is None:
            content = {
                "metadata": {"namespace": self._secret.namespace, "name": self._secret.name, **metadata},
                "type": "Opaque",
            }
            secret = await self._client.create(CREDENTIALS, content)
        else:
            secret = await self._patch_secret({"metadata": metadata})
        self.stored = Stored(secret, self.stored.connection)

    async def store(self, wanted: Wanted, token: str, secret: str, leaving: tuple[str, ...]) -> bool:
        """Put a token and all else in place. Whether anything had to be changed."""
        annotations = {TOKEN_IN_THE_MAKING: None, TOKENS_TO_REMOVE: ",".join(leaving) or None}
        content: dict[str, Any] = {"data": self._data(wanted, token, secret), "metadata": {"annotations": annotations}}
        changed = False
        if self.stored.secret is None:
            made = {
                "metadata": {
                    "namespace": self._secret.namespace,
                    "name": self._secret.name,
                    "annotations": self._grant(),
                },
                "type": "Opaque",
                "data": without_nulls(content["data"]),
            }
            changed = True
            self.stored = Stored(await self._client.create(CREDENTIALS, made), self.stored.connection)
        elif not self._secret_has(content):
            changed = True
            self.stored = Stored(await self._patch_secret(content), self.stored.connection)
        changed = await self._store_connection(wanted) or changed
        if not self._owned():
            changed = True
            made_owner = {"metadata": {"ownerReferences": [self._owner()]}}
            self.stored = Stored(await self._patch_secret(made_owner), self.stored.connection)
        return changed

    async def removed(self) -> None:
        """The tokens that were to be removed are gone."""
        if self.stored.leaving:
            secret = await self._patch_secret({"metadata": {"annotations": {TOKENS_TO_REMOVE: None}}})
            self.stored = Stored(secret, self.stored.connection)

    def has(self, wanted: Wanted, token: str, secret: str) -> bool:
        """Whether all of it is in place already."""
        connection = self.stored.connection
        if self.stored.secret is None or connection is None:
            return False
        stored = self._secret_has({"data": self._data(wanted, token, secret)}) and self._connection_has(
            connection, wanted
        )
        return stored and self._owned()

    async def ready(self, seconds: float) -> Condition | None:
        """What the controllers say of the connection: that it is ready, or what they said last when the time was over;
        None if nobody has looked at it."""
        found: Condition | None = None
        try:
            async with asyncio.timeout(seconds):
                while True:
                    connection = await self._client.get(PROXMOX_CONNECTIONS, *self.key)
                    found = _judged(connection)
                    if found is not None and found.status == "True":
                        return found
                    found = await self._until_ready(connection.metadata.resource_version, found)
                    if found is not None and found.status == "True":
                        return found
        except TimeoutError:
            return found

    async def _until_ready(self, version: str, found: Condition | None) -> Condition | None:
        fields = f"metadata.name={self.key.name}"
        watch = self._client.watch(PROXMOX_CONNECTIONS, self.key.namespace, resource_version=version, fields=fields)
        try:
            async with aclosing(watch) as events:
                async for event in events:
                    if event.object is not None and isinstance(event.object, ProxmoxConnection):
                        found = _judged(event.object) or found
                        if found is not None and found.status == "True":
                            return found
        except Expired:
            return found
        return found

    async def _find_connection(self) -> ProxmoxConnection | None:
        # A list says whether the kind is served at all; a missing object and a missing kind are both not found.
        listing = await self._client.list(PROXMOX_CONNECTIONS, self.key.namespace)
        return next((each for each in listing.items if each.metadata.name == self.key.name), None)

    async def _find_secret(self) -> CredentialsSecret | None:
        try:
            return await self._client.get(CREDENTIALS, self._secret.namespace, self._secret.name)
        except NotFound:
            return None

    async def _rehearse(self) -> None:
        """Have the API say no now if it would later."""
        if self.stored.secret is None:
            content = {"metadata": {"namespace": self._secret.namespace, "name": self._secret.name}, "type": "Opaque"}
            await self._client.create(CREDENTIALS, content, dry_run=True)
        else:
            nothing = Merge({"metadata": {"annotations": {TOKEN_IN_THE_MAKING: self.stored.making or None}}})
            await self._client.patch(CREDENTIALS, self._secret.namespace, self._secret.name, nothing, dry_run=True)
        if self.stored.connection is None:
            spec = {"endpoints": ["https://rehearsal.invalid:8006"], "credentialsRef": {"name": self._secret.name}}
            content = {"metadata": {"namespace": self.key.namespace, "name": self.key.name}, "spec": spec}
            await self._client.create(PROXMOX_CONNECTIONS, content, dry_run=True)

    async def _store_connection(self, wanted: Wanted) -> bool:
        connection = self.stored.connection
        spec, annotations = wanted.connection(self._secret.name), wanted.annotations()
        if self._is_foreign:
            spec["credentialsRef"]["namespace"] = self._secret.namespace
        if connection is not None and self._connection_has(connection, wanted):
            return False
        if connection is None:
            metadata = {
                "namespace": self.key.namespace,
                "name": self.key.name,
                "annotations": without_nulls(annotations),
            }
            content = {"metadata": metadata, "spec": without_nulls(spec)}
            connection = await self._client.create(PROXMOX_CONNECTIONS, content)
        else:
            patch = Merge({"spec": spec, "metadata": {"annotations": annotations}})
            connection = await self._client.patch(PROXMOX_CONNECTIONS, *self.key, patch)
        self.stored = Stored(self.stored.secret, connection)
        return True

    async def _patch_secret(self, content: Mapping[str, Any]) -> CredentialsSecret:
        """Nobody else may have changed it since it was read: two runs at once would lose a token. That controllers hold
        on to it meanwhile does no harm."""
        secret = self.stored.secret
        assert secret is not None
        while True:
            patch = Merge(content, secret.metadata.resource_version)
            try:
                return await self._client.patch(CREDENTIALS, self._secret.namespace, self._secret.name, patch)
            except Conflict as error:
                there = await self._find_secret()
                if there is None or _said(there) != _said(secret):
                    raise NotManaged(
                        f"Secret {self._secret} was changed by somebody else meanwhile: run the same again when nobody "
                        "works on it."
                    ) from error
                secret = there

    @property
    def _is_foreign(self) -> bool:
        return self._secret.namespace != self.key.namespace

    def _grant(self) -> dict[str, str]:
        """The annotations of a new Secret: the connection may use it from another namespace."""
        return {ALLOWED_NAMESPACES: self.key.namespace} if self._is_foreign and self.stored.secret is None else {}

    def _data(self, wanted: Wanted, token: str, secret: str) -> dict[str, str | None]:
        return wanted.data(token, secret, foreign=self._is_foreign)

    def _owned(self) -> bool:
        """Whether the Secret goes, and is moved elsewhere, with the connection. One that others have, or that is in
        another namespace, is left as it is."""
        secret = self.stored.secret
        assert secret is not None
        return bool(secret.metadata.owner_references) or self._is_foreign

    def _owner(self) -> dict[str, str]:
        connection = self.stored.connection
        assert connection is not None
        kind, metadata = PROXMOX_CONNECTIONS, connection.metadata
        return {"apiVersion": kind.api_version, "kind": kind.kind, "name": metadata.name, "uid": metadata.uid}

    def _secret_has(self, content: Mapping[str, Any]) -> bool:
        secret = self.stored.secret
        assert secret is not None
        present = {"data": secret.data, "metadata": {"annotations": secret.metadata.annotations}}
        return _agrees(present, content)

    def _connection_has(self, connection: ProxmoxConnection, wanted: Wanted) -> bool:
        present = PROXMOX_CONNECTIONS.content(connection)
        spec = wanted.connection(self._secret.name)
        annotations = dict(connection.metadata.annotations)
        return _agrees(present["spec"], spec) and _agrees(annotations, wanted.annotations())


def _agrees(present: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether what is wanted is there, and what is null is not."""
    for name, value in wanted.items():
        if isinstance(value, Mapping):
            if not _agrees(present.get(name) or {}, value):
                return False
        elif value is None:
            if present.get(name) is not None:
                return False
        elif not contains(present.get(name), value):
            return False
    return True


def _judged(connection: ProxmoxConnection) -> Condition | None:
    """What is said of the connection as it is now written."""
    if connection.status.observed_generation != connection.metadata.generation:
        return None
    return get(connection.status.conditions, "Ready")


def _explained(error: ApiError, key: Key) -> str:
    if isinstance(error, NotFound) and "namespaces" in error.message:
        name = key.namespace
        return f"The management API has no namespace {name}: make it with `kubectl create namespace {name}`."
    if isinstance(error, NotFound):
        return (
            "The management API does not have the kind ProxmoxConnection: install it with `nagaya crds --only "
            f"{_PART} | kubectl apply --server-side -f -`; `nagaya up` does it by itself."
        )
    return f"The management API does not take the connection {key}: {error}."


def _said(secret: CredentialsSecret) -> tuple[object, ...]:
    """What a run goes by."""
    metadata = secret.metadata
    return metadata.uid, metadata.deleting, metadata.annotations, metadata.owner_references, secret.data
