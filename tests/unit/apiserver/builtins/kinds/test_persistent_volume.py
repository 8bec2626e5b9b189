"""PersistentVolumes."""

from typing import Any

from nagaya.apiserver.builtins.kinds.persistent_volume_warnings import warnings
from support.core_kinds import CoreKinds
from support.subtest_cases import subtest_cases

CSI = {"csi": {"driver": "example.com", "volumeHandle": "h"}}


def volume(source: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    source = {"hostPath": {"path": "/a"}} if source is None else source
    return {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], **source, **spec}}


async def test_a_new_volume_is_pending_and_has_defaults() -> None:
    made = await CoreKinds().create("persistentvolumes", {**volume(), "status": {"phase": "Bound"}})
    assert made["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert made["spec"]["volumeMode"] == "Filesystem"
    assert made["spec"]["hostPath"] == {"path": "/a", "type": ""}
    assert made["status"] == {"phase": "Pending", "lastPhaseTransitionTime": "2026-11-01T12:00:00Z"}


@subtest_cases(
    ("source", "found"),
    [
        ({}, ["spec: Required value: must specify a volume type"]),
        (
            {**CSI, "nfs": {"server": "s", "path": "/p"}},
            ["spec.csi: Forbidden: may not specify more than 1 volume type"],
        ),
        ({"hostPath": {"path": "/a/../b"}}, ["spec.hostPath.path: Invalid value: \"/a/../b\": must not contain '..'"]),
        ({"nfs": {"server": "s", "path": "p"}}, ['spec.nfs.path: Invalid value: "p": must be an absolute path']),
        ({"local": {"path": "/a"}}, ["spec.nodeAffinity: Required value: Local volume requires node affinity"]),
        ({"gcePersistentDisk": {"pdName": ""}}, ["spec.persistentDisk.pdName: Required value"]),
        (
            {"iscsi": {"targetPortal": "p", "iqn": "odd", "lun": 300}},
            [
                'spec.iscsi.iqn: Invalid value: "odd": must be valid format',
                "spec.iscsi.lun: Invalid value: 300: must be between 0 and 255, inclusive",
            ],
        ),
        (
            {"quobyte": {"registry": "a:1,b,[::1]:5", "volume": "v"}},
            [
                'spec.quobyte.registry: Invalid value: "a:1,b,[::1]:5": '
                "must be a host:port pair or multiple pairs separated by commas"
            ],
        ),
        (
            {"csi": {"driver": "x" * 64, "volumeHandle": "h", "nodeExpandSecretRef": {"name": "a"}}},
            [
                "spec.csi.driver: Too long: may not be more than 63 bytes",
                "spec.csi.nodeExpandSecretRef.namespace: Required value",
            ],
        ),
    ],
)
async def test_what_is_wrong_with_a_source_is_said(source: dict[str, Any], found: list[str]) -> None:
    assert await CoreKinds().refused("persistentvolumes", volume(source)) == found


async def test_a_volume_has_a_capacity_and_modes() -> None:
    found = await CoreKinds().refused("persistentvolumes", volume(capacity={}, accessModes=[]))
    assert found == [
        "spec.accessModes: Required value",
        "spec.capacity: Required value",
        'spec.capacity: Unsupported value: null: supported values: "storage"',
    ]


async def test_the_source_stays() -> None:
    kinds = CoreKinds()
    await kinds.create("persistentvolumes", volume(CSI))
    secret = {"name": "a", "namespace": "b"}
    await kinds.change("persistentvolumes", "it", {"spec": {"csi": {"controllerExpandSecretRef": secret}}})
    (found,) = await kinds.change_refused("persistentvolumes", "it", {"spec": {"csi": {"volumeHandle": "i"}}})
    assert found.startswith(
        "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n@@ "
    )
    assert '\n-  "VolumeHandle": "h",\n+  "VolumeHandle": "i",\n' in found


def affinity(key: str) -> dict[str, Any]:
    expression = {"key": key, "operator": "In", "values": ["linux"]}
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}


async def test_a_label_in_the_affinity_may_get_its_final_name() -> None:
    kinds = CoreKinds()
    await kinds.create("persistentvolumes", volume(**affinity("beta.kubernetes.io/os")))
    await kinds.change("persistentvolumes", "it", {"spec": affinity("kubernetes.io/os")})
    (found,) = await kinds.change_refused("persistentvolumes", "it", {"spec": affinity("other")})
    assert found.endswith("field is immutable, except for updating from beta label to GA")


async def test_the_time_of_a_phase_is_noted() -> None:
    kinds = CoreKinds()
    await kinds.create("persistentvolumes", volume())
    past = "2020-01-01T00:00:00Z"
    changed = await kinds.change(
        "persistentvolumes", "it", {"status": {"phase": "Bound", "lastPhaseTransitionTime": past}}, "status"
    )
    assert changed["status"]["lastPhaseTransitionTime"] == past
    changed = await kinds.change("persistentvolumes", "it", {"status": {"phase": "Released"}}, "status")
    assert changed["status"]["lastPhaseTransitionTime"] == "2026-11-01T12:00:00Z"


def test_what_is_gone_is_warned_of() -> None:
    spec = {"rbd": {}, "persistentVolumeReclaimPolicy": "Recycle", **affinity("beta.kubernetes.io/os")}
    assert warnings({"metadata": {}, "spec": spec}) == [
        "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
        "Instead, the recommended approach is to use dynamic provisioning.",
        "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: beta.kubernetes.io/os is "
        'deprecated since v1.14; use "kubernetes.io/os" instead',
        "spec.rbd: deprecated in v1.28, non-functional in v1.31+",
    ]
