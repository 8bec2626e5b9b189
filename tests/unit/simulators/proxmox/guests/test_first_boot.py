from __future__ import annotations

import pytest

from nagaya.simulators.proxmox.guests.first_boot import SCRIPT_FAILED, FirstBoot, read
from nagaya.simulators.proxmox.guests.instance import meta_data
from nagaya.simulators.proxmox.qemu.cloud_init import BootData

JOIN = """\
write_files:
- path: /run/kubeadm/kubeadm-join-config.yaml
  content: |
    apiVersion: kubeadm.k8s.io/v1beta4
    kind: JoinConfiguration
    discovery: {bootstrapToken: {apiServerEndpoint: "API.example:443", token: abcdef.0123456789abcdef}}
    nodeRegistration:
      name: "{{ ds.meta_data.local_hostname }}"
      kubeletExtraArgs:
      - {name: provider-id, value: "proxmox://{{ v1.instance_id }}"}
      - {name: node-ip, value: "192.0.2.7,2001:db8::7"}
"""
META = "instance-id: i-1\nlocal-hostname: ship-1\n"


def boot(user: str, meta: str = META) -> FirstBoot:
    return read(BootData(user, "", meta), "ship-1")


def test_what_kubeadm_is_told_has_its_variables_put_in() -> None:
    call = boot(f"## template: jinja\n#cloud-config\n{JOIN}runcmd: [kubeadm join --config x && echo success]\n").call
    assert call is not None
    assert (call.endpoint, call.node, call.provider_id) == ("api.example:443", "ship-1", "proxmox://i-1")
    assert call.node_address == "192.0.2.7"
    assert call.boot.token == "abcdef.0123456789abcdef"


def test_commands_end_as_the_last_of_them_does() -> None:
    assert boot(f"#cloud-config\n{JOIN}runcmd: [true, kubeadm join --config x]\n".replace("true", "'true'")).call
    data = f"#cloud-config\n{JOIN}runcmd: [kubeadm join --config x, echo bye]\n"
    assert not boot(data).ends_with_kubeadm
    assert boot(data.replace(", echo bye", "")).ends_with_kubeadm


def test_data_without_kubeadm_are_somebodys_own() -> None:
    for user in ("", "#cloud-config\nhostname: a\n", "#!/bin/sh\necho hello\n"):
        found = boot(user)
        assert (found.call, found.errors, found.log) == (None, (), "")


@pytest.mark.parametrize(
    ("user", "told"),
    [
        (
            "#cloud-config\nwrite_files:\n- {path: /x, content: abc, encoding: b64}\n",
            ["('write-files', Error('Incorrect padding'))"],
        ),
        (
            "#cloud-config\nwrite_files:\n- {path: /x, content: abc, encoding: b64}\nruncmd: [kubeadm join]\n",
            ["('write-files', Error('Incorrect padding'))", SCRIPT_FAILED],
        ),
        (
            "#cloud-config\nwrite_files:\n- {path: /x, content: YWJj, encoding: gz+b64}\n",
            ["('write-files', DecompressionError(\"Not a gzipped file (b'ab')\"))"],
        ),
        (
            "#cloud-config\nruncmd: [1]\n",
            ["('runcmd', TypeError('Failed to shellify [1] into file /var/lib/cloud/instances/i-1/scripts/runcmd'))"],
        ),
        (
            "#cloud-config\nbootcmd: {a: 1}\n",
            ["('bootcmd', TypeError(\"Input to shellify was type 'dict'. Expected list or tuple.\"))"],
        ),
        (
            "#cloud-config\nbootcmd: [1]\n",
            ["('bootcmd', TypeError(\"Unable to shellify type 'int'. Expected list, string, tuple. Got: 1\"))"],
        ),
    ],
)
def test_a_module_that_fails_is_an_error_in_the_words_of_cloud_init(user: str, told: list[str]) -> None:
    found = boot(user)
    assert [*found.errors] == told
    assert found.call is None


@pytest.mark.parametrize(
    ("user", "said"),
    [
        ("#cloud-config\na: [1\nb: {\n", 'Failed loading yaml blob. Invalid format at line 2 column 4: "while parsing'),
        ("#cloud-config\n- a\n", "Yaml load allows (<class 'dict'>,) root types, but got list instead"),
        ("hello there\n", "Unhandled non-multipart (text/x-not-multipart) userdata: 'b'hello there'...'"),
    ],
)
def test_data_that_are_no_cloud_config_are_only_warned_of(user: str, said: str) -> None:
    found = boot(user)
    assert (found.call, found.errors) == (None, ())
    assert said in found.log


def test_a_configuration_that_kubeadm_cannot_read_fails_its_command() -> None:
    broken = JOIN.replace("    nodeRegistration:\n", "    nodeRegistration: [\n")
    found = boot(f"#cloud-config\n{broken}")
    assert found.errors == (SCRIPT_FAILED,)
    assert "is not YAML" in found.output


def test_facts_about_the_machine_are_found_under_one_name_in_both_forms() -> None:
    drive = BootData("", "", '{"uuid": "u", "hostname": "h", "network_config": {"content_path": "x"}}', "", "config-2")
    assert meta_data(drive) == {"uuid": "u", "hostname": "h", "instance-id": "u", "local-hostname": "h"}
    assert meta_data(BootData("", "", META)) == {"instance-id": "i-1", "local-hostname": "ship-1"}
    assert meta_data(BootData("", "", "a: [")) == {"instance-id": "nocloud"}
