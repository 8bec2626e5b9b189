from __future__ import annotations

import json
import subprocess
import tomllib
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path

import pytest

from nagaya.simulators.netns import equipment


@pytest.mark.parametrize("name", ["machine.sh", "systemctl"])
def test_scripts_are_shell(name: str) -> None:
    done = subprocess.run(["sh", "-n"], input=equipment.script(name).encode(), check=False, timeout=60)
    assert done.returncode == 0


def test_a_machine_knows_its_own_name_and_nobody_elses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equipment, "plugin_folder", lambda _: Path("/usr/lib/cni"))
    address, pods = IPv4Interface("198.18.1.10/24"), IPv4Network("100.64.1.0/24")
    found = equipment.equipment("ngy1", "m1", address, pods, unified_cgroups=False)
    assert found["etc/hosts"][0].splitlines()[-1] == "198.18.1.10 m1"
    assert "nameserver" not in found["etc/resolv.conf"][0]
    other = equipment.equipment("ngy1", "m2", address, pods, unified_cgroups=True)
    assert len(found["etc/machine-id"][0].strip()) == 32
    assert found["etc/machine-id"] != other["etc/machine-id"]
    kubelet = "etc/nagaya/kubelet.conf.d/10-machine.conf"
    assert json.loads(found[kubelet][0])["failCgroupV1"] is False
    assert "failCgroupV1" not in json.loads(other[kubelet][0])
    network = json.loads(found["etc/cni/net.d/10-machine.conflist"][0])
    assert network["plugins"][0]["ipam"]["ranges"] == [[{"subnet": "100.64.1.0/24"}]]


def test_what_a_host_lacks_comes_from_packages_and_what_it_has_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, packages = tmp_path / "own", tmp_path / "packages"
    monkeypatch.setenv("PATH", str(own))
    monkeypatch.setattr(equipment, "_PLUGINS", (Path(f"{tmp_path}/cni"),))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    programs = ("containerd", "ctr", "runc", "iptables", "ip", "nsenter", "unshare", "setpriv", "pivot_root", "mount")
    for name in programs:
        _program(packages / "bin" / name)
    for name in ("bridge", "host-local", "loopback"):
        _program(packages / "root" / str(tmp_path).lstrip("/") / "cni" / name)
    _program(own / "ip")
    assert equipment.missing(packages) == []
    assert equipment.host_program("ip", packages) == str(own / "ip")
    assert equipment.host_program("runc", packages) == str(packages / "bin" / "runc")
    assert equipment.plugin_folder(packages) == tmp_path / "cni"
    (complaint,) = equipment.missing()
    assert "install containerd, iptables, mount, runc, util-linux, containernetworking-plugins" in complaint


def test_containerd_requires_its_cri_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equipment, "plugin_folder", lambda packages: Path("/opt/cni/bin"))
    address, pods = IPv4Interface("198.18.0.2/24"), IPv4Network("198.18.1.0/24")
    files = equipment.equipment("host", "one", address, pods, unified_cgroups=False)
    config = tomllib.loads(files["etc/containerd/config.toml"][0])
    assert config["required_plugins"] == ["io.containerd.grpc.v1.cri"]
    assert config["plugins"]["io.containerd.grpc.v1.cri"]["cni"]["bin_dir"] == "/opt/cni/bin"


def _program(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(0o755)
