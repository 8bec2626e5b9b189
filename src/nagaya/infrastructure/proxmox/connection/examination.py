"""Everything that can be wrong with a connection, looked at once and told in sentences for `nagaya proxmox check`.

It asks the way the controllers do, with the stored token, and changes nothing. One part that fails does not keep the
others from being looked at, unless they depend on it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

from nagaya.api.proxmox.conditions import ProxmoxConnectionCondition, ProxmoxConnectionReason
from nagaya.api.proxmox.proxmox_connection import ConnectionDefaults, ProxmoxConnection
from nagaya.infrastructure.proxmox.client import Endpoint, Facts, Proxmox, Snapshot, Trust
from nagaya.infrastructure.proxmox.client.errors import HostUnreachable, ProxmoxError
from nagaya.infrastructure.proxmox.connection.connections import REFUSALS, Connected
from nagaya.infrastructure.proxmox.connection.establishing.certificate import Certificate, NoCertificate
from nagaya.infrastructure.proxmox.connection.findings import OLDEST, Findings, find
from nagaya.infrastructure.proxmox.connection.host_questions import Answers, ask_hosts
from nagaya.infrastructure.proxmox.connection.reference import connection_reference
from nagaya.infrastructure.proxmox.connection.status import told_of
from nagaya.infrastructure.proxmox.connection.storage_room import NO_ROOM, fullest
from nagaya.infrastructure.proxmox.privileges.missing import commands
from nagaya.infrastructure.proxmox.privileges.missing import named as named_missing
from nagaya.infrastructure.proxmox.privileges.refusal import Refusal
from nagaya.kube.conditions import get
from nagaya.world import Clock

SKEW: Final = 5.0
"""Seconds that the clock of a host may be wrong before it is worth a word: certificates and logs are dated by it."""
RENEWAL: Final = timedelta(days=14)
"""PVE renews certificates of hosts two weeks before they end."""

_ELSEWHERE: Final = frozenset({ProxmoxConnectionReason.UNREACHABLE, ProxmoxConnectionReason.CERTIFICATE_NOT_TRUSTED})
"""What may be so where the controllers are, and not here."""

Shown = Callable[[Endpoint, Trust], Awaitable[Certificate]]
"""Looks at the certificate of a host. Raises NoCertificate."""


class Verdict(StrEnum):
    """How something is."""

    GOOD = "good"
    WARNING = "warning"
    """It works, and might not for long, or not everywhere."""
    BAD = "bad"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Examined:
    """One thing that was looked at."""

    what: str
    verdict: Verdict
    sentence: str
    commands: tuple[str, ...] = ()
    """What puts it right, run by root on any host."""


async def examine(connection: ProxmoxConnection, facts: Facts, proxmox: Proxmox, shown: Shown) -> list[Examined]:
    """Look at all of it."""
    clock = proxmox.calls.world.clock
    found = [*await asyncio.gather(*(_endpoint(each, facts, shown, clock) for each in facts.endpoints))]
    try:
        findings = await find(proxmox, _refused(connection))
        snapshot = await proxmox.inventory.get()
    except ProxmoxError as error:
        what = "endpoints" if isinstance(error, HostUnreachable) else "credentials"
        found.append(Examined(what, Verdict.BAD, told_of(connection, error)))
        return [*found, _controllers(connection, found)]
    found.append(Examined("credentials", Verdict.GOOD, f"Proxmox VE takes {findings.subject}."))
    defaults = connection.spec.defaults or ConnectionDefaults()
    connected = Connected(
        connection_reference(connection),
        proxmox,
        connection.spec.pool,
        defaults,
        findings,
        connection.status.datacenter,
    )
    found += [_version(connected, findings), _quorum(snapshot), _hosts(snapshot), _privileges(connected, findings)]
    found += _storages(snapshot, defaults)
    answers = await ask_hosts(proxmox, snapshot)
    found += [_templates(snapshot, defaults), _host_versions(answers), _clocks(answers)]
    return [*found, _controllers(connection, found)]


async def _endpoint(endpoint: Endpoint, facts: Facts, shown: Shown, clock: Clock) -> Examined:
    what, trust = f"endpoint {endpoint}", facts.trust
    try:
        certificate = await shown(endpoint, trust)
    except NoCertificate as error:
        # Several are named so that one may be off; that all are is told apart from this.
        why, alone = str(error).removeprefix(f"{endpoint} "), len(facts.endpoints) == 1
        return Examined(what, Verdict.BAD if alone else Verdict.WARNING, f"{why[:1].upper()}{why[1:]}")
    if certificate.distrust:
        return Examined(
            what,
            Verdict.BAD,
            f"The certificate is not trusted: {certificate.distrust}. It has the SHA-256 fingerprint "
            f"{certificate.fingerprint}.",
        )
    ends = f"{certificate.ends:%Y-%m-%d}"
    if certificate.ends - clock.now() < RENEWAL:
        return Examined(what, Verdict.WARNING, f"The certificate ends on {ends}.", ("pvecm updatecerts --force",))
    if trust.insecure:
        return Examined(what, Verdict.WARNING, "Answers, and anybody could: certificates are not looked at (insecure).")
    way = (
        "its fingerprint" if trust.fingerprints else "its authority" if trust.authority else "the system's authorities"
    )
    return Examined(what, Verdict.GOOD, f"Answers, and is recognised by {way} until {ends}.")


def _version(connected: Connected, findings: Findings) -> Examined:
    text = findings.version.text
    if findings.version.release < OLDEST:
        return Examined("version", Verdict.BAD, f"Proxmox VE {text} is too old: {OLDEST[0]}.{OLDEST[1]} is the first.")
    if connected.is_another:
        return Examined(
            "version",
            Verdict.BAD,
            f"The endpoints lead to the Proxmox VE {findings.datacenter}; the machines are on {connected.known_as}.",
        )
    return Examined("version", Verdict.GOOD, f"Proxmox VE {text}, data center {findings.datacenter or 'unknown'}.")


def _quorum(snapshot: Snapshot) -> Examined:
    if snapshot.quorate is None:
        return Examined("quorum", Verdict.UNKNOWN, "Sys.Audit on / is needed to see the quorum.")
    if snapshot.quorate:
        return Examined("quorum", Verdict.GOOD, "The cluster has quorum.")
    return Examined(
        "quorum",
        Verdict.BAD,
        "The cluster has no quorum, so nothing can be changed: more than half of its hosts must be on and connected.",
        ("pvecm status",),
    )


def _hosts(snapshot: Snapshot) -> Examined:
    off = [name for name, host in sorted(snapshot.hosts.items()) if not host.online]
    kept_free = [name for name, host in sorted(snapshot.hosts.items()) if host.maintenance]
    if not snapshot.hosts:
        return Examined("hosts", Verdict.BAD, "No host can be seen: Sys.Audit on /nodes is needed.")
    if len(off) == len(snapshot.hosts):
        return Examined("hosts", Verdict.BAD, "No host is on.")
    on = ", ".join(name for name in sorted(snapshot.hosts) if name not in off)
    said = f"On: {on}."
    said += f" Off: {', '.join(off)}; nothing is placed there." if off else ""
    said += f" In maintenance: {', '.join(kept_free)}." if kept_free else ""
    return Examined("hosts", Verdict.WARNING if off or kept_free else Verdict.GOOD, said)


def _privileges(connected: Connected, findings: Findings) -> Examined:
    checked = connected.preflight
    assert checked is not None
    if not connected.missing:
        way = {"iso": "on a CD", "native": "by the guest agent"}.get(checked.delivery, "in no way")
        return Examined("privileges", Verdict.GOOD, f"All that are needed. Boot data goes {way}.")
    lacks = f"{findings.subject} lacks {named_missing(connected.missing)}."
    return Examined("privileges", Verdict.BAD, lacks, tuple(filter(None, commands(connected.missing))))


def _refused(connection: ProxmoxConnection) -> tuple[Refusal, ...]:
    """What the controllers were refused for, as they tell it."""
    told = connection.status.missing_privileges
    return tuple(Refusal(each.path, (each.privilege,)) for each in told[:REFUSALS])


def _storages(snapshot: Snapshot, defaults: ConnectionDefaults) -> Iterable[Examined]:
    held: dict[str, set[str]] = {}
    away: dict[str, list[str]] = {}
    told: set[str] = set()
    for (node, name), row in sorted(snapshot.storages.items()):
        held.setdefault(name, set()).update(row.contents)
        host = snapshot.hosts.get(node)
        if not row.available and host is not None and host.online:
            away.setdefault(name, []).append(node)
    for option, named, content in (
        ("storage", defaults.storage, "images"),
        ("isoStorage", defaults.iso_storage, "iso"),
    ):
        if named and named not in held:
            told.add(named)
            yield Examined(f"storage {named}", Verdict.BAD, f"defaults.{option} names it, and it cannot be seen.")
        elif named and content not in held[named]:
            told.add(named)
            has = ",".join(sorted(held[named]))
            fix = (f"pvesm set {named} --content {has},{content}",)
            yield Examined(f"storage {named}", Verdict.BAD, f"It holds {has}, and is to hold {content}.", fix)
    if not any("images" in contents for contents in held.values()):
        yield Examined("storages", Verdict.BAD, "No storage that may hold disks (content images) can be seen.")
    for name, contents in held.items():
        if name in told:
            continue
        said = f"Holds {', '.join(sorted(contents)) or 'nothing'}."
        crowded = fullest([row for row in snapshot.storages.values() if row.name == name])
        if crowded is not None and contents & {"images", "iso"}:
            said += f" {crowded}."
        if crowded is not None and crowded.is_full and contents & {"images", "iso"}:
            needed = name in (defaults.storage, defaults.iso_storage)
            yield Examined(f"storage {name}", Verdict.BAD if needed else Verdict.WARNING, f"{said} {NO_ROOM}")
        elif crowded is not None and crowded.is_nearly_full and contents & {"images", "iso"}:
            yield Examined(f"storage {name}", Verdict.WARNING, f"{said} {NO_ROOM}")
        elif name in away:
            yield Examined(f"storage {name}", Verdict.WARNING, f"{said} Not available on {', '.join(away[name])}.")
        else:
            yield Examined(f"storage {name}", Verdict.GOOD, said)


def _templates(snapshot: Snapshot, defaults: ConnectionDefaults) -> Examined:
    found = sorted((each for each in snapshot.machines.values() if each.template), key=lambda each: each.vmid)
    if not found:
        return Examined(
            "templates",
            Verdict.WARNING,
            "None can be seen: make one with `nagaya proxmox image add`, or grant VM.Audit.",
        )
    named = "; ".join(f"{each.vmid} on {each.node} ({', '.join(each.tags) or 'no tags'})" for each in found)
    selector = defaults.template_selector
    wanted = {tag.lower() for tag in selector.match_tags} if selector is not None else set()
    if wanted and not any(wanted <= {*each.tags} for each in found):
        said = f"None has the tags of defaults.templateSelector ({', '.join(sorted(wanted))}). There are: {named}."
        return Examined("templates", Verdict.WARNING, said)
    return Examined("templates", Verdict.GOOD, f"{named}.")


def _host_versions(answers: Answers) -> Examined:
    """Hosts of one cluster run one release, except for the hour in which they are upgraded."""
    what, versions = "host versions", answers.versions
    if not versions:
        silent = ", ".join(answers.silent) or "none is on"
        return Examined(what, Verdict.UNKNOWN, answers.refused or f"No host told its version ({silent}).")
    releases = {tuple(text.split(".")[:2]) for text in versions.values()}
    if len(releases) > 1:
        named = ", ".join(f"{name} runs {text}" for name, text in versions.items())
        fix = tuple(
            f"apt update && apt full-upgrade   # on {name}"
            for name, text in versions.items()
            if _release(text) < max(map(_release, versions.values()))
        )
        return Examined(what, Verdict.WARNING, f"Hosts run different releases: {named}. Upgrade the older ones.", fix)
    one = "The host runs" if len(versions) == 1 else "All hosts run"
    return Examined(what, Verdict.GOOD, f"{one} {', '.join(sorted(set(versions.values())))}.")


def _release(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.partition("-")[0].split(".")[:2] if part.isdigit())


def _clocks(answers: Answers) -> Examined:
    wrong = [
        f"{name} is {abs(skew):.0f} s {'ahead' if skew > 0 else 'behind'}"
        for name, skew in answers.skews.items()
        if abs(skew) > SKEW
    ]
    silent = f" {', '.join(answers.silent)} did not tell." if answers.silent else ""
    if wrong:
        fix = ("systemctl restart chrony",)
        return Examined("clocks", Verdict.WARNING, f"Against this machine: {', '.join(wrong)}.{silent}", fix)
    if not answers.skews:
        named = ", ".join(answers.silent) or "none is on"
        return Examined("clocks", Verdict.UNKNOWN, answers.refused or f"No host told its time ({named}).")
    verdict = Verdict.WARNING if answers.silent else Verdict.GOOD
    return Examined("clocks", verdict, f"Within {SKEW:.0f} s of this machine's.{silent}")


def _controllers(connection: ProxmoxConnection, looked: Sequence[Examined]) -> Examined:
    """What the controllers say, who may see something else: they ask from another place, and at other times."""
    ready = get(connection.status.conditions, ProxmoxConnectionCondition.READY)
    if ready is None:
        said = "None has looked at the connection yet: start them with `nagaya up`, or `nagaya controllers`."
        return Examined("controllers", Verdict.WARNING, said)
    if ready.status == "True":
        return Examined("controllers", Verdict.GOOD, "They find the connection ready.")
    if any(each.sentence == ready.message for each in looked):
        return Examined("controllers", Verdict.BAD, "They say the same.")
    if ready.reason not in _ELSEWHERE and not any(each.verdict is Verdict.BAD for each in looked):
        said = f"They have not seen yet that it is in order ({ready.reason}), and look again within minutes."
        return Examined("controllers", Verdict.WARNING, said)
    return Examined("controllers", Verdict.BAD, f"They say: {ready.message}")
