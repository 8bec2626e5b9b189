"""Claims, their templates, and what their status may say."""

from typing import Any

from nagaya.apiserver.authz.attributes import Attributes
from nagaya.apiserver.authz.authorizer import ALLOWED, Decision
from support.core_kinds import CoreKinds

CLAIM = "resourceclaims.resource.k8s.io"
TEMPLATE = "resourceclaimtemplates.resource.k8s.io"
UID = "12345678-1234-1234-1234-123456789abc"
DEVICE = {"driver": "d", "pool": "p", "device": "x"}


def request(name: str = "r", **members: Any) -> dict[str, Any]:
    return {"name": name, "exactly": {"deviceClassName": "c", **members}}


def claim(*requests: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"spec": {"devices": {"requests": [*requests], **members}}}


def allocation(*results: dict[str, Any]) -> dict[str, Any]:
    return {"status": {"allocation": {"devices": {"results": [{"request": "r", **each} for each in results]}}}}


async def refused(*requests: dict[str, Any], **members: Any) -> list[str]:
    return await CoreKinds().refused(CLAIM, claim(*requests, **members))


class Everything:
    """Allows everything."""

    def authorize(self, attributes: Attributes) -> Decision:
        return ALLOWED


async def claimed() -> CoreKinds:
    kinds = CoreKinds()
    kinds.backend.authorizer = Everything()
    await kinds.create(CLAIM, claim(request()))
    return kinds


async def test_one_device_is_asked_for_unless_more_are() -> None:
    kinds = CoreKinds()
    made = await kinds.create(CLAIM, {**claim(request(tolerations=[{"key": "a"}])), "status": {"reservedFor": []}})
    assert made["spec"]["devices"]["requests"] == [
        request(allocationMode="ExactCount", count=1, tolerations=[{"key": "a", "operator": "Equal"}])
    ]
    assert made["status"] == {}
    made = await kinds.create(CLAIM, {"metadata": {"name": "all"}, **claim(request(allocationMode="All"))})
    assert "count" not in made["spec"]["devices"]["requests"][0]["exactly"]


async def test_a_request_is_for_one_thing_or_the_first_of_several() -> None:
    where = "spec.devices.requests[0]"
    one = "exactly one of `exactly` or `firstAvailable` is required"
    assert await refused({"name": "r"}) == [f"{where}: Required value: {one}"]
    several = [{"name": "s", "deviceClassName": "c"}]
    assert await refused({**request(), "firstAvailable": several}) == [
        f"{where}: Invalid value: null: {one}, but multiple fields are set"
    ]
    assert await refused({"name": "r", "firstAvailable": several * 2}) == [
        f'{where}.firstAvailable[1]: Duplicate value: "s"'
    ]


async def test_a_count_fits_its_mode() -> None:
    where = "spec.devices.requests[0].exactly"
    assert await refused(request(allocationMode="All", count=2)) == [
        f"{where}.count: Invalid value: 2: must not be specified when allocationMode is 'All'"
    ]
    assert await refused(request(count=-1)) == [f"{where}.count: Invalid value: -1: must be greater than zero"]
    assert await refused(request(allocationMode="Some")) == [
        f'{where}.allocationMode: Unsupported value: "Some": supported values: "All", "ExactCount"'
    ]


async def test_requests_are_limited_and_have_names_of_their_own() -> None:
    assert await refused(request(), request()) == ['spec.devices.requests[1]: Duplicate value: "r"']
    many = [request(f"r{number}") for number in range(33)]
    assert await refused(*many) == ["spec.devices.requests: Too many: 33: must have at most 32 items"]


async def test_constraints_and_configuration_are_for_requests_of_the_claim() -> None:
    config = {"requests": ["r", "q"], "opaque": {"driver": "d", "parameters": {"a": 1}}}
    detail = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
    assert await refused(request(), config=[config]) == [
        f'spec.devices.config[0].requests[1]: Invalid value: "q": {detail}'
    ]
    name = "a fully qualified name must be a domain and a name separated by a slash"
    assert await refused(request(), constraints=[{"matchAttribute": "a"}]) == [
        f'spec.devices.constraints[0].matchAttribute: Invalid value: "a": {name}'
    ]


async def test_configuration_is_an_object() -> None:
    opaque = "spec.devices.config[0].opaque"
    assert await refused(request(), config=[{}]) == [f"{opaque}: Required value"]
    config = {"opaque": {"driver": "d", "parameters": [1]}}
    assert await refused(request(), config=[config]) == [
        f'{opaque}.parameters: Invalid value: "<value omitted>": must be a valid JSON object'
    ]


