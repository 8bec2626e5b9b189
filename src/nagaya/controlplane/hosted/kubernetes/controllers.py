"""The Deployment of kube-controller-manager and kube-scheduler. Each elects which of its replicas works."""

from __future__ import annotations

from typing import Final

from nagaya.api.controlplane.hosted_arguments import KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER
from nagaya.controlplane.hosted.components import controller_manager, scheduler
from nagaya.controlplane.hosted.kubernetes import names
from nagaya.controlplane.hosted.kubernetes.images import image
from nagaya.controlplane.hosted.kubernetes.kinds import Content, Planned
from nagaya.controlplane.hosted.kubernetes.pods import container, deployment, file_mounts, file_volumes, probe
from nagaya.controlplane.hosted.kubernetes.tenancy import Tenancy

MANAGER_PORT: Final = "manager"
SCHEDULER_PORT: Final = "scheduler"
_MANAGER_REQUESTS: Final = {"cpu": "50m", "memory": "96Mi"}
_SCHEDULER_REQUESTS: Final = {"cpu": "25m", "memory": "48Mi"}
_GRACE_SECONDS: Final = 30
_PROGRAMS: Final = (KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER)


def planned(tenancy: Tenancy) -> Planned:
    """The Deployment. Raises ValueError if files are missing."""
    volumes = [
        volume
        for program in _PROGRAMS
        for volume in file_volumes(program, names.object_name(tenancy.name, program), [*tenancy.needed(program)])
    ]
    return deployment(
        tenancy,
        names.CONTROLLERS,
        tenancy.files_hash(*_PROGRAMS),
        containers=[_manager(tenancy), _scheduler(tenancy)],
        volumes=volumes,
        grace_seconds=_GRACE_SECONDS,
    )


def _manager(tenancy: Tenancy) -> Content:
    facts = tenancy.facts
    return container(
        KUBE_CONTROLLER_MANAGER,
        image(facts, KUBE_CONTROLLER_MANAGER),
        [KUBE_CONTROLLER_MANAGER],
        controller_manager.arguments(facts),
        resources=facts.settings.controller_manager.resources,
        requests=_MANAGER_REQUESTS,
        mounts=file_mounts(KUBE_CONTROLLER_MANAGER, [*tenancy.needed(KUBE_CONTROLLER_MANAGER)]),
        ports=[{"name": MANAGER_PORT, "containerPort": facts.ports.controller_manager, "protocol": "TCP"}],
        startupProbe=probe("/healthz", MANAGER_PORT, period=2, failures=120),
        livenessProbe=probe("/healthz", MANAGER_PORT, period=10, failures=8),
    )


def _scheduler(tenancy: Tenancy) -> Content:
    facts = tenancy.facts
    return container(
        KUBE_SCHEDULER,
        image(facts, KUBE_SCHEDULER),
        [KUBE_SCHEDULER],
        scheduler.arguments(facts),
        resources=facts.settings.scheduler.resources,
        requests=_SCHEDULER_REQUESTS,
        mounts=file_mounts(KUBE_SCHEDULER, [*tenancy.needed(KUBE_SCHEDULER)]),
        ports=[{"name": SCHEDULER_PORT, "containerPort": facts.ports.scheduler, "protocol": "TCP"}],
        startupProbe=probe("/livez", SCHEDULER_PORT, period=2, failures=120),
        livenessProbe=probe("/livez", SCHEDULER_PORT, period=10, failures=8),
        readinessProbe=probe("/readyz", SCHEDULER_PORT, period=10, failures=3),
    )
