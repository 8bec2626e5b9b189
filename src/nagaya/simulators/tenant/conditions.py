"""Conditions of nodes and pods, written as their keepers write them."""

from __future__ import annotations

from collections.abc import Sequence

from nagaya.apiserver.meta.status import JsonObject


def set_conditions(status: JsonObject, wanted: Sequence[JsonObject], now: str) -> bool:
    """Put conditions into a status. Each keeps the date of its last transition unless its status turns.

    Returns whether anything but a heartbeat changed.
    """
    current: dict[str, JsonObject] = {each["type"]: each for each in status.get("conditions") or ()}
    changed = False
    for each in wanted:
        known = current.get(each["type"])
        turned = known is None or known.get("status") != each["status"]
        made = {**(known or {}), **each}
        made["lastTransitionTime"] = now if turned or known is None else known.get("lastTransitionTime")
        for optional in ("reason", "message"):
            if optional not in each:
                made.pop(optional, None)
        heartbeat = "lastHeartbeatTime"
        changed = changed or known is None or {**made, heartbeat: ""} != {**known, heartbeat: ""}
        current[each["type"]] = made
    status["conditions"] = list(current.values())
    return changed
