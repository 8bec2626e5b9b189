"""An address for a control plane that its machines hold themselves."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec
import pytest
import yaml

from nagaya.api.bootstrap.kubeadm_config_spec import KubeadmConfigSpec
from nagaya.bootstrap.data import FirstControlPlane, FurtherControlPlane, Worker, render
from nagaya.bootstrap.refusal import Refused
from nagaya.bootstrap.virtual_ip import PATH, VirtualIP, credentials, manifest
from support.recorded_boots import machine

VIP = VirtualIP("10.0.0.7", 6443)
OWN = "apiVersion: v1\nkind: Pod\nmetadata: {name: kube-vip}\n"


def boot(role: str, version: str = "v1.36.3", wanted: VirtualIP | None = VIP, **spec: Any) -> bytes:
    made = machine(role, version, msgspec.convert(spec, KubeadmConfigSpec))
    assert isinstance(made, FirstControlPlane | FurtherControlPlane)
    return render(replace(made, virtual_ip=wanted))


def pods(rendered: bytes) -> list[Any]:
    """What is written to the place of kube-vip's manifest, by us or by the user."""
    found = [each for each in yaml.safe_load(rendered)["write_files"] if each["path"] == PATH]
    return [yaml.safe_load(each["content"]) for each in found]


def hosted_file(pod: Any) -> str:
    [volume] = pod["spec"]["volumes"]
    return str(volume["hostPath"]["path"])


def test_the_manifest_is_what_it_was() -> None:
    wanted = VirtualIP("10.0.0.7", 6443, "mirror.example/kube-vip:v1.1.2", "ens18")
    [written] = [
        each for each in yaml.safe_load(boot("init", "v1.35.4", wanted))["write_files"] if each["path"] == PATH
    ]
    assert written["content"] == (Path(__file__).parent / "kube-vip.yaml").read_text()
    assert (written["owner"], written["permissions"]) == ("root:root", "0600")


@pytest.mark.parametrize("role", ["init", "join"])
@pytest.mark.parametrize("format", ["cloud-config", "ignition"])
def test_machines_of_the_control_plane_get_it_in_every_format(role: str, format: str) -> None:
    rendered = boot(role, format=format)
    if format == "ignition":
        files = {each["path"]: each["contents"]["source"] for each in json.loads(rendered)["storage"]["files"]}
        pod = yaml.safe_load(unquote(files[PATH].removeprefix("data:,")))
    else:
        [pod] = pods(rendered)
    environment = {each["name"]: each.get("value") for each in pod["spec"]["containers"][0]["env"]}
    assert (environment["address"], environment["port"], environment["vip_subnet"]) == ("10.0.0.7", "6443", "32")
    assert "vip_interface" not in environment  # kube-vip takes that of the default route


def test_nothing_is_added_where_nobody_asks() -> None:
    assert pods(boot("init", wanted=None)) == []
    assert "virtual_ip" not in Worker.__dataclass_fields__


@pytest.mark.parametrize(
    ("version", "first", "later"),
    [
        ("v1.28.15", "admin.conf", "admin.conf"),
        ("v1.29.0-rc.1", "super-admin.conf", "admin.conf"),
        ("v1.35.4", "super-admin.conf", "admin.conf"),
        ("v1.36.0", "admin.conf", "admin.conf"),
        ("v1.37.1", "admin.conf", "admin.conf"),
    ],
)
def test_kube_vip_684_the_first_machine_has_credentials_that_work_before_kubeadm_is_done(
    version: str, first: str, later: str
) -> None:
    assert credentials(version, first=True) == f"/etc/kubernetes/{first}"
    assert credentials(version, first=False) == f"/etc/kubernetes/{later}"
    for role, name in (("init", first), ("join", later)):
        [pod] = pods(boot(role, version))
        assert hosted_file(pod) == f"/etc/kubernetes/{name}"
        assert pod["spec"]["containers"][0]["volumeMounts"][0]["mountPath"] == "/etc/kubernetes/admin.conf"


def test_kube_vip_692_the_api_server_of_the_machine_is_asked_by_a_name_that_its_certificate_has() -> None:
    [pod] = pods(boot("init"))
    assert pod["spec"]["hostAliases"] == [{"ip": "127.0.0.1", "hostnames": ["kubernetes"]}]


def test_an_address_of_ipv6_is_one_address_too() -> None:
    environment = manifest(VirtualIP("fd00::7", 6443), "/x")["spec"]["containers"][0]["env"]
    assert {"name": "vip_subnet", "value": "128"} in environment


@pytest.mark.parametrize(
    "own",
    [
        {"files": [{"path": PATH, "content": OWN}]},
        {"files": [{"path": "/etc/kubernetes/manifests/vip.yaml", "content": OWN}]},
        {
            "files": [
                {
                    "path": "/etc/kubernetes/manifests/vip.yaml",
                    "encoding": "base64",
                    "content": base64.b64encode(OWN.encode()).decode(),
                }
            ]
        },
        {
            "files": [
                {
                    "path": "/etc/kubernetes/manifests/vip.yaml",
                    "encoding": "gzip+base64",
                    "content": base64.b64encode(gzip.compress(OWN.encode())).decode(),
                }
            ]
        },
        {"preKubeadmCommands": ["kube-vip manifest pod --arp > /etc/kubernetes/manifests/kube-vip.yaml"]},
        {"files": [{"path": "/opt/vip.sh", "content": "kube-vip manifest pod >/etc/kubernetes/manifests/v.yaml"}]},
    ],
    ids=["same-file", "other-name", "base64", "gzip", "command", "script"],
)
def test_a_kube_vip_of_the_users_wins(own: dict[str, Any]) -> None:
    assert VIP.address.encode() not in boot("init", **own)
    assert VIP.address.encode() not in boot("join", **own)


@pytest.mark.parametrize(
    "harmless",
    [
        {"preKubeadmCommands": ["ctr image pull ghcr.io/kube-vip/kube-vip:v1.1.2"]},
        {"files": [{"path": "/etc/kubernetes/manifests/proxy.yaml", "content": "kind: Pod\n"}]},
        {"files": [{"path": "/etc/broken", "encoding": "gzip+base64", "content": "H4sIAA=="}]},
    ],
    ids=["pull", "other-pod", "broken"],
)
def test_other_files_and_commands_change_nothing(harmless: dict[str, Any]) -> None:
    assert len(pods(boot("init", **harmless))) == 1


def test_an_api_server_on_another_port_than_the_endpoint_is_refused_with_the_remedy() -> None:
    with pytest.raises(Refused, match=r"localAPIEndpoint\.bindPort.*listen on 6443.*has 443.*Set it to 443"):
        boot("init", wanted=VirtualIP("10.0.0.7", 443))
    listening = {"localAPIEndpoint": {"bindPort": 443}}
    assert pods(boot("init", wanted=VirtualIP("10.0.0.7", 443), initConfiguration=listening))
    joining = {"controlPlane": listening}
    assert pods(boot("join", wanted=VirtualIP("10.0.0.7", 443), joinConfiguration=joining))
