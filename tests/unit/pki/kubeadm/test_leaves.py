from __future__ import annotations

from datetime import timedelta

import pytest

from nagaya.pki.kubeadm.inputs import Inputs
from nagaya.pki.kubeadm.leaves import API_SERVER, API_SERVER_KUBELET_CLIENT, ETCD_PEER, LEAVES, WITHOUT_ETCD
from nagaya.pki.usages import Usage

INPUTS = Inputs(advertise_address="10.1.2.3", node_name="node-a", leaf_validity=timedelta(days=7))


def test_every_leaf_says_what_kubeadm_says() -> None:
    table = [
        (leaf.name, leaf.authority.name, spec.common_name, {*spec.usages} & {Usage.SERVER_AUTH, Usage.CLIENT_AUTH})
        for leaf, spec in ((each, each.spec(INPUTS)) for each in LEAVES)
    ]
    server, client = {Usage.SERVER_AUTH}, {Usage.CLIENT_AUTH}
    assert table == [
        ("apiserver", "ca", "kube-apiserver", server),
        ("apiserver-kubelet-client", "ca", "kube-apiserver-kubelet-client", client),
        ("front-proxy-client", "front-proxy-ca", "front-proxy-client", client),
        ("etcd/server", "etcd/ca", "node-a", server | client),
        ("etcd/peer", "etcd/ca", "node-a", server | client),
        ("etcd/healthcheck-client", "etcd/ca", "kube-etcd-healthcheck-client", client),
        ("apiserver-etcd-client", "etcd/ca", "kube-apiserver-etcd-client", client),
    ]


def test_no_leaf_is_in_a_group_and_all_last_as_long_as_asked() -> None:
    specs = [leaf.spec(INPUTS) for leaf in LEAVES]
    assert {spec.organizations for spec in specs} == {()}
    assert {spec.validity for spec in specs} == {timedelta(days=7)}


def test_only_servers_have_names() -> None:
    assert API_SERVER.spec(INPUTS).ip_addresses == ("10.96.0.1", "10.1.2.3")
    assert not API_SERVER_KUBELET_CLIENT.spec(INPUTS).dns_names


def test_a_hosted_control_plane_needs_no_machine_but_its_etcd_would() -> None:
    for leaf in WITHOUT_ETCD:
        assert leaf.spec(Inputs())
    with pytest.raises(ValueError, match="certificate etcd/peer is named after its machine, and no machine is given"):
        ETCD_PEER.spec(Inputs())
