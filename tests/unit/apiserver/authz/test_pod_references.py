from __future__ import annotations

from typing import Any

import pytest

from nagaya.apiserver.authz import pod_references
from support.subtest_cases import subtest_cases


def pod(status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p", "namespace": "n"}, "spec": spec, "status": status or {}}


def container(secret: str, config: str) -> dict[str, Any]:
    return {
        "env": [
            {"name": "A", "valueFrom": {"secretKeyRef": {"name": f"{secret}-key"}}},
            {"name": "B", "valueFrom": {"configMapKeyRef": {"name": f"{config}-key"}}},
            {"name": "C", "value": "x"},
            {"name": "D", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        ],
        "envFrom": [{"secretRef": {"name": secret}}, {"configMapRef": {"name": config}}],
    }


FULL = pod(
    {"resourceClaimStatuses": [{"name": "t", "resourceClaimName": "made"}]},
    imagePullSecrets=[{"name": "pull"}],
    initContainers=[container("init", "c-init")],
    containers=[container("main", "c-main")],
    ephemeralContainers=[container("late", "c-late")],
    resourceClaims=[
        {"name": "r", "resourceClaimName": "direct"},
        {"name": "t", "resourceClaimTemplateName": "x"},
        {"name": "pending", "resourceClaimTemplateName": "x"},
    ],
    volumes=[
        {"name": "a", "secret": {"secretName": "vol"}},
        {"name": "b", "configMap": {"name": "c-vol"}},
        {"name": "c", "projected": {"sources": [{"secret": {"name": "proj"}}, {"configMap": {"name": "c-proj"}}]}},
        {"name": "d", "csi": {"driver": "x", "nodePublishSecretRef": {"name": "csi"}}},
        {"name": "e", "rbd": {"secretRef": {"name": "rbd"}}},
        {"name": "f", "azureFile": {"secretName": "azure"}},
        {"name": "g", "persistentVolumeClaim": {"claimName": "claim"}},
        {"name": "h", "ephemeral": {}},
        {"name": "i", "secret": {"secretName": ""}},
    ],
)


def test_all_secrets_are_found() -> None:
    assert list(pod_references.secrets(FULL)) == [
        "pull", "init", "init-key", "main", "main-key", "late", "late-key", "vol", "proj", "csi", "rbd", "azure",
    ]  # fmt: skip


def test_all_config_maps_are_found() -> None:
    assert list(pod_references.config_maps(FULL)) == [
        "c-init", "c-init-key", "c-main", "c-main-key", "c-late", "c-late-key", "c-vol", "c-proj",
    ]  # fmt: skip


def test_claims_are_found_by_name_or_by_the_pod() -> None:
    assert list(pod_references.volume_claims(FULL)) == ["claim", "p-h"]
    assert list(pod_references.resource_claims(FULL)) == ["direct", "made"]
    extended = pod({"extendedResourceClaimStatus": {"resourceClaimName": "ext"}})
    assert list(pod_references.resource_claims(extended)) == ["ext"]


def test_a_mirror_is_told_by_its_annotation() -> None:
    mirror = {"metadata": {"annotations": {"kubernetes.io/config.mirror": ""}}}
    assert pod_references.is_mirror(mirror)
    assert not pod_references.is_mirror(FULL)


@subtest_cases(
    ("spec", "told"),
    [
        ({}, ""),
        ({"serviceAccountName": "x"}, "serviceaccounts"),
        ({"imagePullSecrets": [{"name": "a"}]}, "secrets"),
        ({"containers": [{"envFrom": [{"configMapRef": {"name": "z"}}]}]}, "configmaps"),
        ({"resourceClaims": [{"name": "a"}]}, "resourceclaims"),
        ({"volumes": [{"name": "v", "emptyDir": {}}]}, ""),
        ({"volumes": [{"name": "v", "csi": {"driver": "x"}}]}, "csidrivers (via CSI volumes)"),
        ({"volumes": [{"name": "v", "configMap": {}}]}, "configmaps (via configmap volumes)"),
        ({"volumes": [{"name": "v", "ephemeral": {}}]}, "persistentvolumeclaims (via ephemeral volumes)"),
        ({"volumes": [{"name": "v", "projected": {"sources": [{"downwardAPI": {}}]}}]}, ""),
        (
            {"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]},
            "serviceaccounts (via projected volumes)",
        ),
    ],
)
def test_the_first_thing_a_pod_refers_to_is_told(spec: dict[str, Any], told: str) -> None:
    assert pod_references.first_reference(pod(**spec)) == told


def test_unknown_volumes_are_not_let_through() -> None:
    with pytest.raises(ValueError, match='unknown volume type for volume  "v"'):
        pod_references.first_reference(pod(volumes=[{"name": "v", "novel": {}}]))
    with pytest.raises(ValueError, match='unknown source for projected volume "v"'):
        pod_references.first_reference(pod(volumes=[{"name": "v", "projected": {"sources": [{"novel": {}}]}}]))
