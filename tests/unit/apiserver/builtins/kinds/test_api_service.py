"""API services."""

from typing import Any

from support.core_kinds import CoreKinds

NAME = "apiservices.apiregistration.k8s.io"
SPEC = {"group": "x.y", "version": "v1", "groupPriorityMinimum": 5, "versionPriority": 5}


async def refused(name: str = "v1.x.y", **spec: Any) -> list[str]:
    return await CoreKinds().refused(NAME, {"metadata": {"name": name}, "spec": {**SPEC, **spec}})


async def test_what_the_server_serves_itself_is_there_at_once() -> None:
    kinds = CoreKinds()
    made = await kinds.create(NAME, {"metadata": {"name": "v1.x.y"}, "spec": SPEC})
    assert made["status"]["conditions"] == [
        {
            "type": "Available",
            "status": "True",
            "lastTransitionTime": "2026-11-01T12:00:00Z",
            "reason": "Local",
            "message": "Local APIServices are always available",
        }
    ]
    service = {"namespace": "a", "name": "b"}
    spec = {**SPEC, "group": "z", "service": service}
    made = await kinds.create(NAME, {"metadata": {"name": "v1.z"}, "spec": spec})
    assert made["status"] == {}
    assert made["spec"]["service"]["port"] == 443


async def test_the_name_follows_from_the_group_version() -> None:
    assert await refused("other") == [
        'metadata.name: Invalid value: "other": must be `spec.version+"."+spec.group`: "v1.x.y"'
    ]


async def test_priorities_have_bounds() -> None:
    assert await refused(groupPriorityMinimum=20001, versionPriority=0) == [
        "spec.groupPriorityMinimum: Invalid value: 20001: must be positive and less than 20000",
        "spec.versionPriority: Invalid value: 0: must be positive and less than 1000",
    ]


async def test_only_services_are_reached_over_tls() -> None:
    assert await refused(caBundle="YWJj", insecureSkipTLSVerify=True) == [
        'spec.caBundle: Invalid value: "3 bytes": local APIServices may not have a caBundle',
        "spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify",
    ]
    assert await refused(service={}, caBundle="YWJj", insecureSkipTLSVerify=True) == [
        "spec.service.namespace: Required value",
        "spec.service.name: Required value",
        "spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present",
    ]


async def test_conditions_are_true_false_or_unknown() -> None:
    kinds = CoreKinds()
    await kinds.create(NAME, {"metadata": {"name": "v1.x.y"}, "spec": SPEC})
    patch = {"status": {"conditions": [{"type": "a", "status": "Maybe"}]}}
    found = await kinds.change_refused(NAME, "v1.x.y", patch, "status")
    supported = 'supported values: "True", "False", "Unknown"'
    assert found == [f'status.conditions[0].status: Unsupported value: "Maybe": {supported}']
