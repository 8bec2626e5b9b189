"""What a network policy may say."""

from typing import Any

from nagaya.apiserver.builtins.kinds.network_policy_rules import rules


def found(old: dict[str, Any] | None = None, **spec: Any) -> list[str]:
    return [str(error) for error in rules({"podSelector": {}, **spec}, old)]


def ports(*ports: dict[str, Any]) -> list[str]:
    return found(ingress=[{"ports": [{"protocol": "TCP", **port} for port in ports]}])


def test_a_range_of_ports_has_numbers_in_order() -> None:
    assert ports({"port": 80, "endPort": 90}) == []
    where = "spec.ingress[0].ports[0].endPort"
    assert ports({"port": 90, "endPort": 80}) == [
        f"{where}: Invalid value: 90: must be greater than or equal to `port`"
    ]
    assert ports({"port": "http", "endPort": 80}) == [
        f"{where}: Invalid value: 80: may not be specified when `port` is non-numeric"
    ]
    assert ports({"endPort": 80}) == [f"{where}: Invalid value: 80: may not be specified when `port` is not specified"]


def test_protocols_are_known_ones() -> None:
    supported = 'supported values: "TCP", "UDP", "SCTP"'
    assert ports({"protocol": "ICMP"}) == [f'spec.ingress[0].ports[0].protocol: Unsupported value: "ICMP": {supported}']


def test_a_peer_is_chosen_by_selectors_or_by_network() -> None:
    block = {"ipBlock": {"cidr": "10.0.0.0/8"}}
    assert found(egress=[{"to": [{}, block, {**block, "podSelector": {}}, {"podSelector": {}}]}]) == [
        "spec.egress[0].to[0]: Required value: must specify a peer",
        "spec.egress[0].to[2]: Forbidden: may not specify both ipBlock and another peer",
    ]


def test_exceptions_are_smaller_parts_of_the_network() -> None:
    block = {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16", "11.0.0.0/16", "10.0.0.0/8"]}
    where = "spec.ingress[0].from[0].ipBlock"
    assert found(ingress=[{"from": [{"ipBlock": block}]}]) == [
        f'{where}.except[1]: Invalid value: "11.0.0.0/16": must be a strict subset of `cidr`',
        f'{where}.except[2]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`',
    ]


def test_networks_in_odd_forms_may_only_stay() -> None:
    spec: dict[str, Any] = {"ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.1/8"}}]}]}
    detail = "must not have bits set beyond the prefix length"
    assert found(**spec) == [f'spec.ingress[0].from[0].ipBlock.cidr: Invalid value: "10.0.0.1/8": {detail}']
    assert found({"podSelector": {}, **spec}, **spec) == []


def test_policy_types_are_two_at_most() -> None:
    assert found(policyTypes=["Ingress", "Sideways"]) == [
        'spec.policyTypes[1]: Unsupported value: "Sideways": supported values: "Ingress", "Egress"'
    ]
    assert found(policyTypes=["Ingress", "Egress", "Ingress"]) == [
        'spec.policyTypes: Invalid value: ["Ingress","Egress","Ingress"]: may not specify more than two policyTypes'
    ]
