"""The Deployment of API servers, with kine and Konnectivity's server beside each."""

from __future__ import annotations

from typing import Final

from nagaya.api.controlplane.hosted_arguments import KINE, KONNECTIVITY_SERVER, KUBE_APISERVER
from nagaya.controlplane.hosted.components import api_server, kine, konnectivity
from nagaya.controlplane.hosted.components.configuration import ENCRYPTION as ENCRYPTION_FILE
from nagaya.controlplane.hosted.components.facts import KineStore, TunnelFacts
from nagaya.controlplane.hosted.kubernetes import names
from nagaya.controlplane.hosted.kubernetes.images import image
from nagaya.controlplane.hosted.kubernetes.kinds import Content, Planned
from nagaya.controlplane.hosted.kubernetes.pods import (
    container,
    deployment,
    empty_volume,
    file_mounts,
    file_volumes,
    probe,
)
from nagaya.controlplane.hosted.kubernetes.tenancy import FOLDERS, Tenancy

PORT: Final = "https"
AGENT_PORT: Final = "agents"
CONFIGURATION: Final = f"{KUBE_APISERVER}-config"
_HEALTH: Final = "tunnel-health"
_SOCKETS: Final = "sockets"
_LOGS: Final = "logs"
_FILES: Final = "apiserver"
_ENCRYPTION: Final = "encryption"

_REQUESTS: Final = {"cpu": "100m", "memory": "384Mi"}
_KINE_REQUESTS: Final = {"cpu": "50m", "memory": "64Mi"}
_TUNNEL_REQUESTS: Final = {"cpu": "10m", "memory": "32Mi"}

# The program in the image has this file capability, and without the right to have it Linux does not start the program.
_CAPABILITY: Final = "NET_BIND_SERVICE"
_REQUEST_SECONDS: Final = 60  # how long a request may take, and so how long one that is served must be let finish


def planned(tenancy: Tenancy) -> Planned:
    """The Deployment. Raises ValueError if files are missing, or the version is none that can be run."""
    facts = tenancy.facts
    files = [*tenancy.needed(KUBE_APISERVER)]
    sidecars = []
    if isinstance(facts.store, KineStore):
        sidecars.append(_kine(tenancy, facts.store))
    if facts.tunnel is not None:
        sidecars.append(_tunnel(tenancy, facts.tunnel, files))
    return deployment(
        tenancy,
        KUBE_APISERVER,
        f"{tenancy.files_hash(KUBE_APISERVER)[:32]}{tenancy.settings_hash()[:32]}",
        containers=[_api_server(tenancy, files, shares_sockets=bool(sidecars))],
        sidecars=sidecars,
        volumes=_volumes(tenancy, files, shares_sockets=bool(sidecars)),
        grace_seconds=facts.serving.drain_seconds + _REQUEST_SECONDS,
    )


def _api_server(tenancy: Tenancy, files: list[str], *, shares_sockets: bool) -> Content:
    facts = tenancy.facts
    mounts = [
        *file_mounts(_FILES, files),
        {"name": "configuration", "mountPath": FOLDERS.configuration, "readOnly": True},
        {"name": _LOGS, "mountPath": FOLDERS.logs},
    ]
    if facts.settings.api_server.encryption is not None:
        mounts.append({"name": _ENCRYPTION, "mountPath": FOLDERS.encryption, "readOnly": True})
    if shares_sockets:
        mounts.append({"name": _SOCKETS, "mountPath": FOLDERS.sockets})
    return container(
        KUBE_APISERVER,
        image(facts, KUBE_APISERVER),
        [KUBE_APISERVER],
        api_server.arguments(facts),
        resources=facts.settings.api_server.resources,
        requests=_REQUESTS,
        mounts=mounts,
        capabilities=[_CAPABILITY],
        ports=[{"name": PORT, "containerPort": facts.serving.port, "protocol": "TCP"}],
        startupProbe=probe("/livez", PORT, period=2, failures=120),
        livenessProbe=probe("/livez", PORT, period=10, failures=8),
        readinessProbe=probe("/readyz", PORT, period=1, failures=3),
    )


def _kine(tenancy: Tenancy, store: KineStore) -> Content:
    settings = tenancy.facts.settings.kine
    secret = {"name": names.object_name(tenancy.name, KINE), "key": kine.ENDPOINT}
    return container(
        KINE,
        image(tenancy.facts, KINE),
        ["/bin/kine"],
        kine.arguments(store, settings.extra_args),
        resources=settings.resources,
        requests=_KINE_REQUESTS,
        mounts=[
            *([{"name": f"{_FILES}-pki", "mountPath": FOLDERS.pki, "readOnly": True}] if store.ca_file else []),
            {"name": _SOCKETS, "mountPath": FOLDERS.sockets},
        ],
        env=[{"name": kine.ENDPOINT, "valueFrom": {"secretKeyRef": secret}}],
    )


def _tunnel(tenancy: Tenancy, tunnel: TunnelFacts, files: list[str]) -> Content:
    settings = tenancy.facts.settings.addons.konnectivity.server
    return container(
        KONNECTIVITY_SERVER,
        image(tenancy.facts, KONNECTIVITY_SERVER),
        ["/proxy-server"],
        konnectivity.arguments(tunnel, FOLDERS, settings.extra_args),
        resources=settings.resources,
        requests=_TUNNEL_REQUESTS,
        mounts=[*file_mounts(_FILES, files), {"name": _SOCKETS, "mountPath": FOLDERS.sockets}],
        ports=[
            {"name": AGENT_PORT, "containerPort": tunnel.agent_port, "protocol": "TCP"},
            {"name": _HEALTH, "containerPort": tunnel.health_port, "protocol": "TCP"},
        ],
        livenessProbe=probe("/healthz", _HEALTH, scheme="HTTP", period=10, failures=8),
    )


def _volumes(tenancy: Tenancy, files: list[str], *, shares_sockets: bool) -> list[Content]:
    audit = tenancy.facts.settings.api_server.audit
    # One log that is written, the old ones, and one that is being replaced.
    megabytes = ((audit.max_backups or 10) + 2) * (audit.max_size_megabytes or 100)
    found = [
        *file_volumes(_FILES, names.object_name(tenancy.name, KUBE_APISERVER), files),
        {"name": "configuration", "configMap": {"name": names.object_name(tenancy.name, CONFIGURATION)}},
        empty_volume(_LOGS, limit=f"{megabytes}Mi"),
    ]
    if tenancy.facts.settings.api_server.encryption is not None:
        # Not the user's own Secret: it may change after it was checked, and may hold more.
        items = [{"key": ENCRYPTION_FILE, "path": ENCRYPTION_FILE}]
        secret = {"secretName": names.object_name(tenancy.name, KUBE_APISERVER), "defaultMode": 0o440, "items": items}
        found.append({"name": _ENCRYPTION, "secret": secret})
    if shares_sockets:
        found.append(empty_volume(_SOCKETS, memory=True))
    return found
