"""Volume attachments."""

from typing import Any

from support.core_kinds import CoreKinds

NAME = "volumeattachments.storage.k8s.io"
INLINE = {"csi": {"driver": "d", "volumeHandle": "h"}, "accessModes": ["ReadWriteOnce"]}


def spec(**source: Any) -> dict[str, Any]:
    return {"spec": {"attacher": "d", "nodeName": "n", "source": source}}


async def refused(**source: Any) -> list[str]:
    return await CoreKinds().refused(NAME, spec(**source))


async def test_one_volume_is_attached() -> None:
    one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    assert await refused() == [f"spec.source: Required value: {one}"]
    assert await refused(persistentVolumeName="a", inlineVolumeSpec=INLINE) == [f"spec.source: Forbidden: {one}"]
    made = await CoreKinds().create(NAME, spec(inlineVolumeSpec=INLINE))
    assert made["status"] == {"attached": False}


async def test_an_inline_volume_is_a_csi_volume_without_a_life_of_its_own() -> None:
    where = "spec.source.inlineVolumeSpec"
    found = await refused(
        inlineVolumeSpec={
            **INLINE,
            "capacity": {"storage": "1Gi"},
            "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": "s",
            "volumeMode": "Block",
        }
    )
    inline = "in the context of inline volumes"
    assert found == [
        f"{where}.capacity: Forbidden: may not be specified {inline}",
        f"{where}.persistentVolumeReclaimPolicy: Forbidden: may only be Retain {inline}",
        f"{where}.storageClassName: Forbidden: may not be specified {inline}",
        f"{where}.volumeMode: Forbidden: may not specify volumeMode other than Filesystem {inline}",
    ]
    found = await refused(inlineVolumeSpec={"hostPath": {"path": "/a"}, "accessModes": ["ReadWriteOnce"]})
    assert found == [f"{where}.csi: Required value: has to be specified {inline}"]


async def test_what_is_attached_to_what_stays() -> None:
    kinds = CoreKinds()
    await kinds.create(NAME, spec(persistentVolumeName="a"))
    found = await kinds.change_refused(NAME, "it", {"spec": {"nodeName": "m"}})
    shown = '{"Attacher":"d","Source":{"PersistentVolumeName":"a","InlineVolumeSpec":null},"NodeName":"m"}'
    assert found == [f"spec: Invalid value: {shown}: field is immutable"]


async def test_errors_in_the_status_have_limits() -> None:
    kinds = CoreKinds()
    await kinds.create(NAME, spec(persistentVolumeName="a"))
    status = {"attachError": {"message": "x" * 1025, "errorCode": -1}}
    assert await kinds.change_refused(NAME, "it", {"status": status}, "status") == [
        "status.attachError.message: Too long: may not be more than 262144 bytes",
        "status.attachError.errorCode: Invalid value: -1: must be between 0 and 2147483647, inclusive",
    ]
