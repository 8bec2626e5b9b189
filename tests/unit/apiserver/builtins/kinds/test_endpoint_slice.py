"""EndpointSlices, by their strategy alone."""

from typing import Any, cast

import pytest

from nagaya.apiserver.builtins import decode, facts
from nagaya.apiserver.builtins.kinds.endpoint_slice import EndpointSliceStrategy
from nagaya.apiserver.meta.gvk import GroupVersionKind
from nagaya.apiserver.registry.call import Call

STRATEGY = EndpointSliceStrategy()
STRUCT = facts.struct_of(GroupVersionKind("discovery.k8s.io", "v1", "EndpointSlice"))
NO_CALL = cast(Call, None)


def read(**members: Any) -> dict[str, Any]:
    obj, _ = decode.normalise(STRUCT, {"metadata": {"name": "it"}, "addressType": "IPv4", **members})
    STRATEGY.default(obj)
    return obj


def found(**members: Any) -> list[str]:
    return [str(error) for error in STRATEGY.validate_create(read(**members), NO_CALL, [])]


def test_a_port_has_a_name_and_is_tcp() -> None:
    assert read(ports=[{"port": 80}])["ports"] == [{"port": 80, "name": "", "protocol": "TCP"}]
    assert found(ports=[{"port": 80}, {"port": 81}]) == ['ports[1].name: Duplicate value: ""']


@pytest.mark.parametrize(
    ("kind", "address", "problem"),
    [
        ("IPv4", "1.2.3.4", ""),
        ("IPv4", "2001:db8::1", 'endpoints[0].addresses: Invalid value: "2001:db8::1": must be an IPv4 address'),
        ("IPv6", "2001:db8::1", ""),
        ("IPv6", "1.2.3.4", 'endpoints[0].addresses: Invalid value: "1.2.3.4": must be an IPv6 address'),
        ("FQDN", "example.com.", ""),
        (
            "FQDN",
            "com",
            'endpoints[0].addresses[0]: Invalid value: "com": '
            "should be a domain with at least two segments separated by dots",
        ),
        ("Odd", "x", 'addressType: Unsupported value: "Odd": supported values: "FQDN", "IPv4", "IPv6"'),
    ],
)
def test_addresses_are_of_the_slices_type(kind: str, address: str, problem: str) -> None:
    told = found(addressType=kind, endpoints=[{"addresses": [address]}])
    assert told == ([problem] if problem else [])


def test_there_is_a_limit_to_everything() -> None:
    many = [f"1.2.3.{number}" for number in range(1, 102)]
    assert found(endpoints=[{"addresses": many}]) == [
        "endpoints[0].addresses: Too many: 101: must have at most 100 items"
    ]
    hints = {"forZones": [{"name": f"z{number}"} for number in range(9)]}
    assert found(endpoints=[{"addresses": ["1.2.3.4"], "hints": hints}]) == [
        "endpoints[0].hints.forZones: Too many: 9: must have at most 8 items"
    ]


def test_the_generation_counts_changes_of_content_and_labels() -> None:
    old = read(endpoints=[{"addresses": ["1.2.3.4"]}])
    STRATEGY.prepare_create(old, NO_CALL)
    assert old["metadata"]["generation"] == 1

    def after(**change: Any) -> Any:
        new = read(endpoints=old["endpoints"], **change)
        new["metadata"] = {**old["metadata"], **new["metadata"]}
        STRATEGY.prepare_update(new, old, NO_CALL)
        return new["metadata"]["generation"]

    assert after() == 1
    assert after(metadata={"name": "it", "annotations": {"a": "b"}}) == 1
    assert after(metadata={"name": "it", "labels": {"a": "b"}}) == 2
    assert after(ports=[{"port": 1}]) == 2


def test_the_old_topology_is_not_kept() -> None:
    made = read(endpoints=[{"addresses": ["1.2.3.4"], "deprecatedTopology": {"kubernetes.io/hostname": "h"}}])
    STRATEGY.prepare_create(made, NO_CALL)
    assert made["endpoints"] == [{"addresses": ["1.2.3.4"], "conditions": {}}]


def test_a_nodes_name_that_was_only_said_there_is_kept() -> None:
    topology = {"kubernetes.io/hostname": "h"}
    old = read(endpoints=[{"addresses": ["1.2.3.4"], "deprecatedTopology": topology}])
    new = read(endpoints=[{"addresses": ["1.2.3.5"], "deprecatedTopology": topology}])
    STRATEGY.prepare_update(new, old, NO_CALL)
    assert new["endpoints"][0]["nodeName"] == "h"


def test_the_type_of_addresses_stays() -> None:
    old, new = read(), read(addressType="IPv6")
    told = [str(error) for error in STRATEGY.validate_update(new, old, NO_CALL, [])]
    assert told == ['addressType: Invalid value: "IPv6": field is immutable']
