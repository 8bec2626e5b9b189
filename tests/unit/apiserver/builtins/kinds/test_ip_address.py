"""IP addresses as objects."""

from support.core_kinds import CoreKinds

NAME = "ipaddresses.networking.k8s.io"
PARENT = {"resource": "services", "name": "a", "namespace": "b"}


async def test_the_name_is_the_address_in_its_one_right_form() -> None:
    async def found(name: str) -> list[str]:
        return await CoreKinds().refused(NAME, {"metadata": {"name": name}, "spec": {"parentRef": PARENT}})

    assert await found("2001:DB8::1") == [
        'metadata.name: Invalid value: "2001:DB8::1": must be in canonical form ("2001:db8::1")'
    ]
    assert await found("it") == [
        'metadata.name: Invalid value: "it": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'
    ]


async def test_a_prefix_is_taken_for_the_address_itself() -> None:
    made = await CoreKinds().create(
        NAME, {"metadata": {"name": "", "generateName": "10.0.0.1"}, "spec": {"parentRef": PARENT}}
    )
    assert made["metadata"]["name"] == "10.0.0.1"


async def test_an_address_belongs_to_somebody() -> None:
    found = await CoreKinds().refused(NAME, {"metadata": {"name": "10.0.0.1"}, "spec": {}})
    assert found == ["spec.parentRef: Required value"]
    found = await CoreKinds().refused(NAME, {"metadata": {"name": "10.0.0.1"}, "spec": {"parentRef": {}}})
    assert found == ["spec.parentRef.resource: Required value", "spec.parentRef.name: Required value"]


async def test_an_address_stays_with_its_owner() -> None:
    kinds = CoreKinds()
    await kinds.create(NAME, {"metadata": {"name": "10.0.0.1"}, "spec": {"parentRef": PARENT}})
    found = await kinds.change_refused(NAME, "10.0.0.1", {"spec": {"parentRef": {"name": "z"}}})
    shown = '{"Group":"","Resource":"services","Namespace":"b","Name":"z"}'
    assert found == [f"spec.parentRef: Invalid value: {shown}: field is immutable"]
