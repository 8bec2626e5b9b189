from __future__ import annotations

from typing import Any

import pytest

from nagaya.controlplane.kubeadm.workload.cluster_configuration import V1BETA3, V1BETA4, updated, with_dns
from unit.controlplane.kubeadm.examples import kcp

WRITTEN: dict[str, Any] = {
    "apiServer": {"certSANs": ["localhost"]},
    "apiVersion": V1BETA4,
    "caCertificateValidityPeriod": "87600h0m0s",
    "certificateValidityPeriod": "8760h0m0s",
    "certificatesDir": "/etc/kubernetes/pki",
    "clusterName": "harbour",
    "controlPlaneEndpoint": "harbour.example.com:6443",
    "controllerManager": {},
    "dns": {},
    "encryptionAlgorithm": "RSA-2048",
    "etcd": {"local": {"dataDir": "/var/lib/etcd"}},
    "imageRepository": "registry.k8s.io",
    "kind": "ClusterConfiguration",
    "kubernetesVersion": "v1.36.2",
    "networking": {"dnsDomain": "cluster.local", "podSubnet": "10.0.0.0/16"},
    "proxy": {},
    "scheduler": {},
}
"""As kubeadm uploads it."""


def declared(version: str = "v1.36.3", **configuration: Any) -> Any:
    return kcp(version=version).wanting(kubeadmConfigSpec={"clusterConfiguration": configuration}).made()


def test_only_the_version_changes_if_nothing_else_is_declared() -> None:
    assert updated(WRITTEN, kcp(version="v1.36.3").made()) == {**WRITTEN, "kubernetesVersion": "v1.36.3"}


def test_what_is_declared_replaces_what_is_there_and_the_rest_stays() -> None:
    after = updated(
        WRITTEN,
        declared(
            imageRepository="mirror.example.com/k8s",
            featureGates={"NodeLocalCRISocket": True},
            apiServer={"extraArgs": [{"name": "v", "value": "4"}]},
            controllerManager={"extraEnvs": [{"name": "PROXY", "value": ""}]},
            scheduler={"extraVolumes": [{"name": "a", "hostPath": "/a", "mountPath": "/b", "readOnly": True}]},
            certificateValidityPeriodDays=30,
            encryptionAlgorithm="ECDSA-P256",
            etcd={"local": {"imageTag": "3.6.1-0"}},
        ),
    )
    changed = {name: value for name, value in after.items() if WRITTEN.get(name) != value}
    assert changed == {
        "imageRepository": "mirror.example.com/k8s",
        "featureGates": {"NodeLocalCRISocket": True},
        "apiServer": {"extraArgs": [{"name": "v", "value": "4"}]},
        "controllerManager": {"extraEnvs": [{"name": "PROXY"}]},
        "scheduler": {"extraVolumes": [{"name": "a", "hostPath": "/a", "mountPath": "/b", "readOnly": True}]},
        "certificateValidityPeriod": "720h0m0s",
        "encryptionAlgorithm": "ECDSA-P256",
        "etcd": {"local": {"imageTag": "3.6.1-0"}},
        "kubernetesVersion": "v1.36.3",
    }
    assert set(after) == {*WRITTEN, "featureGates"}


def test_what_is_declared_no_longer_goes_and_leaves_its_default_to_kubeadm() -> None:
    after = updated(
        {**WRITTEN, "featureGates": {"RootlessControlPlane": True}},
        declared(dns={"imageTag": "v1.12.4"}),
    )
    assert "featureGates" not in after
    assert "certificateValidityPeriod" not in after
    assert "encryptionAlgorithm" not in after
    assert after["etcd"] == after["apiServer"] == {}
    assert after["imageRepository"] == "registry.k8s.io"


def test_kubelets_in_local_mode_are_the_default_where_kubeadm_has_a_gate_for_it() -> None:
    assert updated(WRITTEN, declared("v1.35.4", apiServer={"certSANs": ["a"]}))["featureGates"] == {
        "ControlPlaneKubeletLocalMode": True
    }
    assert "featureGates" not in updated(WRITTEN, declared("v1.36.0", apiServer={"certSANs": ["a"]}))


def test_an_external_etcd_stays_external() -> None:
    external = {"endpoints": ["https://10.0.0.5:2379"], "caFile": "/ca", "certFile": "/c", "keyFile": "/k"}
    after = updated(WRITTEN, declared(etcd={"external": external}))
    assert after["etcd"] == {"external": external}


def test_a_document_of_an_old_kubeadm_is_lifted_with_the_version() -> None:
    old = {
        **WRITTEN,
        "apiVersion": V1BETA3,
        "kubernetesVersion": "v1.30.5",
        "apiServer": {"extraArgs": {"v": "4", "audit": "/x"}, "timeoutForControlPlane": "4m0s"},
        "etcd": {"local": {"dataDir": "/data", "extraArgs": {"quota": "8"}}},
    }
    after = updated(old, kcp(version="v1.31.0").made())
    assert after["apiVersion"] == V1BETA4
    assert after["apiServer"] == {"extraArgs": [{"name": "audit", "value": "/x"}, {"name": "v", "value": "4"}]}
    assert after["etcd"]["local"] == {"dataDir": "/data", "extraArgs": [{"name": "quota", "value": "8"}]}


def test_an_old_kubeadm_is_told_in_its_own_words() -> None:
    old = {**WRITTEN, "apiVersion": V1BETA3, "apiServer": {"timeoutForControlPlane": "4m0s"}}
    arguments = [{"name": "v", "value": "4"}]
    environment = [{"name": "A", "value": "b"}]
    after = updated(
        old,
        declared(
            "v1.30.6",
            apiServer={"extraArgs": arguments, "extraEnvs": environment},
            etcd={"local": {"extraArgs": arguments}},
        ),
    )
    assert after["apiVersion"] == V1BETA3
    assert after["apiServer"] == {"extraArgs": {"v": "4"}, "timeoutForControlPlane": "4m0s"}
    assert after["etcd"] == {"local": {"extraArgs": {"v": "4"}}}
    assert after["certificateValidityPeriod"] == WRITTEN["certificateValidityPeriod"]


def test_a_document_is_never_put_back_to_an_older_form() -> None:
    assert updated(WRITTEN, kcp(version="v1.30.9").made())["apiVersion"] == V1BETA4


def test_an_empty_document_becomes_one() -> None:
    assert updated({}, kcp(version="v1.36.3").made()) == {
        "apiVersion": V1BETA4,
        "kind": "ClusterConfiguration",
        "kubernetesVersion": "v1.36.3",
    }


@pytest.mark.parametrize("change", [{"apiVersion": "kubeadm.k8s.io/v1"}, {"kind": "InitConfiguration"}])
def test_what_is_not_understood_is_left_alone(change: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="is not a ClusterConfiguration that is known"):
        updated({**WRITTEN, **change}, kcp().made())


def test_a_second_update_changes_nothing() -> None:
    wanted = declared(apiServer={"certSANs": ["localhost"]}, dns={"imageTag": "v1.12.4"})
    once = with_dns(updated(WRITTEN, wanted), wanted)
    assert with_dns(updated(once, wanted), wanted) == once
    assert once["dns"] == {"imageTag": "v1.12.4"}
