"""PersistentVolumeClaims."""

from typing import Any

import pytest

from nagaya.apiserver.builtins.kinds.persistent_volume_warnings import claim_warnings
from support.core_kinds import CoreKinds

CLAIMS = "persistentvolumeclaims"
SNAPSHOT = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}


def claim(size: str = "1Gi", **spec: Any) -> dict[str, Any]:
    return {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec}}


def sized(size: str) -> dict[str, Any]:
    return {"spec": {"resources": {"requests": {"storage": size}}}}


async def test_a_new_claim_is_pending() -> None:
    made = await CoreKinds().create(CLAIMS, {**claim("1500u"), "status": {"phase": "Bound"}})
    assert made["status"] == {"phase": "Pending"}
    assert made["spec"]["volumeMode"] == "Filesystem"
    assert made["spec"]["resources"] == {"requests": {"storage": "2m"}}


@pytest.mark.parametrize(
    ("spec", "source", "reference"),
    [
        ({"dataSource": SNAPSHOT}, SNAPSHOT, SNAPSHOT),
        ({"dataSourceRef": SNAPSHOT}, SNAPSHOT, SNAPSHOT),
        ({"dataSource": {"kind": "Odd", "name": "x"}}, None, None),
        ({"dataSourceRef": {**SNAPSHOT, "namespace": "x"}}, None, None),
    ],
)
async def test_both_fields_for_a_source_say_the_same(spec: Any, source: Any, reference: Any) -> None:
    made = await CoreKinds().create(CLAIMS, claim(**spec))
    assert made["spec"].get("dataSource") == source
    assert made["spec"].get("dataSourceRef") == reference


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({"accessModes": []}, ["spec.accessModes: Required value: at least 1 access mode is required"]),
        (
            {"accessModes": ["ReadWriteOnce", "ReadWriteOncePod"]},
            ["spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"],
        ),
        ({"resources": {}}, ["spec.resources[storage]: Required value"]),
        (
            {"dataSource": SNAPSHOT, "dataSourceRef": {**SNAPSHOT, "name": "t"}},
            ["spec: Invalid value: {}: must match dataSourceRef"],
        ),
        (
            {"dataSourceRef": {"kind": "Odd", "name": "x"}},
            [
                f"spec.{member}: Invalid value: \"Odd\": must be 'PersistentVolumeClaim' "
                "when referencing the default apiGroup"
                for member in ("dataSource", "dataSourceRef")
            ],
        ),
    ],
)
async def test_what_is_wrong_with_a_claim_is_said(spec: dict[str, Any], found: list[str]) -> None:
    assert await CoreKinds().refused(CLAIMS, claim(**spec)) == found


async def test_a_claim_does_not_ask_for_something_else() -> None:
    kinds = CoreKinds()
    await kinds.create(CLAIMS, claim())
    await kinds.change(CLAIMS, "it", {"spec": {"storageClassName": "fast", "volumeName": "v"}})
    (found,) = await kinds.change_refused(CLAIMS, "it", sized("2Gi"))
    assert found.startswith(
        "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName "
        "for bound claims\n@@ "
    )
    assert '\n-   "storage": "1Gi"\n+   "storage": "2Gi"\n' in found


async def test_a_bound_claim_may_grow_and_give_up_growing() -> None:
    kinds = CoreKinds()
    await kinds.create(CLAIMS, claim())
    await kinds.change(CLAIMS, "it", {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}, "status")
    await kinds.change(CLAIMS, "it", sized("3Gi"))
    await kinds.change(CLAIMS, "it", sized("2048Mi"))
    assert await kinds.change_refused(CLAIMS, "it", sized("1Gi")) == [
        "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"
    ]


async def test_a_class_moves_from_the_annotation_to_the_field() -> None:
    kinds = CoreKinds()
    annotation = {"volume.beta.kubernetes.io/storage-class": "fast"}
    made = await kinds.create(CLAIMS, {"metadata": {"annotations": annotation}, **claim()})
    assert claim_warnings(made) == [
        "metadata.annotations[volume.beta.kubernetes.io/storage-class]: "
        'deprecated since v1.8; use "storageClassName" attribute instead'
    ]
    assert await kinds.change_refused(CLAIMS, "it", {"metadata": {"annotations": None}}) == [
        'metadata.annotations.volume.beta.kubernetes.io/storage-class: Invalid value: "": field is immutable'
    ]
    await kinds.change(CLAIMS, "it", {"spec": {"storageClassName": "fast"}, "metadata": {"annotations": None}})


async def test_how_far_a_resize_has_come_is_one_of_a_few_steps() -> None:
    kinds = CoreKinds()
    await kinds.create(CLAIMS, claim())
    status = {"allocatedResourceStatuses": {"storage": "Odd"}, "allocatedResources": {"cpu": "1"}}
    found = await kinds.change_refused(CLAIMS, "it", {"status": status}, "status")
    assert found == [
        'status.allocatedResourceStatuses: Unsupported value: "storage": supported values: '
        '"ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible", '
        '"NodeResizePending"',
        'status.allocatedResources: Unsupported value: "cpu": supported values: "storage"',
    ]


def test_half_bytes_are_warned_of() -> None:
    assert claim_warnings({"metadata": {}, **claim("1.5")}) == [
        'spec.resources.requests[storage]: fractional byte value "1.5" is invalid, must be an integer'
    ]
