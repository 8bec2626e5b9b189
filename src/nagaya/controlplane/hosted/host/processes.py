"""What shall run for a tenant, as supervised processes: pure, from the tenant's facts to commands.

One kube-controller-manager and one kube-scheduler, whatever the number of replicas: the supervisor starts one that ends
at once, which no standby could beat, and sees to it that there are never two, so they need no election.
"""

from __future__ import annotations

import hashlib
import os
import ssl
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.api.controlplane.hosted_arguments import (
    KINE,
    KONNECTIVITY_SERVER,
    KUBE_APISERVER,
    KUBE_CONTROLLER_MANAGER,
    KUBE_SCHEDULER,
)
from nagaya.api.controlplane.hosted_components import Resources
from nagaya.controlplane.hosted.components import api_server, controller_manager, konnectivity, scheduler
from nagaya.controlplane.hosted.components.facts import LOOPBACK, KineStore, LocalPorts, ServingFacts, TenantFacts
from nagaya.controlplane.hosted.data_store import kine_process
from nagaya.controlplane.hosted.host import balancer
from nagaya.controlplane.hosted.host.balancer.front import HELD, PROTOCOL
from nagaya.controlplane.hosted.host.leaving import BalancerFile
from nagaya.controlplane.hosted.host.quantities import bytes_of, milli_of
from nagaya.controlplane.hosted.host.roll import Role, Wanted
from nagaya.controlplane.hosted.host.tenant_folder import TenantFolder
from nagaya.kube.credentials import Proof
from nagaya.kube.tls import context_for
from nagaya.supervision.probes import accepts_tcp, answers_http
from nagaya.supervision.spec import Confinement, Limits, ProcessSpec

BALANCER: Final = "balancer"
AUTHORITY: Final = "ca.crt"
"""Beside the balancer's file: by whom API servers are recognised."""
DRAIN_SECONDS: Final = 3
"""Seconds for which an API server that was told to end goes on serving. The balancer has confirmed before that no
request arrives any more (leaving.py), unless somebody other than Nagaya ends the API server: then it notices that
itself, and has time for several probes."""
WATCH_SECONDS: Final = 3
"""For how long it lets watches end. Without it, it would wait for them until it is killed."""
_REQUEST_SECONDS: Final = 30.0
_CONTROLLER_GRACE: Final = 10.0
_OPEN_FILES: Final = 65536
_LONGEST_FILE: Final = 1 << 30
"""Bytes that a log may have before it is rotated."""
_UNPRIVILEGED: Final = 1024
"""The first port at which everybody may listen."""
_SQLITE: Final = "sqlite://"
_HEAP_SHARE: Final = 0.9
"""Of the memory that a program may have, how much Go is told: not everything is Go's."""

CONTROLLER_MANAGER_PORT: Final = "controller-manager"
SCHEDULER_PORT: Final = "scheduler"
TUNNEL_ADMIN_PORT: Final = "konnectivity-admin"
TUNNEL_HEALTH_PORT: Final = "konnectivity-health"
TUNNEL_AGENT_PORT: Final = "konnectivity-agent"
SLOT: Final = "slot"
"""Not a port: the number of the tenant, of which the loopback addresses of its API servers are made."""
SLOTS: Final = range(1, 16000)


def api_server_address(slot: int, index: int) -> str:
    """Where an API server behind the balancer listens: a loopback address of its own, at the port that clients know,
    because that is the port that it tells pods."""
    return f"127.{64 + (slot >> 8)}.{slot & 255}.{index + 2}"


@dataclass(frozen=True, slots=True)
class Tenancy:
    """Everything that a tenant's processes depend on."""

    uid: str
    facts: TenantFacts
    """With the address and the port that clients reach; behind the balancer each API server has another."""
    ports: Mapping[str, int]
    programs: Mapping[str, Path]
    authority: bytes
    """The certificate, PEM, by which the API is recognised."""
    hashes: Mapping[str, str]
    """By program: what changes when files change that it reads only at its start."""
    folder: TenantFolder

    @property
    def balanced(self) -> bool:
        """Whether there are several API servers, with a balancer in front."""
        return self.facts.replicas > 1

    def files_hash(self, program: str) -> str:
        """What changes with the files of a program of Kubernetes. Its own is among them: a path may stay the same."""
        return f"{self.facts.version} {self.hashes.get(program, '')}"

    def name(self, program: str) -> str:
        """The name of a process."""
        return f"{self.uid}.{program}"


