"""Where the API of a tenant of pods is reached."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.controlplane.hosted.pods.endpoint import Reached, agents_port, look, port
from support.seen_pods import cluster, control_plane, service


def reached(service_type: str, *, status: dict[str, Any] | None = None, ports: Any = (), **network: Any) -> Reached:
    spec: dict[str, Any] = {"deployment": {"service": {"type": service_type}} if service_type else {}}
    if network:
        spec["network"] = network
    found = service(ports=list(ports))
    found.raw["status"] = status or {}  # type: ignore[index]  # it is the test's own
    return look(control_plane(**spec), cluster(), found)


def balanced(**ingress: str) -> dict[str, Any]:
    return {"loadBalancer": {"ingress": [ingress]}}


@pytest.mark.parametrize(
    ("found", "endpoint", "advertised"),
    [
        (reached("ClusterIP"), "10.0.0.9:6443", "10.0.0.9"),
        (reached("ClusterIP", address="api.example", port=443), "api.example:443", "10.0.0.9"),
        (reached("", status=balanced(ip="192.0.2.3")), "192.0.2.3:6443", "192.0.2.3"),
        (reached("LoadBalancer", status=balanced(hostname="lb.example")), "lb.example:6443", "10.0.0.9"),
        (reached("", status=balanced(ip="192.0.2.3"), address="api.example"), "api.example:6443", "192.0.2.3"),
        (reached("", status=balanced(ip="2001:db8::1")), "[2001:db8::1]:6443", "2001:db8::1"),
        (
            reached("NodePort", ports=[{"name": "https", "nodePort": 31000}], address="192.0.2.4"),
            "192.0.2.4:31000",
            "192.0.2.4",
        ),
    ],
)
def test_the_service_says_where_the_api_is(found: Reached, endpoint: str, advertised: str) -> None:
    assert found.message == ""
    assert str(found.endpoint) == endpoint
    assert found.advertised == advertised
    assert not found.is_written


@pytest.mark.parametrize(
    ("found", "reason", "words"),
    [
        (look(control_plane(), cluster(), None), "WaitingForEndpoint", "The Service is being made."),
        (reached(""), "WaitingForLoadBalancer", "set spec.deployment.service.type"),
        (reached("NodePort", ports=[{"name": "https", "nodePort": 31000}]), "AddressMissing", "spec.network.address"),
        (reached("NodePort", address="192.0.2.4"), "WaitingForEndpoint", "port of the Service"),
    ],
)
def test_what_is_not_known_yet_is_waited_for_by_name(found: Reached, reason: str, words: str) -> None:
    assert not found.endpoint.valid
    assert found.reason == reason
    assert words in found.message


def test_agents_of_the_tunnel_come_by_the_port_of_the_nodes_if_that_is_the_way() -> None:
    ports = [{"name": "https", "nodePort": 31000}, {"name": "agents", "nodePort": 31001}]
    node_port = control_plane(deployment={"service": {"type": "NodePort"}})
    assert agents_port(node_port, service(ports=ports)) == 31001
    assert agents_port(control_plane(), service(ports=ports)) is None
    assert agents_port(node_port, None) is None


def test_what_is_written_stays_whatever_the_service_says() -> None:
    plane = control_plane(controlPlaneEndpoint={"host": "old.example", "port": 443})
    found = look(plane, cluster(), service())
    assert found.is_written
    assert str(found.endpoint) == "old.example:443"
    assert found.advertised == "10.0.0.9"


def test_the_clusters_own_endpoint_is_taken_over() -> None:
    found = look(control_plane(), cluster(controlPlaneEndpoint={"host": "192.0.2.1", "port": 443}), service())
    assert str(found.endpoint) == "192.0.2.1:443"
    assert not found.is_written


def test_api_servers_listen_at_the_port_of_the_nodes_once_it_is_known() -> None:
    node_port = {"deployment": {"service": {"type": "NodePort"}}}
    assert port(control_plane(**node_port), cluster()) == 6443
    known = control_plane(**node_port, controlPlaneEndpoint={"host": "192.0.2.1", "port": 31000})
    assert port(known, cluster()) == 31000
    assert port(control_plane(controlPlaneEndpoint={"host": "a", "port": 443}), cluster()) == 6443
    assert port(control_plane(), cluster(clusterNetwork={"apiServerPort": 8443})) == 8443
