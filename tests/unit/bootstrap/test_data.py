from __future__ import annotations

import base64
import dataclasses
import json
import typing
from typing import Any
from urllib.parse import unquote

import msgspec
import pytest
import yaml

from nagaya.api.bootstrap.files import File, FileSource, SecretFileSource
from nagaya.api.bootstrap.kubeadm_config_spec import KubeadmConfigSpec
from nagaya.api.bootstrap.users import PasswdSource, SecretPasswdSource, User
from nagaya.bootstrap.certificate_files import ControlPlaneCertificates
from nagaya.bootstrap.data import FirstControlPlane, FurtherControlPlane, Worker, render
from nagaya.bootstrap.kubeadm_api import ClusterFacts
from nagaya.bootstrap.preparation import Preparation
from nagaya.bootstrap.refusal import Refused
from nagaya.pki.key_pair import KeyPair
from support.recorded_boots import RecordedBoot, machine, recorded_boots
from support.subtest_cases import subtest_cases

VERSION = "v1.36.3"
KEYS = ControlPlaneCertificates(
    cluster_authority=KeyPair(b"CERTIFICATE ca", b"PRIVATE ca"),
    etcd_authority=KeyPair(b"CERTIFICATE etcd", b"PRIVATE etcd"),
    front_proxy_authority=KeyPair(b"CERTIFICATE proxy", b"PRIVATE proxy"),
    service_account=KeyPair(b"PUBLIC sa", b"PRIVATE sa"),
    etcd_client=KeyPair(b"CERTIFICATE client", b"PRIVATE client"),
)


def _types(kind: Any) -> set[Any]:
    """Every type that values of a dataclass can hold, at any depth."""
    found: set[Any] = set()
    waiting = [kind]
    while waiting:
        each = waiting.pop()
        if each in found:
            continue
        found.add(each)
        waiting.extend(getattr(each, "__args__", ()))
        if dataclasses.is_dataclass(each):
            waiting.extend(typing.get_type_hints(each).values())
    return found


def test_a_worker_has_no_place_for_keys() -> None:
    assert {KeyPair, ControlPlaneCertificates} & _types(FurtherControlPlane)
    assert not {KeyPair, ControlPlaneCertificates, bytes} & _types(Worker)


def _workers() -> list[RecordedBoot]:
    return [boot for boot in recorded_boots() if boot.role == "worker"]


@subtest_cases("boot", _workers, ids=lambda boot: boot.name)
def test_no_key_is_in_the_data_of_a_worker(boot: RecordedBoot) -> None:
    rendered = render(boot.data)
    for file in dataclasses.asdict(KEYS).values():
        assert file["key"] not in rendered
        assert base64.b64encode(file["key"]) not in rendered
    assert b"/pki/" not in rendered.replace(b"/etc/pki/cluster.crt", b"").replace(b"%2Fetc%2Fpki%2F", b"")


@pytest.mark.parametrize("role", ["init", "join"])
@pytest.mark.parametrize("format", ["cloud-config", "ignition"])
def test_control_plane_machines_get_all_authorities(role: str, format: str) -> None:
    rendered = render(machine(role, VERSION, KubeadmConfigSpec(format=format), certificates=KEYS))
    files = _files(rendered)
    paths = [
        "ca.crt",
        "ca.key",
        "etcd/ca.crt",
        "etcd/ca.key",
        "front-proxy-ca.crt",
        "front-proxy-ca.key",
        "sa.pub",
        "sa.key",
    ]
    found = [path.removeprefix("/etc/kubernetes/pki/") for path in files if path.startswith("/etc/kubernetes/pki/")]
    assert found == paths


