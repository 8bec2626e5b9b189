"""What a reference says of Proxmox VE, read from the API: where it is, who asks, whom to trust."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from nagaya.api.proxmox.conditions import ProxmoxClusterReason
from nagaya.api.proxmox.proxmox_connection import (
    PROXMOX_CONNECTIONS,
    AuthorityReference,
    ConnectionDefaults,
    ProxmoxConnection,
    ProxmoxConnectionSpec,
)
from nagaya.infrastructure.proxmox.client import BadEndpoint, BadTrust, Facts
from nagaya.infrastructure.proxmox.client.endpoint import endpoint
from nagaya.infrastructure.proxmox.client.facts import read
from nagaya.infrastructure.proxmox.client.trust import fingerprint
from nagaya.infrastructure.proxmox.connection.command import again, connect_command
from nagaya.infrastructure.proxmox.connection.grant import is_granted, refusal
from nagaya.infrastructure.proxmox.connection.reference import CONNECTION, NoConnection, Reference
from nagaya.infrastructure.proxmox.connection.secrets import CONFIG_MAPS, CREDENTIALS, CredentialsSecret
from nagaya.kube.cache.cache import Cache
from nagaya.kube.client import Client
from nagaya.kube.errors import Forbidden, NotFound
from nagaya.kube.key import Key

_AUTHORITY_KEY: Final = "ca.crt"
_CONFIG_MAP: Final = "ConfigMap"


@dataclass(frozen=True, slots=True)
class Source:
    """What is read for a reference."""

    secret: Key
    used_in: str
    """The namespace of the object that refers to the Secret."""
    connection: ProxmoxConnection | None = None

    @property
    def is_foreign(self) -> bool:
        """Whether the Secret is one of another namespace."""
        return self.used_in != self.secret.namespace

    @property
    def pool(self) -> str:
        """Where machines are put that say nothing themselves."""
        return "" if self.connection is None else self.connection.spec.pool

    @property
    def known_as(self) -> str:
        """Which Proxmox VE it was when it was first seen; empty if it was not, or if only a Secret is given."""
        return "" if self.connection is None else self.connection.status.datacenter

    @property
    def defaults(self) -> ConnectionDefaults:
        """What machines get that say nothing themselves."""
        found = None if self.connection is None else self.connection.spec.defaults
        return found or ConnectionDefaults()


class Unusable(NoConnection):
    """What is given cannot be used. `part` says what is wrong: secret, endpoint or trust."""

    def __init__(self, reason: ProxmoxClusterReason, sentence: str, part: str) -> None:
        super().__init__(reason, sentence)
        self.part = part


def source_of(cache: Cache, reference: Reference) -> Source:
    """Where to read, by cached reads alone. Raises NoConnection."""
    if reference.kind != CONNECTION:
        return Source(reference.key, reference.used_in)
    connection = cache.get(PROXMOX_CONNECTIONS, reference.key)
    if connection is None:
        raise _no_connection(reference)
    return source_by(connection)


async def read_source(client: Client, reference: Reference) -> Source:
    """The same, asked of the API. Raises NoConnection."""
    if reference.kind != CONNECTION:
        return Source(reference.key, reference.used_in)
    try:
        return source_by(await client.get(PROXMOX_CONNECTIONS, reference.key.namespace, reference.key.name))
    except NotFound:
        raise _no_connection(reference) from None


def source_by(connection: ProxmoxConnection) -> Source:
    """What a connection says where to read."""
    named, namespace = connection.spec.credentials_ref, connection.metadata.namespace
    return Source(Key(named.namespace or namespace, named.name), namespace, connection)


def _no_connection(reference: Reference) -> NoConnection:
    return NoConnection(
        ProxmoxClusterReason.CONNECTION_NOT_FOUND,
        f"ProxmoxConnection {reference.key} does not exist: make it with `{connect_command(*reference.key)}`.",
    )


def version_of(cache: Cache, source: Source) -> tuple[str, ...]:
    """What changes when the content of a source does, as far as the cache knows."""
    keys = [source.secret]
    generation = ""
    if source.connection is not None:
        metadata, authority = source.connection.metadata, source.connection.spec.ca_ref
        generation = f"{metadata.uid}/{metadata.generation}"
        if authority is not None and authority.kind != _CONFIG_MAP:
            keys.append(Key(metadata.namespace, authority.name))
    found = [cache.get(CREDENTIALS, key) for key in keys]
    return (generation, *("" if each is None else each.metadata.resource_version for each in found))


def is_watched(source: Source) -> bool:
    """Whether the cache hears of every change. It does not of ConfigMaps."""
    authority = None if source.connection is None else source.connection.spec.ca_ref
    return authority is None or authority.kind != _CONFIG_MAP


async def facts_of(client: Client, reference: Reference, source: Source) -> Facts:
    """Read what the source says. Raises Unusable, with a sentence that repeats no secret."""
    secret = await _secret(client, source)
    spec = None if source.connection is None else source.connection.spec
    authority = ""
    if spec is not None and spec.ca_ref is not None and not source.is_foreign:
        authority = await _authority(client, source.used_in, spec.ca_ref)
    try:
        if source.is_foreign and spec is not None:
            return _facts_of_foreign(read(secret.values, name=str(reference.key)), spec)
        return read(
            secret.values,
            endpoints=() if spec is None else spec.endpoints,
            authority=authority,
            fingerprints=(spec.fingerprint,) if spec is not None and spec.fingerprint else (),
            insecure=bool(spec is not None and spec.insecure),
            name=str(reference.key),
        )
    except ValueError as error:
        part = "endpoint" if isinstance(error, BadEndpoint) else "trust" if isinstance(error, BadTrust) else "secret"
        where, remedy = f"Secret {source.secret}", ""
        if source.is_foreign and spec is not None:
            where += " of another namespace"
        elif part == "secret":
            remedy = f" Correct it, or {_made(source)}."
        elif spec is not None:
            where = str(reference)
        raise Unusable(
            ProxmoxClusterReason.SECRET_UNUSABLE, f"{where} cannot be used: {error}.{remedy}", part
        ) from error


async def _secret(client: Client, source: Source) -> CredentialsSecret:
    """The Secret, if it may be used."""
    try:
        found: CredentialsSecret | None = await client.get(CREDENTIALS, *source.secret)
    except NotFound:
        if not source.is_foreign:
            raise Unusable(
                ProxmoxClusterReason.SECRET_MISSING,
                f"Secret {source.secret} does not exist: {_made(source)}.",
                "missing",
            ) from None
        found = None
    except Forbidden:
        if not source.is_foreign:
            raise
        found = None
    if found is None or not is_granted(found, source.used_in):
        raise Unusable(ProxmoxClusterReason.SECRET_UNUSABLE, refusal(source.secret, source.used_in), "secret")
    return found


def _facts_of_foreign(facts: Facts, spec: ProxmoxConnectionSpec) -> Facts:
    """The facts of a Secret of another namespace: where its credentials go and who is trusted there is what the Secret
    says. What the connection says of that too must be the same. Raises BadEndpoint, BadTrust."""
    endpoints = tuple(dict.fromkeys(map(endpoint, spec.endpoints))) or facts.endpoints
    if strange := next((each for each in endpoints if each not in facts.endpoints), None):
        raise BadEndpoint(
            f"it may be used for the hosts in its key `url` only, and spec.endpoints names {strange}. Leave out "
            "spec.endpoints, or have its owner add the host there (several are separated by commas)"
        )
    known = not spec.fingerprint or fingerprint(spec.fingerprint) in facts.trust.fingerprints
    for field, agrees, counterpart in (
        ("caRef", spec.ca_ref is None, "root_ca"),
        ("insecure", not spec.insecure or facts.trust.insecure, "insecure"),
        ("fingerprint", known, "fingerprint"),
    ):
        if not agrees:
            raise BadTrust(f"its own key `{counterpart}` says who is trusted. Remove spec.{field}")
    return replace(facts, endpoints=endpoints)


def _made(source: Source) -> str:
    """How to have the Secret."""
    if source.connection is None:
        return "make it by hand with the keys url, token and secret"
    return f"have it made by `{again(source.connection)}`, or make it by hand with the keys token and secret"


async def _authority(client: Client, namespace: str, reference: AuthorityReference) -> str:
    kind, name = reference.kind or "Secret", reference.key or _AUTHORITY_KEY
    try:
        if kind == _CONFIG_MAP:
            text = (await client.get(CONFIG_MAPS, namespace, reference.name)).data.get(name, "")
        else:
            secret = await client.get(CREDENTIALS, namespace, reference.name)
            text = secret.values.get(name, b"").decode(errors="replace")
    except NotFound:
        text = ""
    if not text:
        raise Unusable(
            ProxmoxClusterReason.SECRET_UNUSABLE,
            f"{kind} {namespace}/{reference.name} with the key {name} does not exist: it is to have the certificate of "
            "the hosts' authority (/etc/pve/pve-root-ca.pem), as spec.caRef says.",
            "trust",
        )
    return text
