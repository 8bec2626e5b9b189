"""The resource group: devices and claims to them."""

from __future__ import annotations

from datetime import datetime

from nagaya.apiserver.meta import durations
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.table.builtin.parts import NONE, age, deleting, name, spec, status
from nagaya.apiserver.table.columns import AGE, NAME, Cells, number, shape, text


@shape(NAME, AGE)
def PLAIN(obj: JsonObject, now: datetime) -> Cells:
    return [name(obj), age(obj, now)]


@shape(NAME, text("State", "What has become of the claim."), AGE)
def RESOURCE_CLAIMS(obj: JsonObject, now: datetime) -> Cells:
    observed = status(obj)
    states = ["deleted"] if deleting(obj) else []
    if observed.get("allocation") is not None:
        states.append("allocated")
        if observed.get("reservedFor"):
            states.append("reserved")
    elif not states:
        states.append("pending")
    return [name(obj), ",".join(states), age(obj, now)]


@shape(
    NAME,
    text("Node", "The node that has the devices."),
    text("Driver", "The driver that provides them."),
    text("Pool", "The pool that they belong to."),
    AGE,
)
def RESOURCE_SLICES(obj: JsonObject, now: datetime) -> Cells:
    wanted = spec(obj)
    pool = (wanted.get("pool") or {}).get("name") or ""
    return [name(obj), wanted.get("nodeName") or "", wanted.get("driver") or "", pool, age(obj, now)]


@shape(
    NAME,
    text("Key", "The key of the taint."),
    text("Value", "The value of the taint."),
    text("Effect", "What it does to claims that do not tolerate it."),
    text("TimeAdded", "The time since it was added."),
    AGE,
)
def DEVICE_TAINT_RULES(obj: JsonObject, now: datetime) -> Cells:
    taint: JsonObject = spec(obj).get("taint") or {}
    added = taint.get("timeAdded")
    shown = [taint.get(member) or "" for member in ("key", "value", "effect")]
    return [name(obj), *shown, "" if added is None else durations.since(added, now), age(obj, now)]


@shape(
    NAME,
    text("Driver", "The driver whose pools are counted."),
    text("Total", "The number of devices."),
    text("Available", "The number of devices that are free."),
    text("Allocated", "The number of devices in use."),
    text("Unavailable", "The number of devices that cannot be used."),
    text("Errors", "The number of pools with errors."),
    number("Pools", "The number of pools."),
    text("Status", "How far the request is."),
    text("Completed", "The time since it was done."),
)
def RESOURCE_POOL_STATUS_REQUESTS(obj: JsonObject, now: datetime) -> Cells:
    observed: JsonObject | None = obj.get("status")
    driver = spec(obj).get("driver") or ""
    if observed is None:
        return [name(obj), driver, *["-"] * 5, 0, "Pending", NONE]
    state, completed = "Pending", NONE
    for each in observed.get("conditions") or ():
        if each.get("type") in ("Complete", "Failed") and each.get("status") == "True":
            state = each["type"]
            if state == "Complete":
                completed = durations.since(each.get("lastTransitionTime"), now)
            break
    pools: list[JsonObject] = observed.get("pools") or []
    count = observed.get("poolCount") or 0
    sums = ["-"] * 5
    if state != "Failed":
        members = ("totalDevices", "availableDevices", "allocatedDevices", "unavailableDevices")
        sums = [str(sum(pool.get(member) or 0 for pool in pools)) for member in members]
        sums.append(str(sum(pool.get("validationError") is not None for pool in pools)))
    if state == "Complete" and count > len(pools):
        state = f"Complete ({len(pools)}/{count} pools)"
    return [name(obj), driver, *sums, count, state, completed]
