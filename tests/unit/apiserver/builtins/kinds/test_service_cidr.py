"""The networks of services."""

from support.core_kinds import CoreKinds

NAME = "servicecidrs.networking.k8s.io"


async def test_there_is_one_network_or_one_of_each_family() -> None:
    async def found(*cidrs: str) -> list[str]:
        return await CoreKinds().refused(NAME, {"spec": {"cidrs": [*cidrs]}})

    assert await found() == ["spec.cidrs: Required value: at least one CIDR required"]
    detail = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
    assert await found("10.0.0.0/24", "10.0.1.0/24") == [
        f'spec.cidrs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: {detail}'
    ]
    assert await found("10.0.0.1/24") == [
        'spec.cidrs[0]: Invalid value: "10.0.0.1/24": must not have bits set beyond the prefix length'
    ]
    three = ["10.0.0.0/24", "2001:db8::/64", "10.0.1.0/24"]
    shown = '{"CIDRs":["10.0.0.0/24","2001:db8::/64","10.0.1.0/24"]}'
    assert await found(*three) == [f"spec.cidrs: Invalid value: {shown}: may only hold up to 2 values"]


async def test_a_second_family_may_join_but_nothing_else_changes() -> None:
    kinds = CoreKinds()
    await kinds.create(NAME, {"spec": {"cidrs": ["10.0.0.0/24"]}})
    found = await kinds.change_refused(NAME, "it", {"spec": {"cidrs": ["10.0.1.0/24"]}})
    assert found == ['spec.cidrs[0]: Invalid value: "10.0.1.0/24": field is immutable']
    found = await kinds.change_refused(NAME, "it", {"spec": {"cidrs": None}})
    assert found == ["spec.cidrs: Invalid value: null: field is immutable"]
    changed = await kinds.change(NAME, "it", {"spec": {"cidrs": ["10.0.0.0/24", "2001:db8::/64"]}})
    assert changed["spec"]["cidrs"] == ["10.0.0.0/24", "2001:db8::/64"]


async def test_the_status_is_written_apart() -> None:
    kinds = CoreKinds()
    status = {"conditions": [{"type": "Ready", "status": "True"}]}
    made = await kinds.create(NAME, {"spec": {"cidrs": ["10.0.0.0/24"]}, "status": status})
    assert made["status"] == {}
    changed = await kinds.change(NAME, "it", {"metadata": {"labels": {"a": "b"}}, "status": status}, "status")
    assert [each["type"] for each in changed["status"]["conditions"]] == ["Ready"]
    assert "labels" not in changed["metadata"]
