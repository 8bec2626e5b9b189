from __future__ import annotations

import pytest

from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneReason as Reason
from nagaya.controlplane.hosted.control_plane.upgrade import running, target


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


KUBELETS = {"a": "v1.35.1", "b": "v1.33.9", "c": "v1.33.0+k3s1", "d": "unknown"}


@pytest.mark.parametrize(
    ("declared", "running", "kubelets", "version", "reason"),
    [
        ("v1.37.1", ["v1.36.3"], KUBELETS, "v1.36.3", Reason.NODES_TOO_OLD),
        ("v1.36.3", ["v1.35.4"], KUBELETS, "v1.36.3", Reason.UPGRADE_POSSIBLE),
        ("v1.37.1", ["v1.36.3"], {"a": "v1.34.0"}, "v1.37.1", Reason.UPGRADE_POSSIBLE),
        ("v1.37.1", ["v1.36.3"], {}, "v1.37.1", Reason.UPGRADE_POSSIBLE),
        # What is under way is finished, and another patch is none of the kubelets' business.
        ("v1.37.1", ["v1.36.3", "v1.37.1"], KUBELETS, "v1.37.1", Reason.UPGRADE_POSSIBLE),
        ("v1.37.2", ["v1.37.1"], KUBELETS, "v1.37.2", Reason.UPGRADE_POSSIBLE),
        # Nobody can say which Nodes there are.
        ("v1.37.1", ["v1.36.3"], None, "v1.36.3", Reason.CONTROL_PLANE_NOT_HEALTHY),
        ("v1.36.4", ["v1.36.3"], None, "v1.36.4", Reason.UPGRADE_POSSIBLE),
        ("v1.36.3", ["v1.36.3"], None, "v1.36.3", Reason.NO_UPGRADE_ASKED),
        ("v1.36.3", [], None, "v1.36.3", Reason.NO_UPGRADE_ASKED),
    ],
)
def test_no_kubelet_is_left_more_than_three_minors_behind(
    declared: str, running: list[str], kubelets: dict[str, str] | None, version: str, reason: Reason
) -> None:
    found = target(declared, running, kubelets)

    assert (found.version, found.reason) == (version, reason)
    assert found.refused == (reason in (Reason.NODES_TOO_OLD, Reason.CONTROL_PLANE_NOT_HEALTHY))


def test_nodes_that_are_too_old_are_named_with_the_remedy() -> None:
    message = target("v1.37.1", ["v1.36.3"], KUBELETS).message
    assert "the kubelets of 2 Nodes: b (v1.33.9), c (v1.33.0+k3s1)." in message
    assert message.endswith("Upgrade these machines to v1.34 or newer first, or remove them.")


def test_one_that_sleeps_skips_no_version_either() -> None:
    assert running(["v1.36.3", "", "v1.36.3"], "v1.35.4") == ("v1.36.3", "v1.36.3")
    assert running([""], "v1.35.4") == ("v1.35.4",)
    assert running([], "") == ()
    assert target("v1.37.1", running([], "v1.35.4")).reason is Reason.VERSION_SKIPS_MINOR


def test_a_refusal_says_the_way() -> None:
    assert target("v1.37.1", ["v1.35.4"]).message.endswith("one minor version at a time. Go to v1.36 first.")
