"""What bodies of the controls mean: changes of hosts, mishaps, things to download."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, TypeVar

from nagaya.simulators.proxmox.control.control import Control
from nagaya.simulators.proxmox.faults.fault import Calls, Fault, Kind, Steps, TaskFault, TaskKind, When
from nagaya.simulators.proxmox.state.node import Unreachable
from nagaya.simulators.proxmox.storages.sources import Source

T = TypeVar("T")
_POWER = ("on", "off", "cut-off", "reconnected")


class Mistake(ValueError):
    """A body that means nothing."""


def host_change(control: Control, rest: list[str], body: Mapping[str, Any]) -> None:
    """PUT hosts/{name}: power, how its address fails, pvedaemon, slowness, maintenance."""
    if len(rest) != 1:
        raise Mistake("name one host: PUT hosts/{name}")
    name = control.host(rest[0]).name
    unknown = body.keys() - {"power", "unreachable", "daemon", "slowness", "maintenance"}
    if unknown:
        raise Mistake(f"a host has no {', '.join(sorted(unknown))}")
    control.change_host(name, **{key: body[key] for key in ("daemon", "slowness", "maintenance") if key in body})
    power = body.get("power")
    if power == "off":
        control.power_off(name, _unreachable(body.get("unreachable", "no_route")))
    elif power == "on":
        control.power_on(name)
    elif power == "cut-off":
        control.cut_off(name)
    elif power == "reconnected":
        control.reconnect(name)
    elif power is not None:
        raise Mistake(f"power is one of {', '.join(_POWER)}, not {power!r}")


def _unreachable(text: str) -> Unreachable:
    try:
        return Unreachable[str(text).upper()]
    except KeyError:
        raise Mistake(f"unreachable is one of {', '.join(each.name.lower() for each in Unreachable)}") from None


def fault_in(body: dict[str, Any]) -> Fault:
    """A mishap for calls: kind, method, path, node, caller, after, times, probability, status, reason, seconds."""
    kind = _kind(Kind, body)
    fault = Fault(kind, _part(Calls, body), _part(When, body))
    for name in ("status", "reason", "seconds"):
        if name in body:
            setattr(fault, name, body.pop(name))
    _nothing_left(body)
    return fault


def task_fault_in(body: dict[str, Any]) -> TaskFault:
    """A mishap for tasks: kind, type, id, node, step, after, times, probability, text."""
    kind = _kind(TaskKind, body)
    fault = TaskFault(kind, _part(Steps, body), _part(When, body))
    if "text" in body:
        fault.text = str(body.pop("text"))
    _nothing_left(body)
    return fault


def _kind(kinds: type[T], body: dict[str, Any]) -> T:
    given = body.pop("kind", None)
    try:
        return kinds(given)  # type: ignore[call-arg]  # an enumeration is called with a value
    except ValueError:
        raise Mistake(f"kind is one of {', '.join(kinds)}, not {given!r}") from None  # type: ignore[arg-type]  # as above


def _part(made: type[T], body: dict[str, Any]) -> T:
    names = {each.name for each in fields(made)}  # type: ignore[arg-type]  # only data classes are asked for
    return made(**{name: body.pop(name) for name in list(body) if name in names})


def _nothing_left(body: Mapping[str, Any]) -> None:
    if body:
        raise Mistake(f"unknown: {', '.join(sorted(body))}")


def shown_fault(fault: Fault | TaskFault) -> dict[str, Any]:
    """A mishap as it was ordered, and what has become of it."""
    parts = asdict(fault)
    what = "calls" if isinstance(fault, Fault) else "steps"
    return {"of": what, **parts.pop(what), **parts.pop("when"), **parts, "kind": fault.kind.value}


def source_in(body: dict[str, Any]) -> tuple[str, Source]:
    """Something to download: url, and data (base64) or size and checksums, or redirect, or another status."""
    if "url" not in body:
        raise Mistake("'url' is missing")
    url = str(body.pop("url"))
    try:
        data = base64.b64decode(body.pop("data"), validate=True) if "data" in body else None
    except (binascii.Error, TypeError) as error:
        raise Mistake(f"data is no base64: {error}") from error
    source = _part(Source, {**body, "data": data})
    _nothing_left({name: value for name, value in body.items() if name not in {each.name for each in fields(Source)}})
    return url, source