def processes(tenancy: Tenancy) -> list[Wanted]:
    """What shall run. Nothing if there shall be no API server."""
    facts = tenancy.facts
    if not facts.replicas:
        return []
    context = _recognising(tenancy.authority)
    found = [_api_server(tenancy, index, context) for index in range(facts.replicas)]
    if isinstance(facts.store, KineStore):
        found.append(_kine(tenancy, facts.store))
    if facts.tunnel is not None:
        found.append(_konnectivity(tenancy))
    if tenancy.balanced:
        found.append(_balancer(tenancy))
    local = replace(
        facts,
        elected=False,
        ports=LocalPorts(LOOPBACK, tenancy.ports[CONTROLLER_MANAGER_PORT], tenancy.ports[SCHEDULER_PORT]),
    )
    settings = facts.settings
    found.append(
        _controller(
            tenancy,
            KUBE_CONTROLLER_MANAGER,
            controller_manager.arguments(local),
            local.ports.controller_manager,
            settings.controller_manager.resources,
        )
    )
    found.append(
        _controller(
            tenancy, KUBE_SCHEDULER, scheduler.arguments(local), local.ports.scheduler, settings.scheduler.resources
        )
    )
    return found


def balancer_file(tenancy: Tenancy, servers: Sequence[str]) -> BalancerFile:
    """What the balancer reads. `servers` are the processes of API servers that it may send connections to."""
    prefix = tenancy.name(f"{KUBE_APISERVER}-")
    indexes = sorted(int(name.removeprefix(prefix)) for name in servers if name.startswith(prefix))
    port = tenancy.facts.serving.port
    return BalancerFile(
        tuple((api_server_address(tenancy.ports[SLOT], index), port) for index in indexes),
        os.fspath(tenancy.folder.balancer_file.with_name(AUTHORITY)),
        tuple(f"{prefix}{index}" for index in indexes),
    )


def digest(parts: Mapping[str, bytes]) -> str:
    """A name for the content of files."""
    whole = hashlib.sha256()
    for name, content in sorted(parts.items()):
        whole.update(hashlib.sha256(name.encode()).digest() + hashlib.sha256(content).digest())
    return whole.hexdigest()


@lru_cache(maxsize=256)  # plans are made far more often than authorities
def _recognising(authority: bytes) -> ssl.SSLContext:
    """How to ask an API server whether it is ready. It is recognised by its authority: behind the balancer it has an
    address that no client knows."""
    context = context_for(Proof(authority=authority), insecure=False)
    context.check_hostname = False
    return context


def _api_server(tenancy: Tenancy, index: int, context: ssl.SSLContext) -> Wanted:
    facts = tenancy.facts
    serving = replace(facts.serving, port_shared=True, watch_seconds=WATCH_SECONDS)
    if tenancy.balanced:
        serving = ServingFacts(
            api_server_address(tenancy.ports[SLOT], index),
            serving.advertise_address,
            serving.port,
            drain_seconds=DRAIN_SECONDS,
            watch_seconds=WATCH_SECONDS,
            balanced=True,
        )
    spec = ProcessSpec(
        tenancy.name(f"{KUBE_APISERVER}-{index}"),
        (os.fspath(tenancy.programs[KUBE_APISERVER]), *api_server.arguments(replace(facts, serving=serving))),
        _environment(facts.settings.api_server.resources),
        files_hash=tenancy.files_hash(KUBE_APISERVER),
        limits=replace(_limits(facts.settings.api_server.resources), file_size=_file_size(facts)),
        confinement=_confinement(tenancy, serving.port),
        grace=serving.drain_seconds + _REQUEST_SECONDS,
        ready=answers_http(serving.bind_address, serving.port, "/readyz", context),
    )
    at = str(Endpoint(host=facts.serving.bind_address, port=facts.serving.port))
    return Wanted(Role.API_SERVER, KUBE_APISERVER, facts.version, spec, at)


def _kine(tenancy: Tenancy, store: KineStore) -> Wanted:
    settings = tenancy.facts.settings.kine
    spec = kine_process.process(
        tenancy.name(KINE), tenancy.programs[KINE], store, settings.extra_args, _limits(settings.resources)
    )
    environment = {**spec.environment, **_environment(settings.resources)}
    if not store.endpoint.startswith(_SQLITE):
        spec = replace(spec, confinement=_confinement(tenancy))
    else:
        file = store.endpoint.partition("?")[0].removeprefix(_SQLITE)
        # The database may become as long as it likes.
        limits = replace(spec.limits, file_size=None)
        spec = replace(spec, confinement=_confinement(tenancy, folders=[Path(file).parent]), limits=limits)
    return Wanted(Role.STORE, KINE, "", replace(spec, environment=environment))


