"""What Nagaya makes of a ClusterConfiguration is read by the real kubeadm as it was meant."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from nagaya.api.controlplane.kubeadm_control_plane import KUBEADM_CONTROL_PLANES
from nagaya.controlplane.kubeadm.workload import yaml_text
from nagaya.controlplane.kubeadm.workload.cluster_configuration import updated, with_dns
from support.real import installed_binaries

DECLARED: dict[str, Any] = {
    "imageRepository": "mirror.example.com:5000/k8s",
    "featureGates": {"NodeLocalCRISocket": True},
    "apiServer": {
        "certSANs": ["y", "10.0.0.1", "fd00::1"],
        "extraArgs": [{"name": "v", "value": "0x4"}, {"name": "audit-log-path", "value": "-"}],
        "extraVolumes": [{"name": "a", "hostPath": "/a", "mountPath": "/b", "readOnly": True, "pathType": "File"}],
        "extraEnvs": [{"name": "NO_PROXY", "value": "on"}],
    },
    "controllerManager": {"extraArgs": [{"name": "bind-address", "value": "0.0.0.0"}]},
    "certificateValidityPeriodDays": 30,
    "encryptionAlgorithm": "ECDSA-P256",
    "dns": {"imageTag": "v1.12.4"},
    "etcd": {"local": {"dataDir": "/data", "imageTag": "3.6.1-0", "extraArgs": [{"name": "quota", "value": "1e9"}]}},
}


def kubeadm(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = installed_binaries(("kubeadm",)).path("kubeadm")
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("declared", [DECLARED, {"apiServer": {"certSANs": ["a"]}}, {}], ids=["much", "little", "none"])
def test_an_updated_configuration_is_valid(declared: dict[str, Any], tmp_path: Path) -> None:
    written = kubeadm("config", "print", "init-defaults").stdout.split("---\n")[-1]
    spec = {"version": "v1.36.3", "kubeadmConfigSpec": {"clusterConfiguration": declared}}
    template = {"spec": {"infrastructureRef": {"apiGroup": "a", "kind": "B", "name": "c"}}}
    kcp = KUBEADM_CONTROL_PLANES.convert({"metadata": {"name": "a"}, "spec": {**spec, "machineTemplate": template}})
    after = with_dns(updated(yaml_text.load(written), kcp), kcp)
    file = tmp_path / "kubeadm.yaml"
    file.write_text(yaml_text.dump(after))
    done = kubeadm("config", "validate", "--config", str(file))
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
    migrated = tmp_path / "migrated.yaml"
    done = kubeadm("config", "migrate", "--old-config", str(file), "--new-config", str(migrated))
    assert done.returncode == 0, done.stderr
    (read,) = [
        found
        for each in migrated.read_text().split("---\n")
        if (found := yaml_text.load(each)).get("kind") == "ClusterConfiguration"
    ]
    for part in ("apiServer", "controllerManager", "dns", "featureGates"):
        assert read.get(part, {}) == declared.get(part, {} if declared else read.get(part, {}))
    assert read["kubernetesVersion"] == "v1.36.3"
