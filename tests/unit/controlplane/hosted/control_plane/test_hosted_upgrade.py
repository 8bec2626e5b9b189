from __future__ import annotations

import pytest

from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneReason as Reason
from nagaya.controlplane.hosted.control_plane.upgrade import target


@pytest.mark.parametrize(
    ("declared", "running", "version", "reason"),
    [
        ("v1.36.3", [], "v1.36.3", Reason.NO_UPGRADE_ASKED),
        ("v1.36.3", ["v1.36.3", "v1.36.3"], "v1.36.3", Reason.NO_UPGRADE_ASKED),
        ("v1.36.3", ["v1.35.4"], "v1.36.3", Reason.UPGRADE_POSSIBLE),
        ("v1.36.3", ["v1.35.4", "v1.36.3"], "v1.36.3", Reason.UPGRADE_POSSIBLE),
        ("v1.36.2", ["v1.36.3"], "v1.36.2", Reason.UPGRADE_POSSIBLE),
        ("v1.37.1", ["v1.35.4"], "v1.35.4", Reason.VERSION_SKIPS_MINOR),
        ("v1.37.1", ["v1.35.4", "v1.36.3"], "v1.36.3", Reason.VERSION_SKIPS_MINOR),
        ("v1.35.4", ["v1.36.3"], "v1.36.3", Reason.VERSION_NOT_SUPPORTED),
        ("v1.99.0", ["v1.36.3"], "v1.36.3", Reason.VERSION_NOT_SUPPORTED),
        ("nonsense", ["v1.36.3"], "v1.36.3", Reason.VERSION_NOT_SUPPORTED),
    ],
)
def test_one_minor_at_a_time_and_never_back(declared: str, running: list[str], version: str, reason: Reason) -> None:
    found = target(declared, running)

    assert (found.version, found.reason) == (version, reason)
    assert found.refused == (reason in (Reason.VERSION_SKIPS_MINOR, Reason.VERSION_NOT_SUPPORTED))


def test_a_refusal_says_the_way() -> None:
    assert target("v1.37.1", ["v1.35.4"]).message.endswith("one minor version at a time. Go to v1.36 first.")
