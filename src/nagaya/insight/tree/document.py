"""A tree for programs: what `-o json` prints. Fields without a value are left out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from nagaya.insight.tree.branch import Branch, Counts, State


def document(branch: Branch) -> dict[str, Any]:
    """A branch and those below it as plain values."""
    found: dict[str, Any] = {
        "kind": branch.kind,
        "namespace": branch.namespace,
        "name": branch.name,
        "members": list(branch.members),
        "version": branch.version,
        "simulated": branch.simulated,
        "deletionTimestamp": _date(branch.deleting),
        "machines": _counts(branch.counts),
        "condition": None if branch.state is None else _state(branch.state),
        "conditions": [_state(each) for each in branch.conditions],
        "children": [document(each) for each in branch.children],
    }
    return {name: value for name, value in found.items() if value}


def _counts(counts: Counts) -> dict[str, int]:
    told = {
        "desired": counts.desired,
        "replicas": counts.replicas,
        "available": counts.available,
        "ready": counts.ready,
        "upToDate": counts.up_to_date,
    }
    return {name: value for name, value in told.items() if value is not None}


def _state(state: State) -> dict[str, Any]:
    found = {
        "type": state.type,
        "status": state.status,
        "reason": state.reason,
        "since": _date(state.since),
        "message": state.message,
    }
    return {name: value for name, value in found.items() if value}


def _date(date: datetime | None) -> str:
    return "" if date is None else date.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
