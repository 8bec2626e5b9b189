"""Conditions in the status of objects: one for each type, and the time of its last change of mind."""

from __future__ import annotations

from nagaya.apiserver.meta.status import JsonObject


def with_condition(conditions: list[JsonObject] | None, condition: JsonObject, now: str) -> list[JsonObject]:
    """The conditions with one of them set, in its old place. The time is kept as long as the status is the same."""
    found = list(conditions or ())
    place = next((at for at, each in enumerate(found) if each["type"] == condition["type"]), len(found))
    before = found[place] if place < len(found) else {}
    same = before.get("status") == condition["status"]
    time = before["lastTransitionTime"] if same and before.get("lastTransitionTime") else now
    found[place : place + 1] = [{**condition, "lastTransitionTime": time}]
    return found