async def test_devices_of_others_are_for_administrators() -> None:
    kinds = CoreKinds()
    label = "resource.kubernetes.io/admin-access"
    await kinds.create("namespaces", {"metadata": {"name": "town"}})
    found = await kinds.refused(CLAIM, claim(request(adminAccess=True)))
    detail = f"admin access to devices requires the `{label}: true` label on the containing namespace"
    assert found == [f"spec.devices.requests[0].adminAccess: Forbidden: {detail}"]
    await kinds.change("namespaces", "town", {"metadata": {"labels": {label: "true"}}})
    made = await kinds.create(CLAIM, claim(request(adminAccess=True)))
    assert made["spec"]["devices"]["requests"][0]["exactly"]["adminAccess"] is True


async def test_a_claim_stays_as_it_is() -> None:
    kinds = await claimed()
    found = await kinds.change_refused(CLAIM, "it", claim(request(count=2)))
    assert len(found) == 1
    assert found[0].startswith('spec: Invalid value: {"Devices":{"Requests":[{"Name":"r","Exactly":{"DeviceClassName"')
    assert found[0].endswith(": field is immutable")
    changed = await kinds.change(CLAIM, "it", {"metadata": {"labels": {"a": "b"}}})
    assert changed["metadata"]["labels"] == {"a": "b"}


async def test_a_template_gives_labels_and_annotations_alone() -> None:
    kinds = CoreKinds()
    template = {"spec": {"metadata": {"name": "x", "labels": {"a": "b"}}, **claim(request())}}
    assert await kinds.refused(TEMPLATE, template) == ["spec.metadata.name: Forbidden: cannot be set"]
    del template["spec"]["metadata"]["name"]
    await kinds.create(TEMPLATE, template)
    found = await kinds.change_refused(TEMPLATE, "it", {"spec": {"metadata": {"labels": {"a": "c"}}}})
    assert found[0].startswith('spec: Invalid value: {"labels":{"a":"c"},"Spec":{"Devices":{"Requests":')


async def test_an_allocation_is_written_once() -> None:
    kinds = await claimed()
    await kinds.change(CLAIM, "it", allocation(DEVICE), "status")
    found = await kinds.change_refused(CLAIM, "it", allocation({**DEVICE, "device": "y"}), "status")
    assert found[0].startswith('status.allocation: Invalid value: {"Devices":{"Results":[{"Request":"r"')
    assert found[0].endswith(": field is immutable")


async def test_a_claim_is_reserved_when_it_is_allocated() -> None:
    kinds = await claimed()
    reserved = {"reservedFor": [{"resource": "pods", "name": "a", "uid": "u"}]}
    found = await kinds.change_refused(CLAIM, "it", {"status": reserved}, "status")
    assert found == ["status.reservedFor: Forbidden: may not be specified when `allocated` is not set"]


async def test_the_state_of_devices_goes_with_the_allocation() -> None:
    kinds = await claimed()
    await kinds.change(CLAIM, "it", allocation(DEVICE, {**DEVICE, "shareID": UID}), "status")
    devices = [{**DEVICE, "conditions": []}, {**DEVICE, "shareID": UID, "conditions": []}]
    changed = await kinds.change(CLAIM, "it", {"status": {"devices": devices}}, "status")
    assert len(changed["status"]["devices"]) == 2
    changed = await kinds.change(CLAIM, "it", {"status": {"allocation": None}}, "status")
    assert changed["status"] == {}


async def test_the_state_is_of_devices_that_the_claim_has() -> None:
    kinds = await claimed()
    await kinds.change(CLAIM, "it", allocation(DEVICE), "status")
    conditions = [{"type": "a b", "status": "Maybe", "reason": "9"}]
    network = {"ips": ["10.0.0.1", "010.0.0.1/8"]}
    devices: list[dict[str, Any]] = [{**DEVICE, "device": "y", "conditions": [], "networkData": network}]
    devices.append({**DEVICE, "conditions": conditions})
    found = await kinds.change_refused(CLAIM, "it", {"status": {"devices": devices}}, "status")
    shown = '{"Driver":"d","Pool":"p","Device":"y","ShareID":""}'
    assert found[:3] == [
        f"status.devices[0]: Invalid value: {shown}: must be an allocated device in the claim",
        'status.devices[0].networkData.ips[0]: Invalid value: "10.0.0.1": '
        "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)",
        'status.devices[0].networkData.ips[1]: Invalid value: "010.0.0.1/8": must be in canonical form ("10.0.0.1/8")',
    ]
    assert [each.partition(":")[0].rpartition(".")[2] for each in found[3:]] == [
        "type",
        "status",
        "lastTransitionTime",
        "reason",
    ]
