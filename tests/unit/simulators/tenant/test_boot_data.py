"""What simulated machines read in their boot data: both providers' forms, and data that are nobody's."""

from __future__ import annotations

import pytest

from nagaya.bootstrap.certificate_files import ControlPlaneCertificates
from nagaya.bootstrap.data import FirstControlPlane, render
from nagaya.bootstrap.kubeadm_api import ClusterFacts
from nagaya.bootstrap.preparation import Preparation
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.key_pair import KeyPair
from nagaya.simulators.tenant import boot_data
from nagaya.simulators.tenant.boot_data import KubeadmBoot, Unusable
from nagaya.simulators.tenant.settings import Taint
from nagaya.world import SystemClock
from support.recorded_boots import RecordedBoot, recorded_boots
from support.subtest_cases import subtest_cases

INIT = """#cloud-config
write_files:
- path: /run/kubeadm/kubeadm.yaml
  content: |
    apiVersion: kubeadm.k8s.io/v1beta4
    kind: ClusterConfiguration
    clusterName: harbour
    ---
    apiVersion: kubeadm.k8s.io/v1beta4
    kind: InitConfiguration
    {more}
"""


def meaning(data: bytes) -> KubeadmBoot | str | None:
    try:
        return boot_data.read(data, "host")
    except Unusable as error:
        return str(error)


@subtest_cases("boot", recorded_boots, ids=lambda boot: f"{boot.name} {boot.format}")
def test_ours_and_upstreams_data_for_a_machine_mean_the_same(boot: RecordedBoot) -> None:
    ours, upstreams = meaning(render(boot.data)), meaning(boot.upstream.encode())
    assert ours == upstreams
    assert ours is not None
    if isinstance(ours, KubeadmBoot):
        assert (ours.initializes, ours.control_plane) == (boot.role == "init", boot.role != "worker")
    else:
        assert "authority of etcd" in ours  # the recorded ones are made up


@pytest.mark.parametrize("format", ["cloud-config", "ignition"])
def test_the_authority_of_etcd_comes_with_the_data(format: str) -> None:
    etcd = CertificateAuthority.create("etcd-ca", SystemClock())
    files = ControlPlaneCertificates(etcd_authority=KeyPair(etcd.certificate_pem, etcd.key_pem))
    recorded = next(each.data for each in recorded_boots() if each.role == "init" and each.format == format)
    assert isinstance(recorded, FirstControlPlane)
    data = FirstControlPlane(
        Preparation("v1.36.3", format=format),
        ClusterFacts("harbour"),
        recorded.cluster_configuration,
        recorded.init_configuration,
        files,
    )
    read = boot_data.read(render(data), "host")
    assert read is not None
    assert read.etcd_authority is not None
    assert read.etcd_authority.certificate == etcd.certificate
    assert "PRIVATE" not in repr(read)


@subtest_cases(
    "data",
    [
        b"",
        b"#!/bin/sh\nkubeadm init\n",
        b"#cloud-config\nruncmd: [reboot]\n",
        b"#cloud-config\n: : :\n",
        b"{}",
        b"{",
        b"[1]",
        b'{"storage": {"files": [{"path": "/a", "contents": {"source": "https://example.com"}}]}}',
        b'{"storage": {"files": [{"path": "/a.yml", "contents": {"source": "data:;base64,!"}}]}}',
        b"\xff\xfe\x00",
    ],
)
def test_data_that_do_not_mention_kubeadm_mean_nothing(data: bytes) -> None:
    assert boot_data.read(data, "host") is None


def test_statements_of_templates_hide_nothing() -> None:
    text = INIT.format(more="skipPhases: [addon]") + "runcmd:\n- echo {% if x %}y{% endif %}\n"
    read = boot_data.read(b"## template: jinja\n" + text.encode(), "host")
    assert read is not None
    assert read.skipped == {"addon"}
    assert read.cluster["clusterName"] == "harbour"


def test_arguments_of_both_versions_are_read() -> None:
    registration = "nodeRegistration: {{taints: [{{key: a, effect: NoSchedule}}], kubeletExtraArgs: {}}}"
    for arguments in (
        "{node-labels: 'a=b,c=d', cloud-provider: external}",
        "[{name: node-labels, value: 'a=b,c=d'}, {name: cloud-provider, value: external}]",
    ):
        read = boot_data.read(INIT.format(more=registration.format(arguments)).encode(), "host")
        assert read is not None
        assert read.labels == {"a": "b", "c": "d"}
        assert read.taints == (Taint("a", "NoSchedule"),)
        assert read.external_cloud


@pytest.mark.parametrize("more", ["nodeRegistration: [1]", "nodeRegistration: {taints: [1]}", "localAPIEndpoint: x"])
def test_settings_that_are_no_settings_are_refused(more: str) -> None:
    with pytest.raises(Unusable, match="is not a mapping"):
        boot_data.read(INIT.format(more=more).encode(), "host")


def test_a_configuration_that_is_not_yaml_is_refused() -> None:
    with pytest.raises(Unusable, match="is not YAML"):
        boot_data.read(INIT.format(more="a: [").encode(), "host")
