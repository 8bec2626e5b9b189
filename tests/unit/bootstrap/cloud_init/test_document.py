from __future__ import annotations

import base64
from typing import Any

import jinja2
import msgspec
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
from nagaya.bootstrap.installation import FromPackages
from nagaya.bootstrap.preparation import KubeletFacts
from nagaya.pki.key_pair import KeyPair
from support.recorded_boots import machine

VERSION = "v1.36.3"
HOSTILE = st.one_of(
    st.text(min_size=1, max_size=30),
    st.text(alphabet=st.sampled_from(" \t\n:#-'\"{}%|>\\a0.~,[]&*!?\r\x00\x85\u2028é"), min_size=1, max_size=20),
    st.sampled_from(
        ["null", "~", "yes", "0640", "1e3", "## template: jinja", "#cloud-config", "---", "{{", "{% raw %}"]
    ),
)


def _read(role: str, spec: KubeadmConfigSpec, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(render(machine(role, VERSION, spec, **more)))
    return found


def _booted(rendered: bytes, **variables: Any) -> Any:
    """What cloud-init reads: Jinja first, with its settings, then YAML."""
    header, _, rest = rendered.decode().partition("\n")
    assert header == "## template: jinja"
    template = jinja2.Environment(trim_blocks=True, extensions=["jinja2.ext.do"], autoescape=False).from_string(rest)
    return yaml.safe_load(template.render(variables))


@settings(max_examples=40)
@given(st.data())
def test_hostile_texts_come_back_from_everywhere(data: st.DataObject) -> None:
    def some() -> str:
        return data.draw(HOSTILE)

    file = File(path=some(), owner=some(), permissions=some(), content=some())
    user = User(name=some(), gecos=some(), passwd=some(), sudo=some(), ssh_authorized_keys=(some(), some()))
    spec = KubeadmConfigSpec(
        files=(file,),
        users=(user,),
        ntp=NTP(enabled=True, servers=(some(),)),
        mounts=((some(), some()),),
        boot_commands=(some(),),
        pre_kubeadm_commands=(some(), some()),
        post_kubeadm_commands=(some(),),
        disk_setup=DiskSetup(filesystems=(Filesystem(device=some(), filesystem=some(), extra_opts=(some(),)),)),
    )
    found = _read("worker", spec)
    content = file.content if file.content.endswith("\n") else file.content + "\n"
    assert found["write_files"][0] == {
        "path": file.path,
        "owner": file.owner,
        "permissions": file.permissions,
        "content": content,
    }
    assert found["users"] == [
        {
            "name": user.name,
            "passwd": user.passwd,
            "gecos": user.gecos,
            "sudo": user.sudo,
            "ssh_authorized_keys": list(user.ssh_authorized_keys),
        }
    ]
    assert found["ntp"]["servers"] == list(spec.ntp.servers)
    assert found["mounts"] == [list(each) for each in spec.mounts]
    assert found["bootcmd"] == list(spec.boot_commands)
    assert found["runcmd"][:2] == list(spec.pre_kubeadm_commands)
    assert found["runcmd"][3:] == list(spec.post_kubeadm_commands)
    assert found["fs_setup"][0]["extra_opts"] == list(spec.disk_setup.filesystems[0].extra_opts)


@settings(max_examples=40)
@given(HOSTILE, HOSTILE)
def test_hostile_texts_come_back_from_kubeadms_documents(name: str, value: str) -> None:
    spec = msgspec.convert(
        {
            "initConfiguration": {
                "nodeRegistration": {"name": name, "kubeletExtraArgs": [{"name": name, "value": value}]}
            },
            "clusterConfiguration": {"apiServer": {"extraArgs": [{"name": name, "value": value}]}},
        },
        KubeadmConfigSpec,
    )
    for version in (VERSION, "v1.30.0"):
        found = yaml.safe_load(render(machine("init", version, spec)))
        cluster, first = yaml.safe_load_all(found["write_files"][0]["content"])
        expected: Any = {name: value} if version == "v1.30.0" else [{"name": name, "value": value}]
        assert first["nodeRegistration"]["name"] == name
        assert first["nodeRegistration"]["kubeletExtraArgs"] == expected
        assert cluster["apiServer"]["extraArgs"] == expected


@settings(max_examples=40)
@given(st.binary(max_size=60) | HOSTILE.map(str.encode), st.binary(max_size=60))
def test_what_nagaya_inserts_is_no_template(certificate: bytes, key: bytes) -> None:
    certificates = ControlPlaneCertificates(cluster_authority=KeyPair(certificate, key))
    rendered = render(machine("init", VERSION, KubeadmConfigSpec(), certificates=certificates))
    files = {each["path"]: each for each in _booted(rendered)["write_files"]}
    for name, content in (("ca.crt", certificate), ("ca.key", key)):
        file = files.get(f"/etc/kubernetes/pki/{name}")
        if file is None:
            assert not content
        elif file.get("encoding") == "base64":
            assert base64.b64decode(file["content"]) == content
        else:
            assert file["content"].encode() == content


def test_what_the_user_wrote_is_a_template() -> None:
    spec = msgspec.convert(
        {
            "joinConfiguration": {"nodeRegistration": {"name": '{{ ds["meta_data"].local_hostname }}'}},
            "files": [
                {"path": "/etc/id", "content": "{% if ds %}\n\tid: {{ ds['meta_data'].instance_id }}\n{% endif %}"}
            ],
            "preKubeadmCommands": ['hostname "{{ ds.meta_data["local_hostname"] }}"'],
        },
        KubeadmConfigSpec,
    )
    rendered = render(
        machine("worker", VERSION, spec, kubelet=KubeletFacts(provider_id="p://{{ ds.meta_data.instance_id }}"))
    )
    found = _booted(rendered, ds={"meta_data": {"local_hostname": "host-1", "instance_id": "i-1"}})
    files = {each["path"]: each["content"] for each in found["write_files"]}
    assert files["/etc/id"].split() == ["id:", "i-1"]
    registration = yaml.safe_load(files["/run/kubeadm/kubeadm-join-config.yaml"])["nodeRegistration"]
    assert registration["name"] == "host-1"
    assert registration["kubeletExtraArgs"] == [{"name": "provider-id", "value": "p://i-1"}]
    assert found["runcmd"][0] == 'hostname "host-1"'


def test_nothing_but_the_users_words_is_touched_by_jinja() -> None:
    spec = KubeadmConfigSpec(files=(File(path="/a", content="plain"),), verbosity=2)
    rendered = render(machine("init", VERSION, spec, installation=FromPackages()))
    assert _booted(rendered) == yaml.safe_load(rendered)


def test_installation_comes_before_the_users_commands_and_files() -> None:
    spec = KubeadmConfigSpec(pre_kubeadm_commands=("mine",), files=(File(path="/etc/crictl.yaml", content="mine"),))
    found = _read("worker", spec, installation=FromPackages())
    assert isinstance(found["runcmd"][0], list)
    assert found["runcmd"][1] == "mine"
    # Written in this order: the last one stays.
    assert [each["content"] for each in found["write_files"] if each["path"] == "/etc/crictl.yaml"][-1] == "mine\n"


@pytest.mark.parametrize(("role", "command"), [("init", "kubeadm init"), ("worker", "kubeadm join")])
def test_success_is_told_by_a_file(role: str, command: str) -> None:
    (line,) = _read(role, KubeadmConfigSpec())["runcmd"]
    assert line.startswith(command)
    assert line.endswith(" && echo success > /run/cluster-api/bootstrap-success.complete")


def test_text_files_end_in_a_newline_and_encoded_ones_stay() -> None:
    files = (
        File(path="/a", content="x"),
        File(path="/b", content="eA==", encoding="base64"),
        File(path="/c", content=""),
    )
    found = {each["path"]: each["content"] for each in _read("worker", KubeadmConfigSpec(files=files))["write_files"]}
    assert (found["/a"], found["/b"], found["/c"]) == ("x\n", "eA==", "")


def test_an_inactive_account_is_told_in_days() -> None:
    users = (User(name="a", inactive=True, lock_password=True), User(name="b", inactive=False, lock_password=False))
    assert _read("worker", KubeadmConfigSpec(users=users))["users"] == [
        {"name": "a", "inactive": "0", "lock_passwd": True},
        {"name": "b", "lock_passwd": False},
    ]


def test_codes_of_partitions_keep_their_digits() -> None:
    layout = tuple(PartitionSpec(percentage=10, partition_type=each) for each in ("Linux", "NTFS", "LVM", "Fat32", ""))
    setup = DiskSetup(partitions=(Partition(device="/dev/sdb", disk_layout=layout),))
    found = _read("worker", KubeadmConfigSpec(disk_setup=setup))["disk_setup"]["/dev/sdb"]
    assert found == {"layout": [[10, 83], [10, "07"], [10, "8e"], [10, "0c"], 10]}


def test_the_same_machine_gives_the_same_bytes() -> None:
    spec = KubeadmConfigSpec(users=(User(name="a"),), files=(File(path="/a", content="x"),))
    assert render(machine("init", VERSION, spec)) == render(machine("init", VERSION, spec))
