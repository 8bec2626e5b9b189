"""The objects of hosted control planes on the real API server: taken without a warning, and not changed by a second
time."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from nagaya.api.meta import OwnerReference
from nagaya.controlplane.hosted.kubernetes.kinds import Planned
from nagaya.controlplane.hosted.kubernetes.objects import objects
from nagaya.controlplane.hosted.kubernetes.rollout import seen
from nagaya.controlplane.hosted.kubernetes.tenancy import Tenancy
from support.hosted_tenancies import full, plain
from support.real import RealControlPlane

NAMESPACE = "tenants"
RESTRICTED = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}


class Api:
    """As much of a client as it takes to see warnings."""

    def __init__(self, plane: RealControlPlane) -> None:
        self._port = int(plane.url.rpartition(":")[2])
        self._context = plane.admin_ssl_context()
        self.namespace = ""

    def ask(self, method: str, path: str, body: Any = None, content: str = "application/json") -> tuple[Any, list[str]]:
        connection = http.client.HTTPSConnection("127.0.0.1", self._port, timeout=60, context=self._context)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": content})
            answer = connection.getresponse()
            said = json.loads(answer.read())
            assert answer.status < 300, said
            return said, answer.headers.get_all("Warning") or []
        finally:
            connection.close()

    def apply(self, planned: Planned) -> tuple[Any, list[str]]:
        path = f"{planned.kind.path(planned.namespace, planned.name)}?fieldManager=nagaya-hosted&force=true"
        return self.ask("PATCH", path, planned.content, "application/apply-patch+yaml")


@pytest.fixture
def api(real_control_plane: RealControlPlane) -> Iterator[Api]:
    api = Api(real_control_plane)
    metadata = {"generateName": f"{NAMESPACE}-", "labels": RESTRICTED}
    made, _ = api.ask("POST", "/api/v1/namespaces", {"metadata": metadata})
    api.namespace = made["metadata"]["name"]
    yield api
    api.ask("DELETE", f"/api/v1/namespaces/{made['metadata']['name']}")


@pytest.mark.parametrize("tenancy", [plain(), full()], ids=["plain", "full"])
@pytest.mark.long("starts the real API server that its file shares")
def test_all_objects_are_taken_without_a_warning_and_stay(api: Api, tenancy: Tenancy) -> None:
    tenancy = owned(api, tenancy)
    versions = {}
    for planned in objects(tenancy):
        stored, warnings = api.apply(planned)
        assert warnings == [], str(planned)
        versions[str(planned)] = stored["metadata"]["resourceVersion"]
    for planned in objects(tenancy):
        stored, _ = api.apply(planned)
        assert stored["metadata"]["resourceVersion"] == versions[str(planned)], f"{planned} changes every time"


def test_a_pod_of_each_deployment_is_restricted(api: Api) -> None:
    tenancy = owned(api, full())
    for planned in objects(tenancy):
        if planned.kind.kind == "ServiceAccount":
            api.apply(planned)
    for planned in objects(tenancy):
        if planned.kind.kind == "Deployment":
            template = planned.content["spec"]["template"]
            template["spec"]["priorityClassName"] = ""
            pod = {
                "metadata": {"generateName": "p-", "labels": template["metadata"]["labels"]},
                "spec": template["spec"],
            }
            made, warnings = api.ask("POST", f"/api/v1/namespaces/{tenancy.namespace}/pods?dryRun=All", pod)
            assert warnings == []
            assert made["status"]["qosClass"] == "Burstable"


def test_a_deployment_that_nobody_has_looked_at_is_not_rolled_out(api: Api) -> None:
    tenancy = owned(api, plain())
    *_, controllers = objects(tenancy)
    stored, _ = api.apply(controllers)
    found = seen(stored)

    assert found.version == "v1.36.3"
    assert not found.rolled_out


def owned(api: Api, tenancy: Tenancy) -> Tenancy:
    """A tenancy in the namespace of the test, with an owner that exists: what has none is collected."""
    namespace = api.namespace
    made, _ = api.ask("POST", f"/api/v1/namespaces/{namespace}/configmaps", {"metadata": {"name": "owner"}})
    owner = OwnerReference(api_version="v1", kind="ConfigMap", name="owner", uid=made["metadata"]["uid"])
    return replace(tenancy, namespace=namespace, owner=owner)
