"""Certificates of ours beside those that real kubeadm makes for the same configuration, field by field."""

from __future__ import annotations

import base64
import json
import subprocess
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from nagaya.pki import certificates, files, keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.key_pair import KeyPair
from nagaya.pki.keys import KeyAlgorithm
from nagaya.pki.kubeadm import layout
from nagaya.pki.kubeadm.authorities import AUTHORITIES, CLUSTER
from nagaya.pki.kubeadm.identities import ADMIN, CONTROLLER_MANAGER, SCHEDULER, SUPER_ADMIN, kubelet
from nagaya.pki.kubeadm.inputs import Inputs
from nagaya.pki.kubeadm.issuing import new_authority, new_kubeconfig, new_leaf
from nagaya.pki.kubeadm.leaves import LEAVES
from nagaya.world import SystemClock
from support.real import installed_binaries

pytestmark = pytest.mark.long("kubeadm generates RSA keys first, which its file shares")

TIMEOUT = 120
CLOCK = SystemClock()
PLAIN = Inputs(advertise_address="10.1.2.3", node_name="node-a", algorithm=KeyAlgorithm.RSA_2048)
RICH = Inputs(
    cluster_name="harbour",
    service_cidrs=("fd00:10::/112", "10.55.0.0/16"),
    dns_domain="harbour.example",
    endpoint_host="api.harbour.example",
    advertise_address="fd00::3",
    node_name="node-b",
    api_server_sans=(
        "api.harbour.example",
        "10.9.8.7",
        "*.wild.example",
        "kubernetes",
        "::ffff:10.9.8.6",
    ),
    etcd_server_sans=("etcd.harbour.example", "127.0.0.1"),
    etcd_peer_sans=("10.7.7.7",),
    algorithm=KeyAlgorithm.ECDSA_P256,
    authority_validity=timedelta(days=1000),
    leaf_validity=timedelta(days=100),
)
INPUTS = {
    "defaults": PLAIN,
    "everything set": RICH,
    "a load balancer with an address": replace(PLAIN, endpoint_host="10.1.2.100", algorithm=KeyAlgorithm.ECDSA_P384),
}


@dataclass(frozen=True, slots=True)
class Said:
    """Everything that a certificate says, apart from its key, its number and the very second that it was made."""

    subject: str
    issuer: str
    names: tuple[str, ...]
    usages: tuple[str, ...]
    purposes: tuple[str, ...]
    constraints: tuple[bool, int | None]
    critical: tuple[tuple[str, bool], ...]
    lifetime: timedelta
    key: str


def said(certificate: x509.Certificate) -> Said:
    extensions = certificate.extensions
    usage = extensions.get_extension_for_class(x509.KeyUsage).value
    bits = ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    constraints = extensions.get_extension_for_class(x509.BasicConstraints).value
    return Said(
        certificate.subject.rfc4514_string(),
        certificate.issuer.rfc4514_string(),
        tuple(str(each.value) for each in _optional(certificate, x509.SubjectAlternativeName)),
        tuple(bit for bit in (*bits, "key_cert_sign", "crl_sign") if getattr(usage, bit)),
        tuple(each.dotted_string for each in _optional(certificate, x509.ExtendedKeyUsage)),
        (constraints.ca, constraints.path_length),
        tuple(sorted((each.oid.dotted_string, each.critical) for each in extensions)),
        certificate.not_valid_after_utc - certificate.not_valid_before_utc,
        _kind(certificate),
    )


def _optional(certificate: x509.Certificate, kind: type[Any]) -> Any:
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return ()


def _kind(certificate: x509.Certificate) -> str:
    key = certificate.public_key()
    if isinstance(key, ec.EllipticCurvePublicKey):
        return key.curve.name
    assert isinstance(key, rsa.RSAPublicKey)
    return f"rsa {key.key_size}"


