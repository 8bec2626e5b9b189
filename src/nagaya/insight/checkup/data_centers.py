"""Every Proxmox VE that clusters are on: the examination of its connection, and the templates that machines need."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import Final

from nagaya.api.meta import ObjectMeta
from nagaya.api.proxmox.proxmox_cluster import PROXMOX_CLUSTERS, ProxmoxCluster
from nagaya.api.proxmox.proxmox_connection import (
    PROXMOX_CONNECTIONS,
    ConnectionDefaults,
    ProxmoxConnection,
    ProxmoxConnectionSpec,
)
from nagaya.api.proxmox.references import SecretReference
from nagaya.api.proxmox.template_source import TemplateSelector
from nagaya.infrastructure.proxmox.client import Proxmox
from nagaya.infrastructure.proxmox.client.errors import ProxmoxError
from nagaya.infrastructure.proxmox.connection.command import again
from nagaya.infrastructure.proxmox.connection.establishing.certificate import shown
from nagaya.infrastructure.proxmox.connection.examination import Examined, Shown, Verdict, examine
from nagaya.infrastructure.proxmox.connection.opening import Opener, opened
from nagaya.infrastructure.proxmox.connection.reference import (
    CONNECTION,
    NoConnection,
    Reference,
    connection_reference,
    reference_among,
)
from nagaya.infrastructure.proxmox.machine_template.availability import Use, availability
from nagaya.insight.checkup.finding import Finding, Standing, Subject
from nagaya.insight.checkup.objects import Objects, typed
from nagaya.insight.checkup.templates import ADD, templates, uses
from nagaya.kube.client import Client
from nagaya.world import World

_STANDINGS: Final = {
    Verdict.GOOD: Standing.OK,
    Verdict.WARNING: Standing.WARNING,
    Verdict.BAD: Standing.PROBLEM,
    Verdict.UNKNOWN: Standing.UNCHECKED,
}
PATIENCE: Final = 20.0
"""Seconds that hosts may take to tell of their templates."""
_DECISIVE: Final = ("credentials", "endpoints")
"""Without these nothing else can be asked."""
_CONTROLLERS: Final = "controllers"
"""What is said of a ProxmoxConnection alone: a Secret has no status."""


def references(objects: Objects) -> dict[Reference, list[ProxmoxCluster]]:
    """The connections, and the clusters that use each. Those whose clusters do not say which are told by the clusters
    themselves, in their conditions."""
    found: dict[Reference, list[ProxmoxCluster]] = {
        connection_reference(each): [] for each in connections(objects).values()
    }
    for cluster in _typed_clusters(objects):
        names = [
            each.name for each in objects.of_kind("ProxmoxConnection") if each.namespace == cluster.metadata.namespace
        ]
        try:
            found.setdefault(reference_among(names, cluster), []).append(cluster)
        except NoConnection:
            continue
    return found


def connections(objects: Objects) -> dict[str, ProxmoxConnection]:
    """All ProxmoxConnections, by namespace and name."""
    made = (typed(PROXMOX_CONNECTIONS, each) for each in objects.of_kind("ProxmoxConnection"))
    return {f"{each.metadata.namespace}/{each.metadata.name}": each for each in made if each is not None}


async def look(
    client: Client,
    world: World,
    reference: Reference,
    clusters: Iterable[ProxmoxCluster],
    objects: Objects,
    *,
    open: Opener | None = None,
    certificates: Shown = shown,
) -> list[Finding]:
    """Examine one data center. Raises ApiError, NoAnswer."""
    subject = Subject(str(reference))
    try:
        way = await opened(client, world, reference, open)
    except NoConnection as error:
        return [subject.problem("connection", str(error))]
    known = connections(objects).get(str(reference.key)) if reference.kind == CONNECTION else None
    connection = known or _by_secret(reference)
    try:
        examined = await examine(connection, way.proxmox.facts, way.proxmox, certificates)
        findings = list(told(subject, examined, reference, connection))
        wanted = list(uses(objects, clusters))
        if wanted and not any(each.what in _DECISIVE and each.verdict is Verdict.BAD for each in examined):
            default = (connection.spec.defaults or ConnectionDefaults()).template_selector
            findings += await _templates(subject, way.proxmox, wanted, default)
        return findings
    finally:
        await way.proxmox.close()


async def _templates(
    subject: Subject, proxmox: Proxmox, wanted: list[Use], default: TemplateSelector | None
) -> list[Finding]:
    check = "templates in use"
    try:
        async with asyncio.timeout(PATIENCE):
            return list(templates(subject, await availability(proxmox, await proxmox.inventory.get(), wanted, default)))
    except TimeoutError:
        return [subject.unchecked(check, f"Not all hosts told of their templates within {PATIENCE:.0f} s.")]
    except ProxmoxError as error:
        return [subject.unchecked(check, str(error))]


def told(
    subject: Subject, examined: Iterable[Examined], reference: Reference, connection: ProxmoxConnection
) -> Iterator[Finding]:
    """The examination of a connection, as findings."""
    for each in examined:
        if each.what == _CONTROLLERS and reference.kind != CONNECTION:
            continue
        remedy = each.commands if each.commands or each.verdict is Verdict.GOOD else _remedy(each, connection)
        yield Finding(subject.name, each.what, _STANDINGS[each.verdict], each.sentence, remedy)


def _remedy(examined: Examined, connection: ProxmoxConnection) -> tuple[str, ...]:
    """What to do about something of which the examination names no command."""
    what, metadata = examined.what, connection.metadata
    connect = again(connection)
    if what.startswith("endpoint "):
        if "not trusted" in examined.sentence or (connection.spec.insecure and examined.sentence.startswith("Answers")):
            return (f"{connect} --fingerprint SHA256   # `pvenode cert info` on the host shows it",)
        return ("systemctl status pveproxy   # on the host",)
    return {
        "credentials": (connect,),
        _CONTROLLERS: (f"nagaya why proxmoxconnection/{metadata.name} -n {metadata.namespace}",),
        "hosts": ("pvecm status   # on a host that is on",),
        "quorum": (connect,),
        "templates": (ADD,),
    }.get(what, ("pvesm status   # on any host",) if what.startswith("storage") else ())


def _typed_clusters(objects: Objects) -> Iterator[ProxmoxCluster]:
    for each in objects.of_kind("ProxmoxCluster"):
        found = typed(PROXMOX_CLUSTERS, each)
        if found is not None:
            yield found


def _by_secret(reference: Reference) -> ProxmoxConnection:
    """A Secret that is used as it is, as the examination wants it."""
    named = SecretReference(name=reference.key.name)
    metadata = ObjectMeta(name=reference.key.name, namespace=reference.key.namespace)
    return ProxmoxConnection(metadata=metadata, spec=ProxmoxConnectionSpec(credentials_ref=named))
