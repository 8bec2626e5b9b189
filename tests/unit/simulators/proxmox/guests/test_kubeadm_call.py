from __future__ import annotations

import pytest

from nagaya.simulators.netns import cloud_config
from nagaya.simulators.proxmox.guests.kubeadm_call import KubeadmCall, normalized, read
from nagaya.simulators.tenant.boot_data import Unusable


def call(document: str, *files: str) -> KubeadmCall | None:
    text = "\n".join(f"    {line}" for line in document.splitlines())
    data = "#cloud-config\nwrite_files:\n- path: /run/kubeadm/kubeadm.yaml\n  content: |\n" + text + "\n"
    data += "".join(files)
    return read(data, cloud_config.read(data.encode(), {}), "ship-1")


@pytest.mark.parametrize(
    ("commands", "version"),
    [
        ("runcmd:\n- [/usr/local/sbin/nagaya-install-kubernetes, '1.36.4', https://pkgs.example]\n", "v1.36.4"),
        ("runcmd:\n- echo 1.36.4\n", ""),
        ("", ""),
    ],
)
def test_the_version_that_is_installed_at_boot_is_known(commands: str, version: str) -> None:
    found = call("apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n", commands)
    assert found is not None
    assert found.installed == version


@pytest.mark.parametrize(
    ("given", "same"),
    [
        ("https://API.example:8443/path", "api.example:8443"),
        ("192.0.2.1", "192.0.2.1:6443"),
        ("[2001:db8::1]:443", "[2001:db8::1]:443"),
        ("[2001:db8::1]", "[2001:db8::1]:6443"),
        ("2001:db8::1", "[2001:db8::1]:6443"),
    ],
)
def test_an_address_is_known_however_it_is_written(given: str, same: str) -> None:
    assert normalized(given) == same


def test_the_first_machine_makes_the_cluster_at_the_address_of_its_control_plane() -> None:
    found = call(
        "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\ncontrolPlaneEndpoint: vip.example:6443\n"
        "---\napiVersion: kubeadm.k8s.io/v1beta3\nkind: InitConfiguration\n"
        "nodeRegistration: {kubeletExtraArgs: {provider-id: \"proxmox://'a'\"}}\n"
    )
    assert found is not None
    assert found.boot.initializes
    assert (found.endpoint, found.provider_id, found.node) == ("vip.example:6443", "proxmox://a", "")
    assert found.authority is None


def test_the_address_may_stand_in_a_kubeconfig() -> None:
    found = call(
        "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n"
        "discovery: {file: {kubeConfigPath: /run/discovery.conf}}\n",
        "- path: /run/discovery.conf\n  content: 'clusters: [{cluster: {server: \"https://192.0.2.9:443\"}}]'\n",
    )
    assert found is not None
    assert found.endpoint == "192.0.2.9:443"


def test_data_that_name_no_address_have_none() -> None:
    found = call("apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n")
    assert found is not None
    assert found.endpoint == ""
    assert call("apiVersion: v1\nkind: ConfigMap\n") is None


def test_an_authority_that_is_none_is_said_to_be_of_no_use() -> None:
    files = "".join(f"- path: /etc/kubernetes/pki/ca.{end}\n  content: nothing\n" for end in ("crt", "key"))
    with pytest.raises(Unusable, match="the authority of the cluster in the boot data is of no use"):
        call("apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\n", files)


def test_an_address_that_is_none_cannot_be_used() -> None:
    with pytest.raises(Unusable, match="host:port is not the address of an API"):
        call(
            "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n"
            "discovery: {bootstrapToken: {apiServerEndpoint: 'host:port'}}\n"
        )
    found = call("apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\ndiscovery: {file: nothing}\n")
    assert found is not None
    assert found.endpoint == ""
