"""What the API of a tenant says itself: whether it answers, how its Nodes are, what would keep pods from starting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from nagaya.cloud.lint import living
from nagaya.cloud.lint.finding import Severity
from nagaya.cloud.lint.manifests import Manifests
from nagaya.cloud.lint.report import Report, lint
from nagaya.cloud.lint.taints import CAPI_UNINITIALIZED, UNINITIALIZED
from nagaya.clusters.node import NODES, Node
from nagaya.insight.checkup.finding import Finding, Subject
from nagaya.insight.picture.member import Member
from nagaya.kube.client import Client
from nagaya.kube.connection import Connection
from nagaya.kube.decoding import ServerVersion, read_document
from nagaya.kube.errors import ApiError
from nagaya.kube.transport import NoAnswer, Transport
from nagaya.world import World

ANSWER: Final = 5.0
"""Seconds that a tenant's API has for its version."""
READING: Final = 20.0
"""Seconds that all of its objects may take."""
NAMED: Final = 3
_UNINITIALIZED: Final = (UNINITIALIZED.key, CAPI_UNINITIALIZED.key)
Ways = Callable[[Connection], Transport]
"""How tenants are reached."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One tenant."""

    server: str = ""
    version: str = ""
    silent: str = ""
    """Why it does not answer; empty if it does."""
    no_way: str = ""
    """Why nobody knows how to reach it, as long as it has no control plane."""
    nodes: tuple[Node, ...] = ()
    report: Report | None = None
    unread: tuple[str, ...] = field(default_factory=tuple)


async def look(management: Client, world: World, namespace: str, name: str, ways: Ways) -> Seen:
    """Ask a tenant. Raises NoAnswer and ApiError of the management API alone."""
    try:
        way = await living.tenant_connection(management, namespace, name)
    except living.NotReadable as error:
        return Seen(no_way=str(error))
    tenant = Client(ways(way), world=world)
    version = ""
    try:
        async with asyncio.timeout(ANSWER):
            answer = await tenant.raw("GET", "/version", timeout=ANSWER)
        version = read_document(ServerVersion, "/version", answer.body).git_version
        async with asyncio.timeout(READING):
            nodes = tuple((await tenant.list(NODES)).items)
            report, unread = await _linted(management, tenant, namespace, name)
        return Seen(way.server, version, nodes=nodes, report=report, unread=unread)
    except TimeoutError:
        late = f"it did not tell all of its objects within {READING:.0f} s"
        return Seen(way.server, version, silent="" if version else f"no answer within {ANSWER:.0f} s", unread=(late,))
    except (ApiError, NoAnswer) as error:
        return Seen(way.server, version, silent="" if version else str(error), unread=(str(error),))
    finally:
        await tenant.close()


async def _linted(management: Client, tenant: Client, namespace: str, name: str) -> tuple[Report, tuple[str, ...]]:
    above = await living.of_management(management, namespace, name)
    below = await living.of_tenant(tenant)
    refused = (*above.refused, *below.refused)
    return lint(Manifests([*above.objects, *below.objects], complete=not refused)), refused


def findings(subject: Subject, cluster: Member, seen: Seen, *, comes: bool = False) -> Iterator[Finding]:
    """All that a tenant tells. `comes`: it is new, so that its API need not be there yet."""
    explain = f"nagaya why cluster/{cluster.name} -n {cluster.namespace}"
    if seen.no_way:
        new = comes or not cluster.holds("ControlPlaneInitialized")
        make = subject.unchecked if new else subject.problem
        yield make("API", seen.no_way, explain)
        return
    if seen.silent:
        make = subject.unchecked if comes and not cluster.holds("ControlPlaneInitialized") else subject.problem
        yield make("API", f"It does not answer at {seen.server}: {seen.silent.rstrip('.')}.", explain)
        return
    yield subject.ok("API", f"Kubernetes {seen.version} answers at {seen.server}.")
    if seen.report is None:
        yield subject.unchecked("nodes", "; ".join(seen.unread) or "They were not told.")
        return
    yield _nodes(subject, seen, explain)
    yield _deadlocks(subject, cluster, seen)


def _is_up(node: Node) -> bool:
    ready = node.condition("Ready")
    waits = any(each.key in _UNINITIALIZED for each in node.spec.taints)
    return ready is not None and ready.status == "True" and not waits


def _nodes(subject: Subject, seen: Seen, explain: str) -> Finding:
    if not seen.nodes:
        return subject.warning("nodes", "It has no Nodes, so nothing runs in it.", explain)
    down = [each for each in seen.nodes if not _is_up(each)]
    if down:
        named = ", ".join(each.metadata.name for each in down[:NAMED])
        more = f" and {len(down) - NAMED} more" if len(down) > NAMED else ""
        told = f"{len(down)} of {len(seen.nodes)} Nodes are not ready: {named}{more}."
        return (subject.problem if len(down) == len(seen.nodes) else subject.warning)("nodes", told, explain)
    count = f"All {len(seen.nodes)} Nodes are" if len(seen.nodes) > 1 else "Its one Node is"
    return subject.ok("nodes", f"{count} ready.")


def _deadlocks(subject: Subject, cluster: Member, seen: Seen) -> Finding:
    """What would keep a Node from ever being initialised, found in what runs there."""
    check, report = "bootstrap", seen.report
    assert report is not None
    bad = [each for each in report.findings if each.severity is Severity.ERROR]
    doubtful = [each for each in report.findings if each.severity is Severity.WARNING]
    command = f"nagaya lint --cluster {cluster.name} -n {cluster.namespace}"
    if bad or doubtful:
        first, *more = bad or doubtful
        rest = f" And {len(more)} more." if more else ""
        # Where all Nodes are up nothing waits at the moment: the next Node may.
        make = subject.problem if bad and not all(map(_is_up, seen.nodes)) else subject.warning
        return make(check, f"{first.check}: {first.object}: {first.why}{rest}", command)
    if seen.unread:
        return subject.unchecked(check, f"Not all could be read: {seen.unread[0]}", command)
    looked = ", ".join(report.looked_at) or "it has no cloud controller manager and no pod network of a known kind"
    return subject.ok(check, f"Nothing waits for itself ({looked}).")
