"""Who the server is: its certificate authority, its certificate, the administrator's, and the key that signs tokens.

Made once and kept beside the data, readable by the owner only. The serving certificate is made anew when it no longer
fits the addresses or is about to expire; the authority and the token key never are, because others depend on them.
"""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from cryptography import x509

from nagaya.pki import certificates, files, keys, kubeconfig
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import PAST, CertificateSpec, split_hosts
from nagaya.pki.keys import PrivateKey
from nagaya.pki.usages import Usage
from nagaya.world import Clock

_RENEW_BEFORE: Final = timedelta(days=30)
_NAMES: Final = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "127.0.0.1",
    "::1",
)


@dataclass(slots=True)
class Identity:
    """The keys and certificates of one server."""

    authority: CertificateAuthority
    token_key: PrivateKey
    serving_certificate: bytes
    serving_key: bytes
    admin_certificate: bytes
    admin_key: bytes

    def tls(self) -> ssl.SSLContext:
        """TLS for listening. A client certificate is asked for, not demanded: tokens share the port."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        with tempfile.NamedTemporaryFile() as pair:  # the standard library takes certificates from files only
            pair.write(self.serving_certificate + self.serving_key)
            pair.flush()
            context.load_cert_chain(pair.name)
        context.load_verify_locations(cadata=self.authority.certificate_pem.decode())
        context.verify_mode = ssl.CERT_OPTIONAL
        context.set_alpn_protocols(["http/1.1"])
        return context

    def kubeconfig(self, url: str) -> dict[str, Any]:
        """The administrator's kubeconfig."""
        credentials = kubeconfig.ClientCertificate(self.admin_certificate, self.admin_key)
        return kubeconfig.build(url, self.authority.certificate_pem, credentials, cluster="nagaya", user="nagaya-admin")


def make(clock: Clock, hosts: Sequence[str] = (), authority: CertificateAuthority | None = None) -> Identity:
    """A new identity, kept nowhere. Without an authority given it gets one of its own."""
    authority = authority or CertificateAuthority.create("nagaya", clock)
    serving = _serving(authority, clock, hosts)
    admin = _admin(authority, clock)
    return Identity(authority, keys.generate(), *serving, *admin)


def load_or_make(folder: Path, clock: Clock, hosts: Sequence[str] = ()) -> Identity:
    """The identity in a folder; what is missing, expiring or no longer fits is made and written there.

    Raises ValueError, naming the file, if one is there that cannot be read.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in (folder, *folder.glob("*.key")):
        files.keep_private(path)
    authority = _authority(folder, clock)
    _check_clock(folder / "ca.crt", authority.certificate, clock.now())
    token_key = _token_key(folder)
    serving = _pair(folder, "apiserver", clock, hosts) or _written(
        folder, "apiserver", _serving(authority, clock, hosts)
    )
    admin = _pair(folder, "admin", clock, ()) or _written(folder, "admin", _admin(authority, clock))
    return Identity(authority, token_key, *serving, *admin)


def _authority(folder: Path, clock: Clock) -> CertificateAuthority:
    certificate, key = folder / "ca.crt", folder / "ca.key"
    if certificate.exists() or key.exists():
        try:
            return CertificateAuthority.load(certificate.read_bytes(), key.read_bytes())
        except (OSError, ValueError) as error:
            remedy = "Put both files back from a backup: every client trusts this authority."
            raise ValueError(f"{certificate} and {key.name}: {error}. {remedy}") from error
    made = CertificateAuthority.create("nagaya", clock, around=PAST)
    # The key first: a certificate without its key would be taken for a damaged pair.
    files.write_atomically(key, made.key_pem)
    files.write_atomically(certificate, made.certificate_pem, 0o644)
    return made


def _check_clock(path: Path, authority: x509.Certificate, now: datetime) -> None:
    """Refuse a clock by which nobody would trust the authority. It is never replaced because of one."""
    start, end = authority.not_valid_before_utc, authority.not_valid_after_utc
    if start <= now < end:
        return
    wrong = f"{(start - now).days} days behind its first" if now < start else f"{(now - end).days} days past its last"
    remedy = (
        "Nothing was changed. Set the clock (`timedatectl set-ntp true`) and start again; if it is right, move the "
        "folder away: every kubeconfig and token has to be replaced then"
    )
    raise ValueError(
        f"{path}: the authority is valid from {start:%Y-%m-%d} to {end:%Y-%m-%d}, and the clock of this machine says "
        f"{now:%Y-%m-%d %H:%M} UTC, {wrong} day. {remedy}."
    )


def _token_key(folder: Path) -> PrivateKey:
    path = folder / "sa.key"
    if path.exists():
        try:
            return keys.load(path.read_bytes())
        except (OSError, ValueError) as error:
            remedy = "Put it back from a backup: every service account token is signed with it."
            raise ValueError(f"{path}: {error}. {remedy}") from error
    made = keys.generate()
    files.write_atomically(path, keys.to_pem(made))
    return made


def _pair(folder: Path, name: str, clock: Clock, hosts: Sequence[str]) -> tuple[bytes, bytes] | None:
    """The certificate and key in the folder, if they will do."""
    try:
        text, key = (folder / f"{name}.crt").read_bytes(), (folder / f"{name}.key").read_bytes()
        certificate = certificates.load(text)[0]
        matches = keys.load(key).public_key() == certificate.public_key()
    except (OSError, ValueError):
        return None
    fresh = certificate.not_valid_before_utc <= clock.now() < certificate.not_valid_after_utc - _RENEW_BEFORE
    if not matches or not fresh or not set(hosts) <= _hosts_in(certificate):
        return None
    return text, key


def _hosts_in(certificate: Any) -> set[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    addresses = {str(each) for each in names.get_values_for_type(x509.IPAddress)}
    return addresses | set(names.get_values_for_type(x509.DNSName))


def _written(folder: Path, name: str, pair: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    files.write_atomically(folder / f"{name}.key", pair[1])
    files.write_atomically(folder / f"{name}.crt", pair[0], 0o644)
    return pair


def _serving(authority: CertificateAuthority, clock: Clock, hosts: Sequence[str]) -> tuple[bytes, bytes]:
    names, addresses = split_hosts([*_NAMES, *hosts])
    spec = CertificateSpec("kube-apiserver", (), (Usage.SERVER_AUTH,), names, addresses, since_authority=True)
    certificate, key = authority.issue_pair(spec, clock)
    return certificates.to_pem(certificate), keys.to_pem(key)


def _admin(authority: CertificateAuthority, clock: Clock) -> tuple[bytes, bytes]:
    spec = CertificateSpec("nagaya-admin", ("system:masters",), since_authority=True)
    certificate, key = authority.issue_pair(spec, clock)
    return certificates.to_pem(certificate), keys.to_pem(key)