def configuration(inputs: Inputs, folder: Path) -> str:
    """What kubeadm is told."""
    etcd = {"serverCertSANs": [*inputs.etcd_server_sans], "peerCertSANs": [*inputs.etcd_peer_sans]}
    host = inputs.endpoint_host
    cluster = {
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "ClusterConfiguration",
        "kubernetesVersion": "v1.36.3",
        "clusterName": inputs.cluster_name,
        "certificatesDir": str(folder / "pki"),
        "networking": {"serviceSubnet": ",".join(inputs.service_cidrs), "dnsDomain": inputs.dns_domain},
        "controlPlaneEndpoint": f"{host}:6443" if host else "",
        "apiServer": {"certSANs": [*inputs.api_server_sans]},
        "etcd": {"local": {"dataDir": "/var/lib/etcd", **etcd}},
        "encryptionAlgorithm": inputs.algorithm.value,
        "certificateValidityPeriod": f"{inputs.leaf_validity.days * 24}h",
        "caCertificateValidityPeriod": f"{inputs.authority_validity.days * 24}h",
    }
    init = {
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "InitConfiguration",
        "localAPIEndpoint": {"advertiseAddress": inputs.advertise_address, "bindPort": 6443},
        "nodeRegistration": {"name": inputs.node_name},
    }
    return yaml.safe_dump_all([cluster, init])


