"""What a container is asked or told while it runs: probes, and handlers at its start and end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, Path, forbidden, invalid, not_supported, required
from nagaya.apiserver.meta.status import JsonObject

NEGATIVE: Final = "must be greater than or equal to 0"


def validate_probes(container: JsonObject, grace: int | None, path: Path) -> Iterator[FieldError]:
    """The three probes of a container."""
    for name, once in (("livenessProbe", True), ("readinessProbe", False), ("startupProbe", True)):
        probe: JsonObject | None = container.get(name)
        if probe is None:
            continue
        where = path.child(name)
        yield from _validate_handler(probe, grace, where)
        yield from _validate_numbers(probe, where)
        if once and probe.get("successThreshold", 0) != 1:
            yield invalid(where.child("successThreshold"), probe.get("successThreshold", 0), "must be 1")
        if not once and probe.get("terminationGracePeriodSeconds") is not None:
            period = probe["terminationGracePeriodSeconds"]
            place = where.child("terminationGracePeriodSeconds")
            yield invalid(place, period, "must not be set for readinessProbes")


def _validate_numbers(probe: JsonObject, path: Path) -> Iterator[FieldError]:
    for name in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"):
        if (number := probe.get(name, 0)) < 0:
            yield invalid(path.child(name), number, NEGATIVE)
    period = probe.get("terminationGracePeriodSeconds")
    if period is not None and period <= 0:
        yield invalid(path.child("terminationGracePeriodSeconds"), period, "must be greater than 0")


def validate_lifecycle(lifecycle: JsonObject, grace: int | None, path: Path) -> Iterator[FieldError]:
    """What happens right after a container's start and before its end."""
    for name in ("postStart", "preStop"):
        if (handler := lifecycle.get(name)) is not None:
            yield from _validate_handler(handler, grace, path.child(name))


def _validate_handler(handler: JsonObject, grace: int | None, path: Path) -> Iterator[FieldError]:
    found = False
    for name, check in _HANDLERS.items():
        if (action := handler.get(name)) is None:
            continue
        where = path.child(name)
        if found:
            yield forbidden(where, "may not specify more than 1 handler type")
        else:
            found = True
            yield from check(action, grace, where)
    if not found:
        yield required(path, "must specify a handler type")


def _validate_exec(action: JsonObject, grace: int | None, path: Path) -> Iterator[FieldError]:
    if not action.get("command"):
        yield required(path.child("command"))


def _validate_http(action: JsonObject, grace: int | None, path: Path) -> Iterator[FieldError]:
    if not action.get("path"):
        yield required(path.child("path"))
    yield from validate_port(action.get("port", 0), path.child("port"))
    scheme = action.get("scheme") or ""
    if scheme not in ("HTTP", "HTTPS"):
        yield not_supported(path.child("scheme"), scheme, ("HTTP", "HTTPS"))
    for header in action.get("httpHeaders") or ():
        name = header.get("name") or ""
        yield from (invalid(path.child("httpHeaders"), name, problem) for problem in names.http_header_name(name))


def _validate_tcp(action: JsonObject, grace: int | None, path: Path) -> Iterator[FieldError]:
    yield from validate_port(action.get("port", 0), path.child("port"))


def _validate_sleep(action: JsonObject, grace: int | None, path: Path) -> Iterator[FieldError]:
    seconds = action.get("seconds", 0)
    if grace is not None and not 0 <= seconds <= grace:
        detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        yield invalid(path, seconds, detail)


_Check = Callable[[JsonObject, int | None, Path], Iterator[FieldError]]
_HANDLERS: Final[dict[str, _Check]] = {
    "exec": _validate_exec,
    "httpGet": _validate_http,
    "tcpSocket": _validate_tcp,
    "grpc": _validate_tcp,
    "sleep": _validate_sleep,
}


def validate_port(port: Any, path: Path) -> Iterator[FieldError]:
    """A port by its number or name."""
    problems = names.port_name(port) if isinstance(port, str) else names.port_number(port)
    yield from (invalid(path, port, problem) for problem in problems)
