from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from nagaya.api.bootstrap.disks import DiskSetup, Filesystem, Partition, PartitionSpec
from nagaya.api.bootstrap.files import File
from nagaya.api.bootstrap.kubeadm_config_spec import NTP, KubeadmConfigSpec
from nagaya.api.bootstrap.users import User
from nagaya.bootstrap.certificate_files import ControlPlaneCertificates
from nagaya.bootstrap.data import render
from nagaya.bootstrap.ignition.units import unit_name
from nagaya.bootstrap.refusal import Refused
from nagaya.pki.key_pair import KeyPair
from support.recorded_boots import machine
from support.subtest_cases import subtest_cases


def _config(role: str = "worker", certificates: ControlPlaneCertificates | None = None, **spec: Any) -> dict[str, Any]:
    data = machine(
        role,
        "v1.36.3",
        KubeadmConfigSpec(format="ignition", **spec),
        certificates=certificates or ControlPlaneCertificates(),
    )
    found: dict[str, Any] = json.loads(render(data))
    return found


def _files(config: dict[str, Any]) -> dict[str, bytes]:
    return {
        each["path"]: unquote_to_bytes(each["contents"]["source"].removeprefix("data:,"))
        for each in config["storage"]["files"]
    }


@settings(max_examples=60)
@given(st.text(min_size=1), st.text(min_size=1), st.binary())
def test_hostile_contents_come_back(content: str, name: str, binary: bytes) -> None:
    files = (
        File(path="/a", content=content),
        File(path="/b", content=base64.b64encode(binary).decode(), encoding="base64"),
    )
    config = _config(files=files, users=(User(name=name, gecos=content, passwd=content),))
    found = _files(config)
    assert found["/a"].decode() == (content if content.endswith("\n") else content + "\n")
    assert found["/b"] == binary
    assert config["passwd"]["users"] == [{"name": name, "gecos": content, "passwordHash": content}]


def test_certificates_have_their_owner_and_mode() -> None:
    certificates = ControlPlaneCertificates(cluster_authority=KeyPair(b"\xff\x00C", b"K"))
    config = _config("init", certificates)
    assert _files(config)["/etc/kubernetes/pki/ca.crt"] == b"\xff\x00C"
    key = next(each for each in config["storage"]["files"] if each["path"] == "/etc/kubernetes/pki/ca.key")
    assert (key["mode"], key["user"], key["group"]) == (0o600, {"name": "root"}, {"name": "root"})


def test_the_users_lines_stay_as_they_are() -> None:
    config = _config(
        "init",
        pre_kubeadm_commands=("a 'b' \"c\" $d", "if e; then\n  f\nfi"),
        post_kubeadm_commands=("g",),
        verbosity=3,
    )
    assert _files(config)["/etc/kubeadm.sh"].decode().splitlines() == [
        "#!/bin/bash",
        "set -e",
        "a 'b' \"c\" $d",
        "if e; then",
        "  f",
        "fi",
        "kubeadm init --config /etc/kubeadm.yml --v 3",
        "mkdir -p /run/cluster-api && echo success > /run/cluster-api/bootstrap-success.complete",
        "mv /etc/kubeadm.yml /tmp/",
        "g",
    ]
    assert [each["kind"] for each in yaml.safe_load_all(_files(config)["/etc/kubeadm.yml"])] == [
        "ClusterConfiguration",
        "InitConfiguration",
    ]


def test_a_file_can_be_added_to() -> None:
    files = _config(files=(File(path="/a", content="x", append=True, owner="core"),))["storage"]["files"]
    assert files[0] == {
        "filesystem": "root",
        "path": "/a",
        "mode": 0o644,
        "contents": {"source": "data:,x%0A"},
        "user": {"name": "core"},
        "append": True,
    }


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/var/lib/data", "var-lib-data"),
        ("/var/lib/my-data", "var-lib-my\\x2ddata"),
        ("/.hidden", "\\x2ehidden"),
        ("/a.b", "a.b"),
        ("/a b/", "a\\x20b"),
        ("/ä", "\\xc3\\xa4"),
        ("/", "-"),
    ],
)
def test_mounts_are_named_as_systemd_wants_it(path: str, name: str) -> None:
    assert unit_name(path) == name


def test_a_mount_finds_its_device_by_label() -> None:
    setup = DiskSetup(filesystems=(Filesystem(device="/dev/sdb1", filesystem="xfs", label="data"),))
    units = _config(disk_setup=setup, mounts=(("data", "/d"), ("LABEL=o", "/o", "ro", "100%")))["systemd"]["units"]
    assert [each["name"] for each in units] == ["kubeadm.service", "d.mount", "o.mount"]
    assert "What=/dev/sdb1\nWhere=/d\n" in units[1]["contents"]
    assert "What=LABEL=o\nWhere=/o\nOptions=ro,100%%\n" in units[2]["contents"]


def test_the_clock_is_kept_only_if_asked_for() -> None:
    on, off = (_config(ntp=NTP(enabled=enabled, servers=("a.test",))) for enabled in (True, False))
    assert _files(on)["/etc/ntp.conf"].startswith(b"server a.test\n")
    assert "/etc/ntp.conf" not in _files(off)
    assert [each["name"] for each in off["systemd"]["units"]] == ["kubeadm.service"]


@subtest_cases(
    ("spec", "field"),
    [
        ({"files": (File(path="a", content="x"),)}, r"spec\.files\[0\]\.path"),
        ({"files": (File(path="/a", content="x", encoding="gzip"),)}, r"spec\.files\[0\]\.encoding"),
        ({"files": (File(path="/a", content="?", encoding="base64"),)}, r"spec\.files\[0\]\.content"),
        ({"files": (File(path="/a", content="x", permissions="rw"),)}, r"spec\.files\[0\]\.permissions"),
        ({"mounts": (("a",),)}, r"spec\.mounts\[0\]"),
        ({"mounts": (("a", "/b", "c\nExecStart=/d"),)}, r"spec\.mounts\[0\]"),
        (
            {"disk_setup": DiskSetup(filesystems=(Filesystem(device="/a", filesystem="zfs"),))},
            r"spec\.diskSetup\.filesystems\[0\]\.filesystem",
        ),
        (
            {
                "disk_setup": DiskSetup(
                    partitions=(Partition(device="/a", disk_layout=(PartitionSpec(percentage=50),)),)
                )
            },
            r"spec\.diskSetup\.partitions\[0\]\.diskLayout",
        ),
    ],
)
def test_what_ignition_cannot_do_is_refused_by_name(spec: dict[str, Any], field: str) -> None:
    with pytest.raises(Refused, match=field):
        _config(**spec)


def test_sudo_and_passwords_of_users() -> None:
    users = (
        User(name="a", sudo="ALL=(ALL) ALL"),
        User(name="b", lock_password=False),
        User(name="c", lock_password=False),
    )
    files = {path: unquote(content.decode()) for path, content in _files(_config(users=users)).items()}
    assert files["/etc/sudoers.d/a"] == "a ALL=(ALL) ALL\n"
    assert "Match User b,c\n  PasswordAuthentication yes\n" in files["/etc/ssh/sshd_config"]
