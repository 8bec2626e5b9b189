"""The static pod that holds the address of a control plane, judged by the real API server."""

from __future__ import annotations

import json
import subprocess

import pytest

from nagaya.bootstrap.virtual_ip import VirtualIP, manifest
from support.real import RealControlPlane


@pytest.mark.parametrize("address", ["10.0.0.7", "fd00::7"])
def test_the_api_server_takes_the_manifest_for_a_pod_without_unknown_fields(
    real_control_plane: RealControlPlane, address: str
) -> None:
    content = manifest(VirtualIP(address, 6443, interface="ens18"), "/etc/kubernetes/super-admin.conf")
    kubectl = [str(real_control_plane.kubectl), "--kubeconfig", str(real_control_plane.kubeconfig)]
    found = subprocess.run(
        [*kubectl, "create", "--dry-run=server", "--validate=strict", "-o", "json", "-f", "-"],
        input=json.dumps(content),
        text=True,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert found.returncode == 0, found.stderr
    made = json.loads(found.stdout)
    told = made["spec"]["containers"][0]["env"]
    assert [(each["name"], each.get("value")) for each in told] == [
        (each["name"], each.get("value")) for each in content["spec"]["containers"][0]["env"]
    ]
    assert content["spec"]["volumes"][0] in made["spec"]["volumes"]
    assert made["spec"]["priority"] == 2000001000
