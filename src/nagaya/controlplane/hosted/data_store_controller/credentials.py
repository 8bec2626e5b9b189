"""What a DataStore refers to in Secrets, read when it is needed: Secrets of users are in no cache."""

from __future__ import annotations

import base64
import binascii

from nagaya.api.controlplane.data_store import ETCD, DataStore, SecretKeyReference, StoreTls
from nagaya.api.controlplane.data_store_conditions import DataStoreReason
from nagaya.clusters.certificates.held import CLUSTER_SECRETS
from nagaya.controlplane.hosted.data_store.driver import Driver
from nagaya.controlplane.hosted.data_store.etcd import EtcdDriver
from nagaya.controlplane.hosted.data_store.postgresql import PostgresqlDriver
from nagaya.controlplane.hosted.data_store.postgresql_connection import Server
from nagaya.kube.client import Client
from nagaya.kube.credentials import Proof
from nagaya.kube.errors import NotFound
from nagaya.kube.tls import context_for
from nagaya.pki import certificates, keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.key_pair import KeyPair
from nagaya.world import World


class NotUsable(Exception):
    """A store cannot be reached yet, and why."""

    def __init__(self, reason: DataStoreReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


async def external_driver(client: Client, store: DataStore, world: World) -> Driver:
    """The store of a DataStore that Nagaya does not run itself. Raises NotUsable."""
    try:
        return await (_etcd if store.spec.driver == ETCD else _postgresql)(client, store, world)
    except ValueError as error:
        message = f"The certificates in the Secrets of spec.tls cannot be used: {error}."
        raise NotUsable(DataStoreReason.SECRET_UNUSABLE, message) from None


async def _etcd(client: Client, store: DataStore, world: World) -> Driver:
    tls = store.spec.tls
    if tls is None or tls.certificate_authority.private_key is None or tls.client_certificate is None:
        raise NotUsable(
            DataStoreReason.SECRET_MISSING,
            "spec.tls must have the certificate and the key of etcd's authority, and a client certificate.",
        )
    authority = CertificateAuthority.load(
        await _read(client, tls.certificate_authority.certificate),
        await _read(client, tls.certificate_authority.private_key),
    )
    return EtcdDriver(store.spec.endpoints, authority, await _pair(client, tls), world)


async def _postgresql(client: Client, store: DataStore, world: World) -> Driver:
    spec = store.spec
    user = password = ""
    if spec.basic_auth is not None:
        user = (await _read(client, spec.basic_auth.username)).decode().strip()
        password = (await _read(client, spec.basic_auth.password)).decode().strip()
    context, trusted = None, b""
    if spec.tls is not None:
        trusted = certificates.reencoded(await _read(client, spec.tls.certificate_authority.certificate))
        pair = None if spec.tls.client_certificate is None else await _pair(client, spec.tls)
        proof = Proof(authority=trusted, pair=None if pair is None else (pair.certificate, pair.key))
        context = context_for(proof, insecure=False)
    return PostgresqlDriver(Server(spec.endpoints[0], user, password, context), world, trusted)


async def _pair(client: Client, tls: StoreTls) -> KeyPair:
    assert tls.client_certificate is not None
    references = (tls.client_certificate.certificate, tls.client_certificate.private_key)
    certificate, key = [await _read(client, each) for each in references]
    return KeyPair(certificates.reencoded(certificate), keys.to_pem(keys.load(key)))


async def _read(client: Client, reference: SecretKeyReference) -> bytes:
    where = f"Secret {reference.namespace}/{reference.name}"
    try:
        secret = await client.get(CLUSTER_SECRETS, reference.namespace, reference.name)
    except NotFound:
        raise NotUsable(DataStoreReason.SECRET_MISSING, f"{where} does not exist. Create it.") from None
    if reference.key not in secret.data:
        message = f"{where} has no key {reference.key}. Put it there."
        raise NotUsable(DataStoreReason.SECRET_MISSING, message)
    try:
        return base64.b64decode(secret.data[reference.key], validate=True)
    except binascii.Error:
        message = f"{where}: {reference.key} is not Base64. Correct it."
        raise NotUsable(DataStoreReason.SECRET_UNUSABLE, message) from None