def test_representations_show_no_secret() -> None:
    join = KubeadmConfigSpec().join_configuration
    token = msgspec.structs.replace(join.discovery.bootstrap_token, token="abcdef.0123456789abcdef")
    join = msgspec.structs.replace(join, discovery=msgspec.structs.replace(join.discovery, bootstrap_token=token))
    spec = KubeadmConfigSpec(
        join_configuration=join,
        files=(File(path="/a", content="SECRET"),),
        users=(User(name="a", passwd="SECRET"),),
        pre_kubeadm_commands=("login SECRET",),
    )
    for role in ("init", "join", "worker"):
        shown = repr(machine(role, VERSION, spec, certificates=KEYS))
        assert not any(secret in shown for secret in ("SECRET", "PRIVATE", "0123456789abcdef"))


def test_the_cluster_says_what_the_user_left_out() -> None:
    facts = ClusterFacts("c", "10.0.0.1:6443", "d.test", "10.1.0.0/16", "10.2.0.0/16")
    spec = KubeadmConfigSpec()
    data = FirstControlPlane(
        Preparation(VERSION), facts, spec.cluster_configuration, spec.init_configuration, ControlPlaneCertificates()
    )
    cluster, _ = yaml.safe_load_all(_files(render(data))["/run/kubeadm/kubeadm.yaml"])
    assert cluster["controlPlaneEndpoint"] == "10.0.0.1:6443"
    assert cluster["networking"] == {"dnsDomain": "d.test", "serviceSubnet": "10.1.0.0/16", "podSubnet": "10.2.0.0/16"}


@pytest.mark.parametrize("format", ["cloud-config", "ignition"])
def test_a_kubeconfig_for_discovery_is_written(format: str) -> None:
    spec = msgspec.convert(
        {
            "format": format,
            "joinConfiguration": {
                "discovery": {
                    "file": {
                        "kubeConfigPath": "/etc/discovery.conf",
                        "kubeConfig": {
                            "cluster": {"server": "https://a:6443", "certificateAuthorityData": "Q0E="},
                            "user": {"exec": {"command": "id", "args": ["-u"], "env": [{"name": "A", "value": "b"}]}},
                        },
                    }
                }
            },
        },
        KubeadmConfigSpec,
    )
    found = yaml.safe_load(_files(render(machine("worker", VERSION, spec)))["/etc/discovery.conf"])
    assert found["clusters"] == [
        {"name": "default", "cluster": {"server": "https://a:6443", "certificate-authority-data": "Q0E="}}
    ]
    assert found["users"][0]["user"]["exec"] == {
        "command": "id",
        "args": ["-u"],
        "env": [{"name": "A", "value": "b"}],
        "apiVersion": "client.authentication.k8s.io/v1",
        "provideClusterInfo": False,
        "interactiveMode": "Never",
    }
    assert found["current-context"] == "default"


def test_a_worker_that_is_said_to_be_a_control_plane_is_refused() -> None:
    spec = msgspec.convert({"joinConfiguration": {"controlPlane": {}}}, KubeadmConfigSpec)
    with pytest.raises(Refused, match=r"spec\.joinConfiguration\.controlPlane: Machine is a Worker"):
        render(machine("worker", VERSION, spec))
    assert b"controlPlane" in render(machine("join", VERSION, spec))


def test_what_is_not_made_out_yet_cannot_be_rendered() -> None:
    from_secret = FileSource(secret=SecretFileSource(name="a", key="b"))
    for file in (File(path="/a", content_from=from_secret), File(path="/a", content="x", content_format="Template")):
        with pytest.raises(ValueError, match="/a is not made out"):
            Preparation(VERSION, files=(file,))
    user = User(name="a", passwd_from=PasswdSource(secret=SecretPasswdSource(name="a", key="b")))
    with pytest.raises(ValueError, match="a is not made out"):
        Preparation(VERSION, users=(user,))


def _files(rendered: bytes) -> dict[str, str]:
    if rendered.startswith(b"{"):
        nodes = json.loads(rendered)["storage"]["files"]
        return {each["path"]: unquote(each["contents"]["source"].removeprefix("data:,")) for each in nodes}
    return {each["path"]: each["content"] for each in yaml.safe_load(rendered)["write_files"]}
