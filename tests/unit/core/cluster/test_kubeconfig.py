from __future__ import annotations

import base64

import pytest
import yaml

from nagaya.core.cluster.kubeconfig import BadAuthority, kubeconfig_secret
from nagaya.kube.kubeconfig import parse_text
from nagaya.pki import certificates
from nagaya.pki.authority import CertificateAuthority
from support.seen_cluster import ENDPOINT, bare_cluster
from support.standing_clock import StandingClock

CLUSTER = bare_cluster().having(spec={"controlPlaneEndpoint": ENDPOINT}).made()
CLOCK = StandingClock()


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def test_a_kubeconfig_makes_its_holder_the_administrator() -> None:
    authority = CertificateAuthority.create("kubernetes", CLOCK)
    data = {"tls.crt": encoded(authority.certificate_pem), "tls.key": encoded(authority.key_pem)}
    secret = kubeconfig_secret(CLUSTER, data, CLOCK)
    assert secret["metadata"] == {
        "name": "harbour-kubeconfig",
        "namespace": "fleet",
        "labels": {"cluster.x-k8s.io/cluster-name": "harbour"},
        "ownerReferences": [
            {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "harbour", "uid": "uid-harbour"}
        ],
    }
    assert secret["type"] == "cluster.x-k8s.io/secret"
    text = base64.b64decode(secret["data"]["value"])
    config = yaml.safe_load(text)
    assert config["current-context"] == "harbour-admin@harbour"
    assert config["clusters"][0]["cluster"]["server"] == "https://10.0.0.1:6443"
    pem = base64.b64decode(config["users"][0]["user"]["client-certificate-data"])
    (certificate,) = certificates.load(pem)
    assert certificate.subject.rfc4514_string() == "CN=kubernetes-admin,O=system:masters"
    certificate.verify_directly_issued_by(authority.certificate)
    assert parse_text(text, source="test").server == "https://10.0.0.1:6443"


@pytest.mark.parametrize("data", [{}, {"tls.crt": "?", "tls.key": "?"}, {"tls.crt": encoded(b"x")}])
def test_an_authority_that_cannot_be_used_is_named_without_its_content(data: dict[str, str]) -> None:
    with pytest.raises(BadAuthority, match=r"^Secret fleet/harbour-ca: .*certificate and the private key"):
        kubeconfig_secret(CLUSTER, data, CLOCK)
