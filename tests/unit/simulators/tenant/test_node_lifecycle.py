"""The taints that follow from a node's state."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nagaya.simulators.tenant.node_lifecycle import retainted, wanted_taints

NOW = "2026-11-01T12:00:00Z"


def node(ready: str | None = "True", *, cordoned: bool = False, **conditions: str) -> dict[str, Any]:
    known = conditions if ready is None else {"Ready": ready, **conditions}
    listed = [{"type": kind, "status": status} for kind, status in known.items()]
    return {"spec": {"unschedulable": cordoned}, "status": {"conditions": listed}}


def keys(found: set[tuple[str, str]]) -> set[str]:
    return {f"{key.removeprefix('node.kubernetes.io/')}:{effect}" for key, effect in found}


def test_states_show_as_taints() -> None:
    assert keys(wanted_taints(node())) == set()
    assert keys(wanted_taints(node("False"))) == {"not-ready:NoSchedule", "not-ready:NoExecute"}
    assert keys(wanted_taints(node(None))) == {"not-ready:NoSchedule", "not-ready:NoExecute"}
    assert keys(wanted_taints(node("Unknown"))) == {"unreachable:NoSchedule", "unreachable:NoExecute"}
    assert keys(wanted_taints(node(cordoned=True))) == {"unschedulable:NoSchedule"}
    assert keys(wanted_taints(node(NetworkUnavailable="True"))) == {"network-unavailable:NoSchedule"}


def test_taints_keep_their_date_and_strangers_stay() -> None:
    old = [
        {"key": "mine", "effect": "NoSchedule"},
        {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute", "timeAdded": "2026-10-01T00:00:00Z"},
        {"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"},
    ]
    assert retainted(old, wanted_taints(node("False")), NOW) == [
        *old[:2],
        {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule", "timeAdded": NOW},
    ]


@given(st.sampled_from(["True", "False", "Unknown", None]), st.booleans(), st.sampled_from(["True", "False"]))
def test_what_is_right_already_is_left_alone(ready: str | None, cordoned: bool, pressure: str) -> None:
    wanted = wanted_taints(node(ready, cordoned=cordoned, DiskPressure=pressure))
    once = retainted([], wanted, NOW)
    assert {(each["key"], each["effect"]) for each in once} == wanted
    assert retainted(once, wanted, "2027-01-01T00:00:00Z") == once
