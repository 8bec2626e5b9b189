"""Endpoints."""

from typing import cast

from nagaya.apiserver.builtins.kinds.endpoints import reachable
from nagaya.apiserver.meta.field_errors import Path
from nagaya.apiserver.registry.call import Call
from support.core_kinds import CoreKinds
from support.subtest_cases import subtest_cases

NO_CALL = cast(Call, None)  # what is tested does not look at it


@subtest_cases(
    ("address", "problem"),
    [
        ("1.2.3.4", ""),
        ("224.0.1.1", ""),
        ("x", "must be a valid IP address"),
        ("0.0.0.0", "may not be unspecified (0.0.0.0)"),
        ("::1", "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        ("::ffff:127.0.0.1", "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        ("169.254.1.1", "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        ("224.0.0.5", "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
        ("ff02::1", "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
    ],
)
def test_an_endpoint_can_be_reached_by_others(address: str, problem: str) -> None:
    assert [error.detail for error in reachable(Path("ip"), address)] == ([problem] if problem else [])


async def test_ports_are_tcp_and_several_have_names() -> None:
    kinds = CoreKinds()
    made = await kinds.create("endpoints", {"subsets": [{"addresses": [{"ip": "1.2.3.4"}], "ports": [{"port": 80}]}]})
    assert made["subsets"][0]["ports"] == [{"port": 80, "protocol": "TCP"}]
    two = [{"port": 80}, {"port": 0, "name": "a", "protocol": "Odd"}]
    found = await kinds.refused("endpoints", {"metadata": {"name": "b"}, "subsets": [{"ports": two}]})
    assert found == [
        "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`",
        "subsets[0].ports[0].name: Required value",
        "subsets[0].ports[1].port: Invalid value: 0: must be between 1 and 65535, inclusive",
        'subsets[0].ports[1].protocol: Unsupported value: "Odd": supported values: "SCTP", "TCP", "UDP"',
    ]


async def test_addresses_in_odd_forms_are_warned_of_unless_the_controller_wrote_them() -> None:
    kinds = CoreKinds()
    made = await kinds.create("endpoints", {"subsets": [{"addresses": [{"ip": "2001:DB8::1"}]}]})
    strategy = kinds.resource("endpoints").strategy
    assert strategy.warn_create(made, NO_CALL) == [
        'subsets[0].addresses[0].ip: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")'
    ]
    made["metadata"]["labels"] = {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}
    assert strategy.warn_create(made, NO_CALL) == []
