"""Which volume a claim gets."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.apiserver.controllers import volume_matching


def volume(name: str = "v", size: str = "1Gi", **spec: Any) -> dict[str, Any]:
    made = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": size}, **spec}
    return {"metadata": {"name": name, "labels": {"disk": "fast"}}, "spec": made, "status": {"phase": "Available"}}


def claim(size: str = "1Gi", **spec: Any) -> dict[str, Any]:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec}
    return {"metadata": {"namespace": "default", "name": "c", "uid": "1"}, "spec": wanted}


def test_the_smallest_volume_that_is_large_enough_is_chosen() -> None:
    volumes = [volume("large", "10Gi"), volume("small", "500Mi"), volume("right", "2Gi")]
    found = volume_matching.best(claim("1Gi"), volumes)
    assert found is not None
    assert found["metadata"]["name"] == "right"


def test_a_volume_that_is_kept_for_the_claim_comes_first() -> None:
    kept = volume("kept", "10Gi", claimRef={"namespace": "default", "name": "c"})
    found = volume_matching.best(claim(), [volume("small"), kept])
    assert found is kept


@pytest.mark.parametrize(
    "other",
    [
        volume(claimRef={"namespace": "default", "name": "other"}),
        volume(claimRef={"namespace": "default", "name": "c", "uid": "an earlier one"}),
        {**volume(), "status": {"phase": "Released"}},
        {**volume(), "status": {"phase": "Pending"}},
    ],
)
def test_a_volume_of_another_claim_is_not_free(other: dict[str, Any]) -> None:
    assert volume_matching.best(claim(), [other]) is None


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        (volume(size="1Gi"), claim("2Gi"), "too small"),
        (volume(storageClassName="gold"), claim(), "storageClassName"),
        (volume(), claim(storageClassName="gold"), "storageClassName"),
        (volume(volumeMode="Block"), claim(), "volumeMode"),
        (volume(), claim(accessModes=["ReadWriteMany"]), "accessMode"),
        (volume(), claim(volumeAttributesClassName="gold"), "volumeAttributesClassName"),
        (volume(), claim(selector={"matchLabels": {"disk": "slow"}}), "selector"),
    ],
)
def test_a_volume_that_does_not_fit_says_why(one: dict[str, Any], other: dict[str, Any], why: str) -> None:
    assert why in volume_matching.unfit(one, other)


def test_a_volume_that_fits_has_nothing_to_say() -> None:
    assert volume_matching.unfit(volume(), claim(selector={"matchLabels": {"disk": "fast"}})) == ""


def test_the_class_in_the_old_annotation_counts() -> None:
    old = claim()
    old["metadata"]["annotations"] = {"volume.beta.kubernetes.io/storage-class": "gold"}
    assert volume_matching.storage_class(old) == "gold"
