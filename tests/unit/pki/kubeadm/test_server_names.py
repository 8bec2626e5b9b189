from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.pki import certificates
from nagaya.pki.kubeadm.inputs import Inputs
from nagaya.pki.kubeadm.server_names import api_server_names, etcd_peer_names, etcd_server_names

INPUTS = Inputs(advertise_address="10.1.2.3", node_name="node-a")


def test_the_api_server_is_reached_by_its_service_its_machine_and_its_endpoint() -> None:
    names = api_server_names(replace(INPUTS, endpoint_host="api.example", api_server_sans=("10.9.9.9", "b.example")))
    assert names.dns_names == (
        "api.example",
        "b.example",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
        "node-a",
    )
    assert names.ip_addresses == ("10.96.0.1", "10.1.2.3", "10.9.9.9")


def test_what_a_hosted_control_plane_does_not_have_is_left_out() -> None:
    names = api_server_names(Inputs(dns_domain=""))
    assert names.dns_names == ("kubernetes", "kubernetes.default", "kubernetes.default.svc")
    assert names.ip_addresses == ("10.96.0.1",)


def test_an_endpoint_may_be_an_address_and_nothing_is_said_twice() -> None:
    names = api_server_names(
        replace(INPUTS, endpoint_host="FD00::0003", api_server_sans=("fd00::3", "::ffff:10.1.2.3", "kubernetes"))
    )
    assert names.ip_addresses == ("10.96.0.1", "10.1.2.3", "fd00::3")
    assert names.dns_names.count("kubernetes") == 1


def test_etcd_is_reached_at_its_machine_and_from_it() -> None:
    inputs = replace(INPUTS, etcd_server_sans=("127.0.0.1", "s.example"), etcd_peer_sans=("10.7.7.7",))
    server, peer = etcd_server_names(inputs), etcd_peer_names(inputs)
    assert server.dns_names == ("localhost", "node-a", "s.example")
    assert server.ip_addresses == ("10.1.2.3", "127.0.0.1", "::1")
    assert peer.dns_names == ("localhost", "node-a")
    assert peer.ip_addresses == ("10.1.2.3", "127.0.0.1", "::1", "10.7.7.7")


@pytest.mark.parametrize("host", ["a_b", "", "Upper.example", "*.*.example", "a..b", "fe80::1%eth0", "x" * 254])
def test_what_is_neither_an_address_nor_a_name_is_refused(host: str) -> None:
    with pytest.raises(ValueError, match="is neither an IP address nor a DNS name"):
        api_server_names(replace(INPUTS, api_server_sans=(host,)))


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="'node' is not an IP address"):
        etcd_server_names(replace(INPUTS, advertise_address="node"))


@given(st.lists(st.ip_addresses().map(str) | st.from_regex(r"\A(\*\.)?[a-z]([-a-z0-9]{0,20}[a-z0-9])?\Z"), max_size=8))
def test_whatever_is_taken_fits_into_a_certificate(hosts: list[str]) -> None:
    names = api_server_names(replace(INPUTS, api_server_sans=tuple(hosts)))
    extension = certificates.alternative_names(names.dns_names, names.ip_addresses)
    assert extension is not None
    assert len(set(extension)) == len(list(extension))
