"""The management API itself: its version, its clock, and whether it knows the kinds in the form that is needed. Pure,
but for the look."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Final

from nagaya.api.catalog import PARTS
from nagaya.api.crd import render
from nagaya.api.definition import Definition
from nagaya.api.untyped import Untyped
from nagaya.insight.checkup.finding import Finding, Subject
from nagaya.kube.client import Client
from nagaya.kube.decoding import ServerVersion, read_document
from nagaya.kube.definitions import DEFINITIONS, missing
from nagaya.kube.errors import ApiError, Forbidden, ServerError
from nagaya.kube.transport import NOTHING
from nagaya.world import Clock

SUBJECT: Final = Subject("Management API")
ANSWER: Final = 10.0
"""Seconds that the API has for its version."""
SKEW: Final = 5.0
"""Seconds that two clocks may differ before it is worth a word."""
TOO_FAR: Final = 60.0
"""Seconds from which on certificates may be refused as not valid yet."""
NAMED: Final = 3
CORE: Final = "core"
_FAILED_CHECK: Final = re.compile(r"\[-\](.*?)(?=\s+(?:\[[+-]\]|\w+ check failed)|$)")


@dataclass(frozen=True, slots=True)
class Seen:
    """What the API said."""

    server: str
    version: str = ""
    skew: float | None = None
    """Seconds that its clock is ahead of this machine's; None if its answers have no date."""
    definitions: Mapping[str, Untyped] | None = field(default_factory=dict)
    """By name; None if they may not be read."""
    refused: str = ""
    """Why not."""
    unready: str = ""
    """Which of its own checks fail, and why."""
    behind: timedelta = timedelta()
    """How far its clock is behind the newest of its definitions."""

    def now(self, clock: Clock) -> datetime:
        """The time by the clock of the API, which dates objects."""
        moment = clock.now()
        return moment if not self.skew else datetime.fromtimestamp(moment.timestamp() + self.skew, moment.tzinfo)


async def look(client: Client, server: str, clock: Clock) -> Seen:
    """Ask. Raises NoAnswer, Unauthorized."""
    before = clock.now()
    version, headers = "", NOTHING
    try:
        answer = await client.raw("GET", "/version", timeout=ANSWER)
        version, headers = read_document(ServerVersion, "/version", answer.body).git_version, answer.headers
    except Forbidden:
        pass  # an answer all the same
    skew = skew_of(headers.get("date", ""), before, clock.now())
    unready = await _failed_checks(client)
    try:
        listed = (await client.list(DEFINITIONS)).items
    except ApiError as error:
        return Seen(server, version, skew, None, str(error), unready)
    seen = Seen(server, version, skew, {each.metadata.name: each for each in listed}, unready=unready)
    now = seen.now(clock)
    newest = max((each.metadata.creation_timestamp or now for each in listed), default=now)
    return replace(seen, behind=newest - now)


async def _failed_checks(client: Client) -> str:
    try:
        await client.raw("GET", "/readyz", timeout=ANSWER)
    except ServerError as error:
        return "; ".join(_FAILED_CHECK.findall(error.message)) or error.message or str(error)
    except ApiError:
        pass  # it may not be asked
    return ""


def skew_of(date: str, before: datetime, after: datetime) -> float | None:
    """How far the clock of whoever wrote a Date is ahead, at the least: it tells whole seconds, of some moment between
    the two."""
    try:
        told = parsedate_to_datetime(date).timestamp()
    except (TypeError, ValueError):
        return None
    if told > after.timestamp():
        return told - after.timestamp()
    return min(0.0, told + 1 - before.timestamp())


def findings(seen: Seen) -> list[Finding]:
    """All about the API."""
    version = f"Kubernetes {seen.version}" if seen.version else "a Kubernetes that does not tell its version"
    return [
        SUBJECT.ok("reachable", f"{version} answers at {seen.server}."),
        *([SUBJECT.problem("readiness", f"Its own checks fail: {seen.unready}")] if seen.unready else []),
        clock(seen),
        *kinds(seen),
    ]


