"""The way to simulated clusters for others in this process: function calls, with the same proofs as over the network.

A kubeconfig must name the authority of the cluster and hold a certificate, with its key, that this authority has issued
to a client. What TLS checks when a connection is made is checked here; the server checks the rest on every call.
"""

from __future__ import annotations

from collections.abc import Callable

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID

from nagaya.in_process import Handle, HandlerTransport
from nagaya.infrastructure.simulated.tenancy import Tenancy
from nagaya.infrastructure.simulated.tenants import Tenants
from nagaya.kube.connection import Connection
from nagaya.kube.streams.stream import Dialer, MakeDialer
from nagaya.kube.transport import Call, NoCredentials, Transport, Unreachable
from nagaya.pki import certificates, keys
from nagaya.pki.authority import CertificateAuthority

Connect = Callable[[Connection], Transport]


def connector(tenants: Tenants, fallback: Connect) -> Connect:
    """What makes transports: within the process to clusters that run in it, by `fallback` to all others."""

    def connect(connection: Connection) -> Transport:
        tenancy = tenants.at(connection.server)
        if tenancy is None or not _plain(connection):
            return fallback(connection)
        return TenantTransport(tenancy, connection)

    return connect


def dialer(tenants: Tenants, fallback: MakeDialer) -> MakeDialer:
    """What makes ways to the pods of clusters, in the same manner."""

    def make(connection: Connection) -> Dialer:
        tenancy = tenants.at(connection.server)
        if tenancy is None or not _plain(connection):
            return fallback(connection)
        return TenantTransport(tenancy, connection)

    return make


class TenantTransport(HandlerTransport):
    """A way to a simulated cluster, whenever it runs, with the credentials of a kubeconfig."""

    def __init__(self, tenancy: Tenancy, connection: Connection) -> None:
        headers = {"user-agent": "nagaya"}
        if connection.token:
            headers["authorization"] = f"Bearer {connection.token}"
        super().__init__(self._serve, headers)
        self._tenancy = tenancy
        self._connection = connection
        self._trusted: CertificateAuthority | None = None
        self._shown: bytes | None = None

    def _serve(self, call: Call) -> tuple[Handle, bytes | None]:
        tenant = self._tenancy.tenant
        if tenant is None:
            raise Unreachable(call, f"the simulated cluster {self._tenancy.key} does not run")
        authority = tenant.settings.authority
        if authority is not self._trusted:
            if not self._connection.insecure and not _names(self._connection.authority, authority):
                raise Unreachable(call, "certificate verify failed: the kubeconfig names another authority")
            try:
                self._shown = _proof(self._connection, authority)
            except ValueError as error:
                raise NoCredentials(call, f"the client certificate of the kubeconfig cannot be used: {error}") from None
            self._trusted = authority
        return tenant.handle, self._shown


def _plain(connection: Connection) -> bool:
    """Whether there is nothing in it that only a connection over the network can honour."""
    special = (
        connection.token_file,
        connection.username,
        connection.plugin,
        connection.impersonation,
        connection.proxy,
        connection.tls_server_name,
    )
    pems = (connection.authority, connection.certificate, connection.key)
    return not any(special) and all(each is None or isinstance(each, bytes) for each in pems)


def _names(pem: object, authority: CertificateAuthority) -> bool:
    if not isinstance(pem, bytes):
        return False
    try:
        return authority.certificate in certificates.load(pem)
    except ValueError:
        return False


def _proof(connection: Connection, authority: CertificateAuthority) -> bytes | None:
    """The certificate to show (DER). Raises ValueError if it proves nothing."""
    if not isinstance(connection.certificate, bytes):
        return None
    certificate = certificates.load(connection.certificate)[0]
    key = keys.load(connection.key) if isinstance(connection.key, bytes) else None
    if key is None or keys.checked_public(certificate.public_key()) != key.public_key():
        raise ValueError("its private key is not there")
    try:
        certificate.verify_directly_issued_by(authority.certificate)
    except (ValueError, TypeError, InvalidSignature):
        raise ValueError("it was not issued by the authority of the cluster") from None
    try:
        purposes = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        purposes = None
    if purposes is not None and ExtendedKeyUsageOID.CLIENT_AUTH not in purposes:
        raise ValueError("it is not for clients")
    return certificate.public_bytes(Encoding.DER)
