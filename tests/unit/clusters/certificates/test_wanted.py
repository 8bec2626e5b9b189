from __future__ import annotations

from datetime import timedelta

from nagaya.api.bootstrap.cluster_configuration import ClusterConfiguration
from nagaya.api.bootstrap.etcd import Etcd, ExternalEtcd
from nagaya.api.cluster.secrets import Purpose
from nagaya.clusters.certificates.wanted import Material, Wanted
from nagaya.pki.keys import KeyAlgorithm


def test_by_default_keys_are_kubeadms_and_authorities_last_ten_years() -> None:
    assert Wanted.of(None) == Wanted.of(ClusterConfiguration())
    wanted = Wanted.of(None)
    assert (wanted.algorithm, wanted.validity) == (KeyAlgorithm.RSA_2048, timedelta(days=3650))
    assert [*wanted.materials] == ["ca", "sa", "proxy", "etcd"]


def test_what_is_configured_is_wanted() -> None:
    external = ExternalEtcd(endpoints=("https://a",), ca_file="/a", cert_file="/b", key_file="/c")
    configuration = ClusterConfiguration(
        encryption_algorithm="ECDSA-P384", ca_certificate_validity_period_days=7, etcd=Etcd(external=external)
    )
    wanted = Wanted.of(configuration)
    assert (wanted.algorithm, wanted.validity) == (KeyAlgorithm.ECDSA_P384, timedelta(days=7))
    assert [*wanted.materials] == ["ca", "sa", "proxy", "apiserver-etcd-client", "etcd"]
    assert wanted.materials[Purpose.ETCD_AUTHORITY] is Material.FOREIGN_AUTHORITY
