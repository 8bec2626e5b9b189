from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from nagaya.kube.conditions import UNSET, condition, mirror

SINCE = datetime(2026, 1, 1, tzinfo=UTC)
READY = msgspec.structs.replace(condition("Ready", False, "Bad", "Broken.", since=SINCE), observed_generation=7)


def test_a_mirror_keeps_the_moment_of_the_change_but_not_the_generation() -> None:
    found = mirror((READY,), "Ready", target="InfrastructureReady")
    assert found == condition("InfrastructureReady", False, "Bad", "Broken.", since=SINCE)


def test_a_missing_condition_is_mirrored_as_unknown() -> None:
    found = mirror((READY,), "Available")
    assert (found.type, found.status, found.reason) == ("Available", "Unknown", "NotYetReported")
    assert found.message == "Condition Available not yet reported"
    assert found.last_transition_time == UNSET


def test_a_fallback_stands_in_for_a_missing_condition() -> None:
    fallback = condition("Any", False, "NotThere", "It does not exist.")
    found = mirror((), "Ready", target="BootstrapConfigReady", fallback=fallback)
    assert found == condition("BootstrapConfigReady", False, "NotThere", "It does not exist.")
