"""Is the server alive, is it ready: `/livez`, `/readyz`, and `/healthz` for older clients.

Each answers `ok`, or 500 with a line per check. `?verbose` shows the lines always, `?exclude=name` leaves a check out,
and every check has a path of its own below (`/readyz/storage`). `/metrics/slis` has them all as figures, for alerts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from nagaya.apiserver.web.request import Response, text

if TYPE_CHECKING:
    from nagaya.apiserver.web.handler import Endpoint, Exchange

Check = Callable[[], str]
"""Nothing if all is well, else what is wrong."""


def endpoints(live: Mapping[str, Check], ready: Mapping[str, Check]) -> dict[str, Endpoint]:
    """The paths of the health checks. What must hold for being alive must hold for being ready too."""
    groups = {"/livez": dict(live), "/readyz": {**live, **ready}, "/healthz": {**live, **ready}}
    made: dict[str, Endpoint] = {}
    for path, checks in groups.items():
        made[path] = _group(path.removeprefix("/"), checks)
        for name, check in checks.items():
            made[f"{path}/{name}"] = _single(check)
    made["/metrics/slis"] = _figures(groups)
    return made


def _group(name: str, checks: Mapping[str, Check]) -> Endpoint:
    def answer(exchange: Exchange) -> Response:
        query = exchange.request.query
        excluded = set(query.get("exclude", ()))
        failed, lines = [], []
        for each, check in checks.items():
            if each in excluded:
                lines.append(f"[+]{each} excluded: ok")
            elif problem := check():
                failed.append(each)
                lines.append(f"[-]{each} failed: {problem}")
            else:
                lines.append(f"[+]{each} ok")
        if unknown := sorted(excluded - set(checks)):
            quoted = ", ".join(f'"{each}"' for each in unknown)
            lines.append(f"warn: some health checks cannot be excluded: no matches for {quoted}")
        if failed:
            return text("\n".join([*lines, f"{name} check failed\n"]), 500)
        if "verbose" in query:
            return text("\n".join([*lines, f"{name} check passed\n"]))
        return text("ok")

    return answer


def _figures(groups: Mapping[str, Mapping[str, Check]]) -> Endpoint:
    head = "# HELP kubernetes_healthcheck Whether a health check passes.\n# TYPE kubernetes_healthcheck gauge\n"

    def answer(_: Exchange) -> Response:
        lines = [
            f'kubernetes_healthcheck{{name="{name}",type="{path.removeprefix("/")}"}} {0 if check() else 1}\n'
            for path, checks in groups.items()
            for name, check in checks.items()
        ]
        return Response(200, (head + "".join(lines)).encode(), "text/plain; version=0.0.4; charset=utf-8")

    return answer


def _single(check: Check) -> Endpoint:
    def answer(_: Exchange) -> Response:
        problem = check()
        return text(f"internal server error: {problem}\n", 500) if problem else text("ok")

    return answer
