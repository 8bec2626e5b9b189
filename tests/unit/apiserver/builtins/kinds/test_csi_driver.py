"""CSI drivers."""

from typing import Any

from support.core_kinds import CoreKinds

NAME = "csidrivers.storage.k8s.io"


async def refused(**spec: Any) -> list[str]:
    return await CoreKinds().refused(NAME, {"spec": spec})


async def test_what_is_left_out_is_filled_in() -> None:
    made = await CoreKinds().create(NAME, {"spec": {"preventPodSchedulingIfMissing": True}})
    assert made["spec"] == {
        "attachRequired": True,
        "fsGroupPolicy": "ReadWriteOnceWithFSType",
        "podInfoOnMount": False,
        "requiresRepublish": False,
        "seLinuxMount": False,
        "storageCapacity": False,
        "volumeLifecycleModes": ["Persistent"],
    }
    assert "generation" not in made["metadata"]


async def test_the_generation_begins_with_the_first_change() -> None:
    kinds = CoreKinds()
    await kinds.create(NAME, {"spec": {}})
    changed = await kinds.change(NAME, "it", {"spec": {"podInfoOnMount": True}})
    assert changed["metadata"]["generation"] == 1


async def test_how_volumes_are_attached_stays() -> None:
    kinds = CoreKinds()
    await kinds.create(NAME, {"spec": {}})
    patch = {"spec": {"attachRequired": False, "volumeLifecycleModes": ["Ephemeral"]}}
    assert await kinds.change_refused(NAME, "it", patch) == [
        "spec.attachedRequired: Invalid value: false: field is immutable",
        'spec.volumeLifecycleModes: Invalid value: ["Ephemeral"]: field is immutable',
    ]


async def test_tokens_are_for_different_audiences_and_live_neither_too_short_nor_too_long() -> None:
    requests = [{"audience": "a", "expirationSeconds": 5}, {"audience": "a"}]
    requests.append({"audience": "b", "expirationSeconds": 2**32 + 1})
    assert await refused(tokenRequests=requests) == [
        "spec.tokenRequests[0].expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes",
        'spec.tokenRequests[1].audience: Duplicate value: "a"',
        "spec.tokenRequests[2].expirationSeconds: Invalid value: 4294967297: "
        "may not specify a duration larger than 2^32 seconds",
    ]
    found = await refused(serviceAccountTokenInSecrets=True)
    detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
    assert found == [f"spec.serviceAccountTokenInSecrets: Invalid value: true: {detail}"]


async def test_words_are_known_ones() -> None:
    assert await refused(fsGroupPolicy="Any", volumeLifecycleModes=["Forever"]) == [
        'spec.fsGroupPolicy: Unsupported value: "Any": supported values: "File", "None", "ReadWriteOnceWithFSType"',
        'spec.volumeLifecycleModes: Unsupported value: "Forever": supported values: "Persistent", "Ephemeral"',
    ]