def run(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def kubeadm_folder(inputs: Inputs, folder: Path) -> Path:
    """What real kubeadm makes."""
    kubeadm = installed_binaries(("kubeadm",)).path("kubeadm")
    file = folder / "kubeadm.yaml"
    file.write_text(configuration(inputs, folder))
    run(kubeadm, "init", "phase", "certs", "all", "--config", file)
    for part in ("admin", "super-admin", "controller-manager", "scheduler", "kubelet"):
        run(kubeadm, "init", "phase", "kubeconfig", part, "--config", file, "--kubeconfig-dir", folder)
    return folder


def our_folder(inputs: Inputs, folder: Path) -> Path:
    """What we make: the same files."""

    def write(name: str, pair: KeyPair) -> None:
        files.write_atomically(folder / "pki" / layout.certificate_file(name), pair.certificate, files.PUBLIC)
        files.write_atomically(folder / "pki" / layout.key_file(name), pair.key)

    signers: dict[str, CertificateAuthority] = {}
    for entry in AUTHORITIES:
        signer = signers[entry.name] = new_authority(entry, inputs, keys.generate(inputs.algorithm), CLOCK)
        write(entry.name, KeyPair.of(signer.certificate, signer.key))
    for leaf in LEAVES:
        key = keys.generate(inputs.algorithm)
        write(leaf.name, new_leaf(leaf, signers[leaf.authority.name], inputs, key, CLOCK))
    accounts = KeyPair.of_service_accounts(keys.generate(inputs.algorithm))
    files.write_atomically(folder / "pki" / layout.SERVICE_ACCOUNTS_PUBLIC_KEY, accounts.certificate)
    files.write_atomically(folder / "pki" / layout.SERVICE_ACCOUNTS_KEY, accounts.key)
    local = f"[{inputs.advertise_address}]" if ":" in inputs.advertise_address else inputs.advertise_address
    for identity in (ADMIN, SUPER_ADMIN, CONTROLLER_MANAGER, SCHEDULER, kubelet(inputs.node_name)):
        host = local if identity.local else inputs.endpoint_host or local
        key = keys.generate(inputs.algorithm)
        text = new_kubeconfig(identity, signers[CLUSTER.name], f"https://{host}:6443", inputs, key, CLOCK)
        files.write_atomically(folder / identity.file, text)
    return folder


@pytest.fixture(scope="module", params=INPUTS, ids=str)
def folders(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """What kubeadm makes, and what we make."""
    inputs = INPUTS[request.param]
    return kubeadm_folder(inputs, tmp_path_factory.mktemp("theirs")), our_folder(
        inputs, tmp_path_factory.mktemp("ours")
    )


def test_the_same_files_are_there(folders: tuple[Path, Path]) -> None:
    theirs, ours = ({str(each.relative_to(folder)) for each in folder.rglob("*.*")} for folder in folders)
    assert theirs - {"kubeadm.yaml"} == ours


def assert_same(ours: x509.Certificate, theirs: x509.Certificate, name: object) -> None:
    """Certificates begin with their authority, which was issued some seconds earlier: the lifetimes differ by that."""
    one, other = said(theirs), said(ours)
    assert abs(other.lifetime - one.lifetime) < timedelta(minutes=1), name
    assert replace(other, lifetime=one.lifetime) == one, name


def test_every_certificate_says_the_same(folders: tuple[Path, Path]) -> None:
    theirs, ours = folders
    compared = [each.relative_to(ours) for each in sorted(ours.rglob("*.crt"))]
    assert len(compared) == len(AUTHORITIES) + len(LEAVES)
    for name in compared:
        one, other = (certificates.load((folder / name).read_bytes())[0] for folder in (theirs, ours))
        assert_same(other, one, name)


def test_every_kubeconfig_says_the_same(folders: tuple[Path, Path]) -> None:
    theirs, ours = folders
    for file in sorted(ours.glob("*.conf")):
        (one, first), (other, second) = (_kubeconfig(folder / file.name) for folder in (theirs, ours))
        assert_same(second, first, file.name)
        assert other == one, file.name


def test_service_account_keys_are_of_the_same_kind(folders: tuple[Path, Path]) -> None:
    theirs, ours = (folder / "pki" / "sa.key" for folder in folders)
    (one,), (other,) = (keys.load_public(each.with_suffix(".pub").read_bytes()) for each in (theirs, ours))
    assert type(one) is type(other)
    assert theirs.read_bytes().splitlines()[0] == ours.read_bytes().splitlines()[0]
    assert [keys.load(ours.read_bytes()).public_key()] == [other]


def test_openssl_accepts_every_chain(folders: tuple[Path, Path]) -> None:
    pki = folders[1] / "pki"
    for leaf in LEAVES:
        purposes = {"server auth": "sslserver", "client auth": "sslclient"}
        for usage in leaf.usages:
            if purpose := purposes.get(usage):
                authority = pki / layout.certificate_file(leaf.authority.name)
                checked = ("-x509_strict", "-purpose", purpose, "-CAfile", authority)
                run("openssl", "verify", *checked, pki / layout.certificate_file(leaf.name))


def test_kubeadm_takes_ours_for_its_own(folders: tuple[Path, Path]) -> None:
    kubeadm = installed_binaries(("kubeadm",)).path("kubeadm")
    theirs, ours = folders
    file = ours / "kubeadm.yaml"
    file.write_text((theirs / "kubeadm.yaml").read_text().replace(str(theirs), str(ours)))
    before = {each: each.read_bytes() for each in (ours / "pki").rglob("*.*")}
    output = run(kubeadm, "init", "phase", "certs", "all", "--config", file)
    assert {each: each.read_bytes() for each in (ours / "pki").rglob("*.*")} == before, output
    report = json.loads(
        run(kubeadm, "certs", "check-expiration", "--config", file, "--cert-dir", ours / "pki", "-o", "json")
    )
    file.unlink()
    found = {each["name"]: each for each in report["certificates"]}
    for leaf in LEAVES:
        name = leaf.name.replace("/", "-")
        assert not found[name].get("missing"), name
        assert not found[name].get("externallyManaged"), name


def _kubeconfig(path: Path) -> tuple[dict[str, Any], x509.Certificate]:
    """What a kubeconfig says besides its certificates, and its client certificate."""
    config = yaml.safe_load(path.read_bytes())
    (user,) = config["users"]
    (cluster,) = config["clusters"]
    certificate = certificates.load(base64.b64decode(user["user"].pop("client-certificate-data")))[0]
    key = keys.load(base64.b64decode(user["user"].pop("client-key-data")))
    assert certificate.public_key() == key.public_key()
    trusted = certificates.load(base64.b64decode(cluster["cluster"].pop("certificate-authority-data")))
    assert trusted == certificates.load((path.parent / "pki" / "ca.crt").read_bytes())
    return {name: value for name, value in config.items() if value}, certificate
