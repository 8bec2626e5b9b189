from __future__ import annotations

from dataclasses import replace
from typing import Any

from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneReason as Reason
from nagaya.api.controlplane.hosted_control_plane import HostedControlPlane
from nagaya.controlplane.hosted.control_plane.endpoint import Listening, Machine, look
from nagaya.controlplane.hosted.host import addresses
from support.hosted_seen import cluster_of, machine, plane_of

OTHER = "0ac1a655-ff52-49dc-aec3-5816fda3d0aa"


def found(
    spec: dict[str, Any] | None = None,
    others: list[HostedControlPlane] | None = None,
    here: Machine | None = None,
    cluster: dict[str, Any] | None = None,
    started: tuple[str, ...] = (),
) -> Listening:
    return look(plane_of(spec), cluster_of(cluster), others or [], here or machine(), started)


def other(host: str, port: int, **spec: Any) -> HostedControlPlane:
    return plane_of({**spec, "controlPlaneEndpoint": {"host": host, "port": port}}, "other", OTHER)


def test_the_first_free_port_of_this_machines_address_is_taken() -> None:
    here = machine(busy=frozenset({16443}), held=frozenset({16444}))
    listening = found(here=here, others=[other("192.0.2.2", 16445)])

    assert str(listening.endpoint) == "192.0.2.2:16446"
    assert not listening.is_written


def test_without_a_free_port_it_says_how_to_go_on() -> None:
    listening = found(here=machine(busy=frozenset(range(16443, 16447))))

    assert not listening.endpoint.valid
    assert listening.reason is Reason.ADDRESS_IN_USE
    assert "from 16443 to 16446 is free. Delete control planes" in listening.message


def test_a_port_that_was_asked_for_is_not_taken_from_another() -> None:
    listening = found({"network": {"port": 6443}}, [other("192.0.2.2", 6443)])

    assert not listening.endpoint.valid
    assert "HostedControlPlane default/other has it" in listening.message


def test_two_may_have_one_port_at_different_addresses() -> None:
    listening = found({"network": {"port": 6443, "address": "192.0.2.3"}}, [other("192.0.2.2", 6443)])

    assert str(listening.endpoint) == "192.0.2.3:6443"
    assert listening.address == "192.0.2.3"


def test_a_port_at_which_another_program_listens_is_told() -> None:
    listening = found({"network": {"port": 6443}}, here=machine(busy=frozenset({6443})))

    assert "another program listens there" in listening.message


def test_what_is_written_down_stays_even_if_the_port_is_in_use_by_ourselves() -> None:
    spec = {"controlPlaneEndpoint": {"host": "192.0.2.2", "port": 16443}}
    for ours in ("192.0.2.2:16443", ""):
        listening = found(spec, here=machine(busy=frozenset({16443})), started=(ours,))

        assert (listening.is_written, listening.message) == (True, "")


def test_an_endpoint_that_was_written_beforehand_does_not_share_a_port_with_another_program() -> None:
    spec = {"controlPlaneEndpoint": {"host": "192.0.2.2", "port": 16443}}
    listening = found(spec, [other("192.0.2.2", 16500)], machine(busy=frozenset({16443})))

    assert "another program listens there" in listening.message


def test_addresses_are_compared_whatever_their_form() -> None:
    here = replace(machine(), is_own=lambda _: True)
    spec = {"controlPlaneEndpoint": {"host": "2001:DB8::0:2", "port": 16443}}
    assert found(spec, here=here).address == "2001:db8::2"
    listening = found({"network": {"port": 16443, "address": "2001:0db8::2"}}, [other("2001:DB8::0:2", 16443)], here)
    assert "HostedControlPlane default/other has it" in listening.message


def test_the_host_of_another_control_plane_may_be_any_text() -> None:
    here = replace(machine(), is_own=addresses.is_own)
    spec = {"controlPlaneEndpoint": {"host": "192.0.2.2", "port": 16443}}
    for host in ("fe80::1%\0", "192.0.2.2\0", "[", "x" * 512):
        assert found(spec, [other(host, 16443)], here, started=("192.0.2.2:16443",)).runs
        assert found({"controlPlaneEndpoint": {"host": host, "port": 16444}}, here=here).address == "192.0.2.2"


def test_a_later_change_of_the_clusters_port_does_not_lead_to_the_port_of_another() -> None:
    spec = {"controlPlaneEndpoint": {"host": "192.0.2.2", "port": 16443}}
    cluster = {"clusterNetwork": {"apiServerPort": 16444}}
    listening = found(spec, here=machine(busy=frozenset({16443, 16444})), cluster=cluster, started=("192.0.2.2:16443",))

    assert (listening.runs, listening.port) == (False, 16444)
    assert "another program listens there" in listening.message


def test_a_name_in_front_is_told_to_clients_and_the_port_behind_it_is_ours() -> None:
    spec = {"controlPlaneEndpoint": {"host": "api.example", "port": 443}, "network": {"port": 16500}}
    listening = found(spec)

    assert str(listening.endpoint) == "api.example:443"
    assert (listening.address, listening.port) == ("192.0.2.2", 16500)


def test_the_endpoint_of_the_cluster_is_taken_over() -> None:
    listening = found(cluster={"controlPlaneEndpoint": {"host": "192.0.2.3", "port": 7443}})

    assert str(listening.endpoint) == "192.0.2.3:7443"
    assert (listening.address, listening.port) == ("192.0.2.3", 7443)


def test_an_address_of_the_family_of_services_is_chosen() -> None:
    listening = found({"network": {"serviceCIDRs": ["fd00:10:96::/112"]}})

    assert listening.address == "2001:db8::2"
