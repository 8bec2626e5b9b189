from __future__ import annotations

from typing import Any

import pytest

from nagaya.apiserver.meta.gvk import GroupVersionKind
from nagaya.apiserver.openapi.paths import Described, Part, paths

_ALL = frozenset({"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"})
_PART = frozenset({"get", "update", "patch"})
_SCALE = GroupVersionKind("autoscaling", "v1", "Scale")


def machines(*subresources: str, scope: str = "Namespaced", group: str = "cluster.x-k8s.io") -> Described:
    kind = GroupVersionKind(group, "v1beta2", "Machine")
    model = f"{'.'.join(reversed(group.split('.')))}.v1beta2.Machine"
    parts = tuple(
        Part(
            name,
            _SCALE if name == "scale" else kind,
            "io.k8s.api.autoscaling.v1.Scale" if name == "scale" else model,
            _PART,
        )
        for name in subresources
    )
    return Described(kind, "machines", scope == "Namespaced", _ALL, model, f"{model}List", parts)


def paths_v3(resource: Described) -> dict[str, Any]:
    return paths(resource, v2=False)


def paths_v2(resource: Described) -> dict[str, Any]:
    return paths(resource, v2=True)


_BASE = "/apis/cluster.x-k8s.io/v1beta2"
_ONE = f"{_BASE}/namespaces/{{namespace}}/machines/{{name}}"


def test_every_request_has_a_path() -> None:
    found = paths_v3(machines("status", "scale"))
    methods = {path: {name for name in item if name != "parameters"} for path, item in found.items()}
    assert methods == {
        f"{_BASE}/machines": {"get"},
        f"{_BASE}/namespaces/{{namespace}}/machines": {"get", "post", "delete"},
        _ONE: {"get", "put", "delete", "patch"},
        f"{_ONE}/status": {"get", "put", "patch"},
        f"{_ONE}/scale": {"get", "put", "patch"},
    }


def test_cluster_scoped_kinds_have_no_namespace() -> None:
    found = paths_v3(machines(scope="Cluster"))
    assert list(found) == [f"{_BASE}/machines", f"{_BASE}/machines/{{name}}"]
    assert found[f"{_BASE}/machines"]["get"]["operationId"] == "listClusterXK8sIoV1beta2Machine"


def test_kubectl_finds_field_validation_in_the_patch_of_a_kind() -> None:
    patch = paths_v3(machines())[_ONE]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == {
        "group": "cluster.x-k8s.io",
        "version": "v1beta2",
        "kind": "Machine",
    }
    assert patch["x-kubernetes-action"] == "patch"
    assert "fieldValidation" in {each["name"] for each in patch["parameters"] if each["in"] == "query"}
    assert patch["requestBody"]["content"].keys() == {
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/apply-patch+yaml",
    }


@pytest.mark.parametrize(
    ("path", "method", "identifier"),
    [
        (f"{_BASE}/machines", "get", "listClusterXK8sIoV1beta2MachineForAllNamespaces"),
        (f"{_BASE}/namespaces/{{namespace}}/machines", "post", "createClusterXK8sIoV1beta2NamespacedMachine"),
        (
            f"{_BASE}/namespaces/{{namespace}}/machines",
            "delete",
            "deleteClusterXK8sIoV1beta2CollectionNamespacedMachine",
        ),
        (f"{_ONE}/status", "put", "replaceClusterXK8sIoV1beta2NamespacedMachineStatus"),
    ],
)
def test_operations_are_named_as_by_the_real_server(path: str, method: str, identifier: str) -> None:
    for publish in (paths_v3, paths_v2):
        operation = publish(machines("status"))[path][method]
        assert operation["operationId"] == identifier
        assert operation["tags"] == ["clusterXK8sIo_v1beta2"]


def test_the_scale_of_a_kind_is_a_scale() -> None:
    put = paths_v3(machines("scale"))[f"{_ONE}/scale"]["put"]
    schema = {"schema": {"$ref": "#/components/schemas/io.k8s.api.autoscaling.v1.Scale"}}
    assert put["requestBody"] == {
        "content": {"application/json": schema, "application/yaml": schema},
        "required": True,
    }
    assert put["responses"].keys() == {"200", "201", "401"}


def test_v2_has_bodies_among_the_parameters() -> None:
    item = paths_v2(machines())[_ONE]
    assert item["put"]["parameters"][0] == {
        "name": "body",
        "in": "body",
        "required": True,
        "schema": {"$ref": "#/definitions/io.x-k8s.cluster.v1beta2.Machine"},
    }
    assert "required" not in item["delete"]["parameters"][0]
    assert item["patch"]["consumes"][0] == "application/json-patch+json"
    assert item["get"]["responses"]["200"]["schema"] == {"$ref": "#/definitions/io.x-k8s.cluster.v1beta2.Machine"}
    assert [each["name"] for each in item["parameters"]] == ["name", "namespace", "pretty"]


def test_groups_of_kubernetes_are_named_without_their_domain() -> None:
    found = paths_v3(machines(group="snapshot.storage.k8s.io", scope="Cluster"))
    operation = found["/apis/snapshot.storage.k8s.io/v1beta2/machines"]["get"]
    assert operation["tags"] == ["snapshotStorage_v1beta2"]