def _konnectivity(tenancy: Tenancy) -> Wanted:
    facts = tenancy.facts
    tunnel, server = facts.tunnel, facts.settings.addons.konnectivity.server
    assert tunnel is not None
    spec = ProcessSpec(
        tenancy.name(KONNECTIVITY_SERVER),
        (
            os.fspath(tenancy.programs[KONNECTIVITY_SERVER]),
            *konnectivity.arguments(tunnel, facts.folders, server.extra_args),
        ),
        _environment(server.resources),
        files_hash=tenancy.hashes.get(KONNECTIVITY_SERVER, ""),
        limits=_limits(server.resources),
        confinement=_confinement(tenancy, tunnel.agent_port),
        grace=_CONTROLLER_GRACE,
        ready=answers_http(LOOPBACK, tunnel.health_port, "/healthz"),
    )
    at = str(Endpoint(host=tunnel.bind_address, port=tunnel.agent_port))
    return Wanted(Role.BESIDE, KONNECTIVITY_SERVER, "", spec, at)


def _balancer(tenancy: Tenancy) -> Wanted:
    serving = tenancy.facts.serving
    # Without site packages and the user's settings: it needs neither, and takes half of the memory.
    # Of the tenant's user: only processes of one user can share the port, as they do while there is one API server more
    # or less than before.
    user, program = tenancy.folder.user, Path(balancer.__file__).parent
    interpreter = sys.executable if user is None else os.path.realpath(sys.executable)
    python = (interpreter, "-I", "-S", "-X", "utf8", os.fspath(program))
    file = tenancy.folder.balancer_file
    reads = (file.parent, program.parent, Path(sys.base_prefix))
    spec = ProcessSpec(
        tenancy.name(BALANCER),
        (*python, serving.bind_address, str(serving.port), os.fspath(file)),
        files_hash=f"protocol {PROTOCOL}",
        limits=Limits(open_files=_OPEN_FILES, file_size=_LONGEST_FILE),
        confinement=None if user is None else Confinement(user, reads, low_ports=serving.port < _UNPRIVILEGED),
        grace=HELD + _CONTROLLER_GRACE,
        ready=accepts_tcp(serving.bind_address, serving.port),
    )
    return Wanted(Role.BESIDE, BALANCER, "", spec)


def _controller(tenancy: Tenancy, program: str, arguments: tuple[str, ...], port: int, resources: Resources) -> Wanted:
    spec = ProcessSpec(
        tenancy.name(program),
        (os.fspath(tenancy.programs[program]), *arguments),
        _environment(resources),
        files_hash=tenancy.files_hash(program),
        limits=_limits(resources),
        confinement=_confinement(tenancy),
        grace=_CONTROLLER_GRACE,
        ready=answers_http(LOOPBACK, port, "/healthz", _without_proof()),
    )
    return Wanted(Role.CONTROLLER, program, tenancy.facts.version, spec)


def _without_proof() -> ssl.SSLContext:
    """These programs make themselves a certificate that nobody knows. All that is asked is whether they are well."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _limits(resources: Resources) -> Limits:
    cpu = resources.limits.get("cpu")
    return Limits(
        memory=_memory(resources),
        open_files=_OPEN_FILES,
        cpu=None if cpu is None else milli_of(cpu) / 1000,
        file_size=_LONGEST_FILE,
    )


def _file_size(facts: TenantFacts) -> int:
    """An API server writes its audit log, too, which begins a new file by itself."""
    return max(_LONGEST_FILE, ((facts.settings.api_server.audit.max_size_megabytes or 0) + 1) << 20)


def _confinement(tenancy: Tenancy, port: int = _UNPRIVILEGED, folders: Sequence[Path] = ()) -> Confinement | None:
    """As whom a program of the tenant runs that listens at a port."""
    if tenancy.folder.user is None:
        return None
    return Confinement(tenancy.folder.user, (tenancy.folder.path, *folders), low_ports=port < _UNPRIVILEGED)


def _environment(resources: Resources) -> dict[str, str]:
    """A program that knows its limit frees memory before it gets there, instead of being killed. Without one it is
    left alone: it would need less memory, and more of the processors."""
    memory = _memory(resources)
    return {} if memory is None else {"GOMEMLIMIT": str(int(memory * _HEAP_SHARE))}


def _memory(resources: Resources) -> int | None:
    memory = resources.limits.get("memory")
    return None if memory is None else bytes_of(memory)
