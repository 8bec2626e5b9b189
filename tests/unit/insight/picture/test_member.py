from __future__ import annotations

from typing import Any

import pytest

from nagaya.api.untyped import Untyped
from nagaya.insight.picture.member import Member, member


def cluster(condition: dict[str, Any], generation: int = 2, **status: Any) -> Member:
    content = {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Cluster",
        "metadata": {"name": "shop", "namespace": "default", "generation": generation},
        "status": {"conditions": [{"type": "Available", "reason": "R", **condition}], **status},
    }
    return member(Untyped(content))


@pytest.mark.parametrize(
    ("found", "holds"),
    [
        (cluster({"status": "True", "observedGeneration": 2}), True),
        (cluster({"status": "True", "observedGeneration": 1}), False),
        (cluster({"status": "True", "observedGeneration": 1}, observedGeneration=2), False),
        (cluster({"status": "True"}, observedGeneration=1), False),
        (cluster({"status": "True"}, observedGeneration=2), True),
        (cluster({"status": "True"}), True),
        (cluster({"status": "False", "observedGeneration": 2}), False),
        (cluster({"status": "Unknown", "observedGeneration": 2}), False),
    ],
)
def test_a_condition_of_an_earlier_generation_does_not_hold_now(found: Member, holds: bool) -> None:
    assert found.holds_now("Available") is holds
    assert not found.holds_now("Ready")