def clock(seen: Seen) -> Finding:
    """Whether two machines agree on the time: leases, certificates and ages go by it."""
    remedy = "timedatectl set-ntp true   # on the machine whose clock is wrong"
    if seen.behind.days > 0:
        told = f"It is {seen.behind.days} days behind the newest of its definitions: it is wrong, or was."
        return SUBJECT.problem("clock", f"{told} Certificates and tokens from then are not valid yet.", remedy)
    if seen.skew is None:
        return SUBJECT.unchecked("clock", "Its answers have no date.")
    if abs(seen.skew) <= SKEW:
        return SUBJECT.ok("clock", f"Within {SKEW:.0f} s of this machine's.")
    told = f"It is {abs(seen.skew):.0f} s {'ahead of' if seen.skew > 0 else 'behind'} this machine's."
    if abs(seen.skew) <= TOO_FAR:
        return SUBJECT.warning("clock", told, remedy)
    return SUBJECT.problem("clock", f"{told} Certificates may be refused as not valid yet.", remedy)


def kinds(seen: Seen) -> Iterator[Finding]:
    """Whether the kinds are there, served in the versions that controllers use, and with all their fields."""
    if seen.definitions is None:
        yield SUBJECT.unchecked("kinds", f"Definitions may not be read: {seen.refused}")
        return
    installed, absent = [], []
    for part, definitions in PARTS.items():
        there = [each for each in definitions if _name(each) in seen.definitions]
        lacking = missing([each.kind for each in definitions], seen.definitions)
        old = [told for each in there for told in outdated(each, seen.definitions[_name(each)])]
        install = f"nagaya crds --only {part} | kubectl apply --server-side -f -"
        if not there:
            absent.append(part)
        elif lacking:
            yield SUBJECT.problem("kinds", f"Of {part} these are not served: {_listed(lacking)}.", install)
        elif old:
            yield SUBJECT.warning(
                "kinds",
                f"The definitions of {part} are older than this Nagaya, and do not keep {_listed(old)}.",
                f"{install.replace('apply', 'apply --force-conflicts')}",
            )
        else:
            installed.append(part)
    if CORE in absent:
        yield SUBJECT.problem(
            "kinds", "It knows no Clusters: the definitions are not installed.", "nagaya controllers --install-crds"
        )
    elif installed:
        rest = f" Not installed: {', '.join(absent)}." if absent else ""
        yield SUBJECT.ok("kinds", f"Served in the versions that are needed: {', '.join(installed)}.{rest}")


def outdated(definition: Definition, present: Untyped) -> list[str]:
    """The fields that a kind has and that its definition in the API does not: they would be lost without a word."""
    kind = definition.kind
    wanted = render(definition)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for each in present.at("spec", "versions") or ():
        if each.get("name") == kind.version:
            held = (each.get("schema") or {}).get("openAPIV3Schema") or {}
            return [f"{kind.kind} .{'.'.join(path)}" for path in _lost(wanted, held)]
    return []


def _lost(wanted: Mapping[str, Any], held: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    if held.get("x-kubernetes-preserve-unknown-fields"):
        return
    for name, schema in (wanted.get("properties") or {}).items():
        below = (held.get("properties") or {}).get(name)
        if below is None:
            yield (name,)
        else:
            yield from ((name, *rest) for rest in _lost(schema, below))
    for inside in ("items", "additionalProperties"):
        schema, below = wanted.get(inside), held.get(inside)
        if isinstance(schema, Mapping) and isinstance(below, Mapping):
            yield from _lost(schema, below)


def _name(definition: Definition) -> str:
    return f"{definition.kind.plural}.{definition.kind.group}"


def _listed(names: Iterable[str]) -> str:
    given = list(names)
    more = f" and {len(given) - NAMED} more" if len(given) > NAMED else ""
    return f"{', '.join(given[:NAMED])}{more}"
