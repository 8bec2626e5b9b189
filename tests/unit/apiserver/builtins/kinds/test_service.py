"""Services: what they are given, what their type demands, what may change."""

import asyncio
from typing import Any

import pytest

from nagaya.apiserver.builtins.kinds.service import ServiceStrategy
from nagaya.apiserver.builtins.kinds.service_warnings import warnings
from nagaya.apiserver.meta.status import ApiError
from support.core_kinds import CoreKinds, causes
from support.subtest_cases import subtest_cases

PORT = {"port": 80}


def service(name: str = "it", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"ports": [dict(PORT)], **spec}}


async def test_a_service_gets_an_address_and_defaults() -> None:
    made = await CoreKinds().create("services", service())
    ip = made["spec"]["clusterIP"]
    assert ip.startswith("10.")
    assert made["spec"] == {
        "clusterIP": ip,
        "clusterIPs": [ip],
        "internalTrafficPolicy": "Cluster",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        "sessionAffinity": "None",
        "type": "ClusterIP",
    }
    assert made["status"] == {"loadBalancer": {}}


async def test_a_load_balancer_gets_ports_on_nodes() -> None:
    made = await CoreKinds().create("services", service(type="LoadBalancer", externalTrafficPolicy="Local"))
    ports = {made["spec"]["ports"][0]["nodePort"], made["spec"]["healthCheckNodePort"]}
    assert len(ports) == 2
    assert all(30000 <= port <= 32767 for port in ports)
    assert made["spec"]["allocateLoadBalancerNodePorts"] is True


async def test_ports_of_two_protocols_share_a_node_port() -> None:
    ports = [{"name": "a", "port": 53}, {"name": "b", "port": 53, "protocol": "UDP", "nodePort": 30053}]
    made = await CoreKinds().create("services", service(type="NodePort", ports=ports))
    assert [port["nodePort"] for port in made["spec"]["ports"]] == [30053, 30053]


async def test_a_headless_service_gets_no_address() -> None:
    kinds = CoreKinds()
    made = await kinds.create("services", service(clusterIP="None", selector={"a": "b"}))
    assert (made["spec"]["clusterIPs"], made["spec"]["ipFamilies"]) == (["None"], ["IPv4"])
    made = await kinds.create("services", service("two", clusterIP="None"))
    assert (made["spec"]["ipFamilyPolicy"], made["spec"]["ipFamilies"]) == ("RequireDualStack", ["IPv4", "IPv6"])


async def test_what_is_taken_is_refused() -> None:
    kinds = CoreKinds()
    taken = {"clusterIP": "10.96.0.9", "type": "NodePort", "ports": [{"port": 80, "nodePort": 30009}]}
    await kinds.create("services", service(**taken))
    detail = "failed to allocate IP 10.96.0.9: provided IP is already allocated"
    found = await kinds.refused("services", service("two", clusterIP="10.96.0.9"))
    assert found == [f'spec.clusterIPs: Invalid value: ["10.96.0.9"]: {detail}']
    found = await kinds.refused("services", service("two", type="NodePort", ports=taken["ports"]))
    assert found == ["spec.ports[0].nodePort: Invalid value: 30009: provided port is already allocated"]
    await kinds.delete("services", "it")
    await kinds.create("services", service("two", **taken))


async def test_of_two_requests_at_the_same_time_one_gets_the_address() -> None:
    kinds = CoreKinds()
    tries = (kinds.create("services", service(name, clusterIP="10.96.0.9")) for name in ("a", "b", "c"))
    results = await asyncio.gather(*tries, return_exceptions=True)
    refusals = [each for each in results if isinstance(each, ApiError)]
    assert len(refusals) == 2
    assert all("already allocated" in causes(each)[0] for each in refusals)


async def test_a_refused_service_leaves_nothing_reserved() -> None:
    kinds = CoreKinds()
    bad = service(clusterIP="10.96.0.9", sessionAffinity="Foo")
    found = await kinds.refused("services", bad)
    assert found == ['spec.sessionAffinity: Unsupported value: "Foo": supported values: "ClientIP", "None"']
    await kinds.create("services", service(clusterIP="10.96.0.9"))


