"""Boot data, judged by those who read it: the real kubeadm and the real cloud-init."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from nagaya.api.bootstrap.files import File
from nagaya.api.bootstrap.kubeadm_config_spec import KubeadmConfigSpec
from nagaya.bootstrap import yaml_text
from nagaya.bootstrap.certificate_files import ControlPlaneCertificates
from nagaya.bootstrap.cloud_init.document import CONFIGURATION
from nagaya.bootstrap.data import render
from nagaya.bootstrap.installation import FromPackages
from nagaya.bootstrap.installation.steps import SCRIPT, script
from nagaya.bootstrap.preparation import KubeletFacts
from nagaya.pki.key_pair import KeyPair
from support.cloud_init import AtBoot, CloudInit, unpacked_cloud_init
from support.real import installed_binaries
from support.recorded_boots import machine, recorded_boots

pytestmark = pytest.mark.long("cloud-init takes seconds to start, and boots all documents before the first test")

VERSION = "v1.36.3"
BOOTS = [each for each in recorded_boots() if each.format == "cloud-config"]
INSTANCE = {"ds": {"meta_data": {"local_hostname": "host-1", "hostname": "host-1", "instance_id": "i-1"}}}
NARROWER_THAN_ITS_CODE = ("disk_setup./dev/sdc.layout:", "fs_setup.0.partition:")
"""Codes in hexadecimal digits and numbers of partitions: cloud-init acts on them, the schema of some versions does not
know them."""

HOSTILE = [
    "a: b",
    "# a",
    "'\"",
    "\\n",
    " lead",
    "trail ",
    "\ttab\t",
    "line\nline",
    "\n\n",
    "{a: [b",
    "null",
    "yes",
    "1e3",
    "0o17",
    "0640",
    "~",
    "é😀",
    "\x1b[0m",
    "\x85",
    "\u2028",
    "\r\n",
    "$(reboot) `reboot` ; &",
    "a" * 3000,
]


READABLE = [text for text in HOSTILE if text != "\x85"]
"""kubeadm itself makes a space of that one."""

Boots = dict[str, AtBoot]


@pytest.fixture(scope="module")
def cloud_init() -> CloudInit:
    return unpacked_cloud_init()


@pytest.fixture(scope="module")
def recorded(cloud_init: CloudInit) -> Boots:
    """What the machines that we know of read at boot, by name."""
    found = cloud_init.boots([render(each.data) for each in BOOTS], INSTANCE)
    return dict(zip((each.name for each in BOOTS), found, strict=True))


@pytest.fixture(scope="module")
def hostile(cloud_init: CloudInit) -> list[AtBoot]:
    """What workers with hostile words in their kubelets' arguments read, for two versions of kubeadm's documents."""
    data = [machine("worker", version, _with_label(text)) for text in READABLE for version in (VERSION, "v1.30.0")]
    return cloud_init.boots([render(each) for each in data], INSTANCE)


@pytest.fixture(scope="module")
def kubeadm() -> Path:
    return installed_binaries(["kubeadm"]).path("kubeadm")


def _with_label(text: str) -> KubeadmConfigSpec:
    token = {
        "token": "abcdef.0123456789abcdef",
        "apiServerEndpoint": "10.0.0.1:6443",
        "unsafeSkipCAVerification": True,
    }
    registration = {"name": "a", "kubeletExtraArgs": [{"name": "node-labels", "value": text}]}
    join = {"discovery": {"bootstrapToken": token}, "nodeRegistration": registration}
    return msgspec.convert({"joinConfiguration": join}, KubeadmConfigSpec)


def _documents(boot: AtBoot) -> str:
    """What kubeadm reads on the machine."""
    (text,) = (each["content"] for each in boot.config["write_files"] if each["path"] in CONFIGURATION.values())
    assert isinstance(text, str)
    return text


def _kubeadm(kubeadm: Path, folder: Path, text: str, *arguments: str) -> str:
    (folder / "kubeadm.yaml").write_text(text, encoding="utf-8", newline="")
    command = [str(kubeadm), "config", *arguments, str(folder / "kubeadm.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{done.stderr}{done.stdout}{text}"
    return done.stdout


def _acceptable(text: str) -> str:
    """Documents without what this kubeadm refuses for reasons of its own, in our words otherwise."""
    documents: list[dict[str, Any]] = list(yaml.safe_load_all(text))
    for document in documents:
        # It reads v1beta3 too, but starts clusters of its own version only.
        if "kubernetesVersion" in document:
            document["kubernetesVersion"] = VERSION
        # It gives every token a time to live and then refuses those that have a date instead.
        if tokens := document.get("bootstrapTokens"):
            document["bootstrapTokens"] = [each for each in tokens if "expires" not in each]
        # It looks whether the file is there.
        if found := document.get("discovery", {}).get("file"):
            found["kubeConfigPath"] = "/dev/null"
    return yaml_text.dump_all(documents)


@pytest.mark.parametrize("name", [each.name for each in BOOTS])
def test_kubeadm_accepts_its_documents(name: str, recorded: Boots, kubeadm: Path, tmp_path: Path) -> None:
    text = _acceptable(_documents(recorded[name]))
    _kubeadm(kubeadm, tmp_path, text, "validate", "--allow-deprecated-api", "--config")


@pytest.mark.parametrize("name", [each.name for each in BOOTS])
def test_cloud_init_finds_nothing_wrong(name: str, recorded: Boots) -> None:
    complaints = recorded[name].complaints
    listed = complaints.partition("schema errors: ")[2].strip().replace("schemas, ", "schemas\n").splitlines()
    assert not complaints or listed
    assert [each for each in listed if not each.startswith(NARROWER_THAN_ITS_CODE)] == []


def test_the_command_that_people_type_agrees(recorded: Boots, cloud_init: CloudInit) -> None:
    rendered = next(each.rendered for name, each in recorded.items() if name.startswith("cloud-config init"))
    code, said = cloud_init.check(rendered)
    assert (code, "Valid" in said) == (0, True), said
    code, said = cloud_init.check(rendered + "users: 5\n")
    assert (code, "users" in said) == (1, True)


def test_cloud_init_finds_nothing_wrong_with_an_installation(cloud_init: CloudInit) -> None:
    rendered = render(machine("worker", VERSION, KubeadmConfigSpec(), installation=FromPackages()))
    (boot,) = cloud_init.boots([rendered], INSTANCE)
    assert boot.complaints == ""
    files = {each["path"]: each["content"] for each in boot.config["write_files"]}
    assert files[SCRIPT].encode() == script()
    assert boot.script.splitlines()[1] == f"'{SCRIPT}' '1.36.3' 'https://pkgs.k8s.io'"


@pytest.mark.parametrize("index", range(2 * len(READABLE)))
def test_hostile_words_reach_kubeadm_as_they_are(
    index: int, hostile: list[AtBoot], kubeadm: Path, tmp_path: Path
) -> None:
    migrated = _kubeadm(kubeadm, tmp_path, _documents(hostile[index]), "migrate", "--old-config")
    registration = yaml.safe_load(migrated)["nodeRegistration"]
    assert registration["kubeletExtraArgs"] == [{"name": "node-labels", "value": READABLE[index // 2]}]


def test_hostile_words_reach_the_machine_as_they_are(cloud_init: CloudInit) -> None:
    files = tuple(File(path=f"/{index}", content=text) for index, text in enumerate(HOSTILE))
    spec = KubeadmConfigSpec(files=files, pre_kubeadm_commands=tuple(HOSTILE))
    (boot,) = cloud_init.boots([render(machine("worker", VERSION, spec))], INSTANCE)
    assert boot.complaints == ""
    contents = [each["content"] for each in boot.config["write_files"]][: len(HOSTILE)]
    assert contents == [text if text.endswith("\n") else text + "\n" for text in HOSTILE]
    assert boot.config["runcmd"][: len(HOSTILE)] == HOSTILE


def test_keys_survive_jinja_and_the_users_templates_are_made_out(cloud_init: CloudInit) -> None:
    key = b"{{ boom }} {% boom %} {# gone #}\n"
    spec = msgspec.convert(
        {
            "joinConfiguration": {"nodeRegistration": {"name": "{{ ds.meta_data.local_hostname }}"}},
            "files": [{"path": "/id", "content": "{% if ds %}\n{{ ds['meta_data'][\"instance_id\"] }}\n{% endif %}\n"}],
        },
        KubeadmConfigSpec,
    )
    data = machine(
        "join",
        VERSION,
        spec,
        certificates=ControlPlaneCertificates(cluster_authority=KeyPair(b"plain\n", key)),
        kubelet=KubeletFacts(provider_id="proxmox://{{ ds.meta_data.instance_id }}"),
    )
    (boot,) = cloud_init.boots([render(data)], INSTANCE)
    assert boot.complaints == ""
    files = {each["path"]: each for each in boot.config["write_files"]}
    assert files["/etc/kubernetes/pki/ca.crt"]["content"] == "plain\n"
    assert base64.b64decode(files["/etc/kubernetes/pki/ca.key"]["content"]) == key
    assert files["/id"]["content"].split() == ["i-1"]
    registration = yaml.safe_load(_documents(boot))["nodeRegistration"]
    assert registration["name"] == "host-1"
    assert registration["kubeletExtraArgs"] == [{"name": "provider-id", "value": "proxmox://i-1"}]
