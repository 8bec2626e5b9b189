"""Network policies: their types, and how they count."""

from support.core_kinds import CoreKinds

NAME = "networkpolicies.networking.k8s.io"


async def test_a_policy_is_about_what_comes_in_and_about_what_goes_out_if_it_has_a_rule_for_it() -> None:
    kinds = CoreKinds()
    made = await kinds.create(NAME, {"spec": {"podSelector": {}}})
    assert made["spec"] == {"podSelector": {}, "policyTypes": ["Ingress"]}
    made = await kinds.create(NAME, {"metadata": {"name": "out"}, "spec": {"podSelector": {}, "egress": [{}]}})
    assert made["spec"]["policyTypes"] == ["Ingress", "Egress"]


async def test_a_port_is_of_tcp_unless_it_says_otherwise() -> None:
    ports = [{"port": 80}, {"port": "dns", "protocol": "UDP"}]
    made = await CoreKinds().create(NAME, {"spec": {"podSelector": {}, "ingress": [{"ports": ports}]}})
    assert made["spec"]["ingress"][0]["ports"] == [
        {"port": 80, "protocol": "TCP"},
        {"port": "dns", "protocol": "UDP"},
    ]


async def test_the_generation_counts_changes() -> None:
    kinds = CoreKinds()
    await kinds.create(NAME, {"spec": {"podSelector": {}}})
    changed = await kinds.change(NAME, "it", {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}})
    assert changed["metadata"]["generation"] == 2