async def test_the_same_service_sent_again_keeps_what_it_was_given() -> None:
    kinds = CoreKinds()
    made = await kinds.create("services", service(type="NodePort"))
    patch = {"spec": {"clusterIP": None, "clusterIPs": None, "ports": [PORT]}}
    assert (await kinds.change("services", "it", patch))["spec"] == made["spec"]


async def test_an_address_does_not_change() -> None:
    kinds = CoreKinds()
    await kinds.create("services", service(clusterIP="10.96.0.9"))
    found = await kinds.change_refused("services", "it", {"spec": {"clusterIP": "10.96.0.10"}})
    assert found == ['spec.clusterIPs[0]: Invalid value: ["10.96.0.10"]: may not change once set']


async def test_a_change_of_type_drops_what_it_has_no_use_for() -> None:
    kinds = CoreKinds()
    await kinds.create("services", service(type="LoadBalancer", externalTrafficPolicy="Local", loadBalancerClass="a/b"))
    ingress = {"status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}}
    assert (await kinds.change("services", "it", ingress, "status"))["status"]["loadBalancer"]["ingress"] == [
        {"ip": "1.2.3.4", "ipMode": "VIP"}
    ]
    changed = await kinds.change("services", "it", {"spec": {"type": "ClusterIP"}})
    assert changed["status"] == {"loadBalancer": {}}
    assert changed["spec"].keys() == (await kinds.create("services", service("two")))["spec"].keys()
    changed = await kinds.change("services", "it", {"spec": {"type": "ExternalName", "externalName": "a.b"}})
    assert changed["spec"].keys() == {"externalName", "ports", "sessionAffinity", "type"}
    changed = await kinds.change("services", "it", {"spec": {"type": "ClusterIP"}})
    assert changed["spec"]["clusterIP"].startswith("10.")


@subtest_cases(
    ("spec", "found"),
    [
        ({"ports": []}, ["spec.ports: Required value"]),
        ({"type": "ExternalName"}, ["spec.externalName: Required value"]),
        ({"ipFamilyPolicy": "RequireDualStack"}, ["this cluster is not configured for dual-stack services"]),
        ({"ipFamilies": ["IPv6"]}, ["not configured on this cluster"]),
        ({"ports": [PORT, {"port": 81}]}, ["spec.ports[0].name: Required value", "spec.ports[1].name: Required value"]),
        (
            {"ports": [{"port": 80, "name": "a"}, {"port": 80, "name": "b"}]},
            [
                'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,'
                '"TargetPort":0,"NodePort":0}'
            ],
        ),
        ({"externalIPs": ["127.0.0.1"]}, ["may not be in the loopback range (127.0.0.0/8, ::1/128)"]),
        ({"loadBalancerClass": "a/b"}, ["may only be used when `type` is 'LoadBalancer'"]),
        ({"externalTrafficPolicy": "Local"}, ["may only be set for externally-accessible services"]),
        ({"type": "NodePort", "clusterIP": "None"}, ["may not be set to 'None' for NodePort services"]),
    ],
)
async def test_what_is_wrong_with_a_service_is_said(spec: dict[str, Any], found: list[str]) -> None:
    told = await CoreKinds().refused("services", service(**spec))
    assert [each[-len(due) :] for each, due in zip(told, found, strict=True)] == found


def test_what_is_unwise_is_said() -> None:
    spec = {"type": "ClusterIP", "clusterIP": "None", "sessionAffinity": "ClientIP", "externalIPs": ["1.2.3.4"]}
    assert warnings({"metadata": {}, "spec": {**spec, "externalName": "x", "trafficDistribution": "PreferClose"}}) == [
        "spec.externalIPs is ignored for headless services",
        "spec.SessionAffinity is ignored for headless services",
        'spec.externalName is ignored when spec.type is not "ExternalName"',
        'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',
    ]


def test_services_can_be_selected_by_type_and_address() -> None:
    strategy = ServiceStrategy()
    assert strategy.select({"spec": {"type": "NodePort", "clusterIP": "10.96.0.1"}}) == {
        "spec.type": "NodePort",
        "spec.clusterIP": "10.96.0.1",
    }
    with pytest.raises(ValueError, match=r"field label not supported: spec\.ports"):
        strategy.field_label("spec.ports")
