from __future__ import annotations

from typing import Any

import msgspec
import pytest
import yaml

from nagaya.api.catalog import PARTS
from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneCondition
from nagaya.api.controlplane.hosted_control_plane import DEFINITION, HOSTED_CONTROL_PLANES
from nagaya.api.controlplane.hosted_control_plane_template import DEFINITION as TEMPLATE
from nagaya.api.crd import render
from nagaya.api.definition import Definition
from support.hosted_tenancies import FULL
from support.served_kind import ServedKind
from support.subtest_cases import subtest_cases

SERVED = ServedKind(DEFINITION)
PLAIN: dict[str, Any] = {"version": "v1.36.3"}
ID = "9f1c2d3e-0000-4000-8000-000000000002"
OTHERS: dict[str, Any] = {**PLAIN, "tenantID": "9f1c2d3e-0000-4000-8000-000000000003"}
ENDPOINT = {"host": "10.0.0.1", "port": 6443}


def test_it_fulfils_the_contract_of_control_planes() -> None:
    definition = render(DEFINITION)
    (version,) = definition["spec"]["versions"]
    fields = version["schema"]["openAPIV3Schema"]["properties"]

    assert definition["metadata"]["labels"]["cluster.x-k8s.io/v1beta2"] == "v1alpha1"
    assert version["subresources"]["scale"] == {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }
    assert {"version", "replicas", "controlPlaneEndpoint"} <= fields["spec"]["properties"].keys()
    assert {
        "conditions",
        "externalManagedControlPlane",
        "initialization",
        "replicas",
        "readyReplicas",
        "availableReplicas",
        "upToDateReplicas",
        "selector",
        "version",
        "versions",
    } <= fields["status"]["properties"].keys()
    assert {"Available", "RollingOut", "ScalingUp", "ScalingDown", "Paused"} <= set(HostedControlPlaneCondition)


@pytest.mark.parametrize("definition", PARTS["controlplane-hosted"], ids=lambda each: each.kind.kind)
def test_the_definition_can_be_written_down(definition: Definition) -> None:
    assert yaml.safe_load(yaml.safe_dump(render(definition))) == render(definition)


def test_a_version_is_enough() -> None:
    assert SERVED.problems(PLAIN) == []
    assert SERVED.stored(PLAIN)["spec"] == {"version": "v1.36.3", "replicas": 1, "dataStoreRef": {"name": "default"}}


def test_everything_can_be_said_and_nothing_is_lost() -> None:
    stored = SERVED.stored(FULL)

    assert SERVED.problems(FULL) == []
    assert stored["spec"] == {**FULL, "dataStoreRef": {"name": "default"}}
    plane = HOSTED_CONTROL_PLANES.convert(stored)
    assert msgspec.json.decode(msgspec.json.encode(HOSTED_CONTROL_PLANES.content(plane)))["spec"] == stored["spec"]


@subtest_cases(
    ("spec", "problem"),
    [
        ({}, "spec.version: Required"),
        ({**PLAIN, "replicas": -1}, "spec.replicas: Invalid value"),
        ({**PLAIN, "apiServer": {"admissionPlugins": {"disable": ["NodeRestriction"]}}}, "must stay on"),
        ({**PLAIN, "addons": {"konnectivity": {"server": {"port": 60000}}}}, "spec.addons.konnectivity.server.port"),
        ({**PLAIN, "kubelet": {"configurationPatches": [{"op": "move", "path": "/a"}]}}, "move and copy have a from"),
        ({**PLAIN, "kubelet": {"configurationPatches": [{"op": "add", "path": "a"}]}}, "spec.kubelet"),
        ({**PLAIN, "kubelet": {"preferredAddressTypes": ["Postal"]}}, "Unsupported value"),
        ({**PLAIN, "scheduler": {"resources": {"limits": {"memory": "lots"}}}}, "spec.scheduler.resources.limits"),
        ({**PLAIN, "deployment": {"service": {"type": "ExternalName"}}}, "Unsupported value"),
    ],
)
def test_what_cannot_be_is_refused_by_the_schema(spec: dict[str, Any], problem: str) -> None:
    assert any(problem in each for each in SERVED.problems(spec)), SERVED.problems(spec)


def test_the_data_store_cannot_be_changed() -> None:
    other = {**PLAIN, "dataStoreRef": {"name": "other"}}

    assert "data does not move between stores by itself" in SERVED.problems(other, PLAIN)[0]
    assert SERVED.problems({**PLAIN, "dataStoreRef": {"name": "default"}}, PLAIN) == []


@pytest.mark.parametrize(
    ("after", "problem"),
    [
        ({**ENDPOINT, "host": "10.0.0.2"}, "host cannot be changed"),
        ({**ENDPOINT, "port": 443}, "port cannot be changed"),
        ({"host": "10.0.0.1"}, "port cannot be changed"),
        (None, "controlPlaneEndpoint cannot be removed"),
    ],
)
def test_an_endpoint_that_was_set_stays(after: dict[str, Any] | None, problem: str) -> None:
    before = {**PLAIN, "controlPlaneEndpoint": ENDPOINT}
    new = PLAIN if after is None else {**PLAIN, "controlPlaneEndpoint": after}

    assert problem in SERVED.problems(new, before)[0]
    assert SERVED.problems(before, before) == []
    assert SERVED.problems(before, PLAIN) == []


def test_a_template_lacks_what_each_cluster_says_itself() -> None:
    (version,) = render(TEMPLATE)["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["template"]["properties"]["spec"]

    assert "network" in spec["properties"]
    assert not {"version", "replicas", "controlPlaneEndpoint"} & spec["properties"].keys()


@pytest.mark.parametrize(
    ("before", "after"),
    [(PLAIN, {**PLAIN, "tenantID": ID}), ({**PLAIN, "tenantID": ID}, PLAIN), ({**PLAIN, "tenantID": ID}, OTHERS)],
    ids=["added", "removed", "changed"],
)
def test_the_tenant_that_it_goes_on_with_is_said_at_its_beginning_or_never(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    assert SERVED.problems(before) == SERVED.problems(before, before) == []
    [problem] = SERVED.problems(after, before)
    assert "tenantID cannot be added, changed or removed" in problem


@pytest.mark.parametrize("identity", ["../../etc", "one", ID.upper(), f"{ID}/.."])
def test_a_tenant_is_known_by_what_was_a_uid(identity: str) -> None:
    assert any("tenantID" in each for each in SERVED.problems({**PLAIN, "tenantID": identity}))


@pytest.mark.parametrize("amount", [0, 1, "512Mi", "1.5G", "250m", "+1", "1e9", "2E-3", ".5", "1."])
def test_amounts_are_written_as_kubernetes_writes_them(amount: int | str) -> None:
    spec = {**PLAIN, "apiServer": {"resources": {"limits": {"memory": amount}}}}
    assert SERVED.problems(spec) == []


@pytest.mark.parametrize("amount", [-1, "-1Mi", "1e999999", "1e999999999", "1e1.5", "1MiB", "", "Mi", "1 Mi", "1" * 65])
def test_amounts_below_zero_or_beyond_computing_are_refused(amount: int | str) -> None:
    for what in ("requests", "limits"):
        spec = {**PLAIN, "apiServer": {"resources": {what: {"memory": amount}}}}
        assert any(f"spec.apiServer.resources.{what}.memory" in each for each in SERVED.problems(spec)), amount
