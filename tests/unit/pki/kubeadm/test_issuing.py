from __future__ import annotations

import base64
from datetime import timedelta

import pytest
import yaml

from nagaya.pki import certificates, keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.kubeadm import identities
from nagaya.pki.kubeadm.authorities import AUTHORITIES, CLUSTER
from nagaya.pki.kubeadm.identities import ADMIN, KONNECTIVITY_SERVER, SUPER_ADMIN, Identity
from nagaya.pki.kubeadm.inputs import Inputs
from nagaya.pki.kubeadm.issuing import new_authority, new_kubeconfig, new_leaf
from nagaya.pki.kubeadm.layout import certificate_file, key_file
from nagaya.pki.kubeadm.leaves import API_SERVER
from support.standing_clock import StandingClock

CLOCK = StandingClock()
INPUTS = Inputs(cluster_name="harbour", authority_validity=timedelta(days=30), leaf_validity=timedelta(days=3))
KEY = keys.generate()
SIGNER = new_authority(CLUSTER, INPUTS, KEY, CLOCK)


def test_authorities_have_names_of_their_own_and_last_as_long_as_asked() -> None:
    made = [new_authority(each, INPUTS, KEY, CLOCK) for each in AUTHORITIES]
    subjects = [each.certificate.subject.rfc4514_string() for each in made]
    assert subjects == ["CN=kubernetes", "CN=front-proxy-ca", "CN=etcd-ca"]
    assert {each.certificate.not_valid_after_utc for each in made} == {CLOCK.now() + timedelta(days=30)}


def test_a_leaf_comes_with_its_key() -> None:
    key = keys.generate()
    pair = new_leaf(API_SERVER, SIGNER, INPUTS, key, CLOCK)
    (certificate,) = certificates.load(pair.certificate)
    certificate.verify_directly_issued_by(SIGNER.certificate)
    assert certificate.public_key() == keys.load(pair.key).public_key() == key.public_key()
    assert certificate.not_valid_after_utc == CLOCK.now() + timedelta(days=3)


@pytest.mark.parametrize(
    ("identity", "subject"),
    [
        (ADMIN, "CN=kubernetes-admin,O=kubeadm:cluster-admins"),
        (SUPER_ADMIN, "CN=kubernetes-super-admin,O=system:masters"),
        (KONNECTIVITY_SERVER, "CN=system:konnectivity-server"),
        (identities.kubelet("node-a"), "CN=system:node:node-a,O=system:nodes"),
    ],
)
def test_a_kubeconfig_makes_its_holder_who_it_is_for(identity: Identity, subject: str) -> None:
    config = yaml.safe_load(new_kubeconfig(identity, SIGNER, "https://a:6443", INPUTS, keys.generate(), CLOCK))
    assert config["current-context"] == f"{identity.user}@harbour"
    text = base64.b64decode(config["users"][0]["user"]["client-certificate-data"])
    assert certificates.load(text)[0].subject.rfc4514_string() == subject


def test_a_kubeconfig_may_trust_several_authorities() -> None:
    other = CertificateAuthority.create("kubernetes", CLOCK)
    both = SIGNER.certificate_pem + other.certificate_pem
    text = new_kubeconfig(ADMIN, SIGNER, "https://a:6443", INPUTS, keys.generate(), CLOCK, authorities=both)
    trusted = base64.b64decode(yaml.safe_load(text)["clusters"][0]["cluster"]["certificate-authority-data"])
    assert certificates.load(trusted) == [SIGNER.certificate, other.certificate]


def test_files_are_where_kubeadm_looks_for_them() -> None:
    assert (certificate_file("etcd/ca"), key_file("apiserver")) == ("etcd/ca.crt", "apiserver.key")
