"""Containers of a pod: what holds for all of them, and for each of the three sorts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from nagaya.apiserver.builtins.kinds import container_env, container_mounts, container_restart, pod_resources, probe
from nagaya.apiserver.builtins.kinds.container_mounts import Volumes
from nagaya.apiserver.builtins.kinds.pod_rules import Rules
from nagaya.apiserver.builtins.kinds.pod_security import validate_container_security
from nagaya.apiserver.builtins.kinds.volume_sources import validate_pull_policy
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import (
    FieldError,
    Path,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from nagaya.apiserver.meta.status import JsonObject

_MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
# What an ephemeral container may not have, in the order in which Go looks at its fields.
_NOT_EPHEMERAL: Final = (
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
)
# Of these, what is set even when it is empty.
_POINTERS: Final = frozenset({"restartPolicy", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"})


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the pod around a container means for it."""

    volumes: Volumes
    claims: Collection[str]
    grace: int | None
    restart_policy: str
    host_users: bool
    rules: Rules


def validate_containers(containers: Sequence[JsonObject], around: Surroundings, path: Path) -> Iterator[FieldError]:
    """The containers a pod is there for."""
    if not containers:
        yield required(path)
        return
    seen: set[str] = set()
    for position, container in enumerate(containers):
        where, name = path.index(position), container.get("name") or ""
        yield from _validate_common(container, around, where)
        if name in seen:
            yield duplicate(where.child("name"), name)
        seen.add(name)
        if (lifecycle := container.get("lifecycle")) is not None:
            yield from probe.validate_lifecycle(lifecycle, around.grace, where.child("lifecycle"))
        yield from probe.validate_probes(container, around.grace, where)
        yield from container_restart.validate_restart(container, where)
    yield from _validate_host_ports(containers, path)


def validate_init_containers(
    containers: Sequence[JsonObject], main: Sequence[JsonObject], around: Surroundings, path: Path
) -> Iterator[FieldError]:
    """The containers that run before the main ones; those that are always restarted are sidecars."""
    seen = {each.get("name") or "" for each in main}
    for position, container in enumerate(containers):
        where, name = path.index(position), container.get("name") or ""
        yield from _validate_common(container, around, where)
        yield from container_restart.validate_init_restart(container, where)
        sidecar = container.get("restartPolicy") == "Always"
        if name in seen:
            yield duplicate(where.child("name"), name)
        elif name:
            seen.add(name)
        yield from _validate_host_ports([container], path)
        if sidecar:
            if (lifecycle := container.get("lifecycle")) is not None:
                yield from probe.validate_lifecycle(lifecycle, around.grace, where.child("lifecycle"))
            yield from probe.validate_probes(container, around.grace, where)
        else:
            for field in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
                if field in container:
                    detail = "may not be set for init containers without restartPolicy=Always"
                    yield forbidden(where.child(field), detail)
        if not sidecar and not around.rules.restart_in_init:
            for index, policy in enumerate(container.get("resizePolicy") or ()):
                if policy.get("restartPolicy") == "RestartContainer":
                    place = where.child("resizePolicy").index(index).child("restartPolicy")
                    detail = "must not be set to 'RestartContainer' for non-sidecar initContainers"
                    yield invalid(place, "RestartContainer", detail)


def validate_ephemeral_containers(spec: JsonObject, around: Surroundings, path: Path) -> Iterator[FieldError]:
    """Containers that were added to a running pod to look into it."""
    others = {each.get("name") or "" for key in ("containers", "initContainers") for each in spec.get(key) or ()}
    seen = set(others)
    for position, container in enumerate(spec.get("ephemeralContainers") or ()):
        where, name = path.index(position), container.get("name") or ""
        yield from _validate_common(container, around, where)
        yield from validate_image_spaces(container, where)
        if name in seen:
            yield duplicate(where.child("name"), name)
        seen.add(name)
        target = container.get("targetContainerName") or ""
        if target and target not in others:
            yield not_found(where.child("targetContainerName"), target)
        for field in _NOT_EPHEMERAL:
            if container.get(field) or (field in container and field in _POINTERS):
                yield forbidden(where.child(field), "cannot be set for an Ephemeral Container")
        for index, mount in enumerate(container.get("volumeMounts") or ()):
            for field in ("subPath", "subPathExpr"):
                if mount.get(field):
                    place = where.child("volumeMounts").index(index).child(field)
                    yield forbidden(place, "cannot be set for an Ephemeral Container")


def validate_image_spaces(container: JsonObject, path: Path) -> Iterator[FieldError]:
    """In pods an image's name has no space around it."""
    image = container.get("image") or ""
    if image != image.strip():
        yield invalid(path.child("image"), image, "must not have leading or trailing whitespace")


def _validate_common(container: JsonObject, around: Surroundings, path: Path) -> Iterator[FieldError]:
    name = container.get("name") or ""
    if not name:
        yield required(path.child("name"))
    else:
        yield from (invalid(path.child("name"), name, problem) for problem in names.dns_label(name))
    if not container.get("image"):
        yield required(path.child("image"))
    policy = container.get("terminationMessagePolicy") or ""
    if not policy:
        yield required(path.child("terminationMessagePolicy"))
    elif policy not in _MESSAGE_POLICIES:
        yield not_supported(path.child("terminationMessagePolicy"), policy, _MESSAGE_POLICIES)
    if ports := container.get("ports"):
        yield from _validate_ports(ports, path.child("ports"))
    if env := container.get("env"):
        yield from container_env.validate_env(env, path.child("env"))
    if env_from := container.get("envFrom"):
        yield from container_env.validate_env_from(env_from, path.child("envFrom"))
    if container.get("volumeMounts"):
        yield from container_mounts.validate_mounts(container, around.volumes, path.child("volumeMounts"))
    if container.get("volumeDevices"):
        yield from container_mounts.validate_devices(container, around.volumes, path.child("volumeDevices"))
    yield from validate_pull_policy(container.get("imagePullPolicy") or "", path.child("imagePullPolicy"))
    if resources := container.get("resources"):
        yield from pod_resources.validate_requirements(
            resources,
            path.child("resources"),
            claims=around.claims,
            indivisible=around.rules.indivisible_pages,
        )
    if resize := container.get("resizePolicy"):
        yield from container_restart.validate_resize(resize, around.restart_policy, path.child("resizePolicy"))
    if (security := container.get("securityContext")) is not None:
        where = path.child("securityContext")
        yield from validate_container_security(security, where, host_users=around.host_users)


def _validate_ports(ports: Sequence[JsonObject], path: Path) -> Iterator[FieldError]:
    seen: set[str] = set()
    for position, port in enumerate(ports):
        where, name = path.index(position), port.get("name") or ""
        if name:
            if problems := names.port_name(name):
                yield from (invalid(where.child("name"), name, problem) for problem in problems)
            elif name in seen:
                yield duplicate(where.child("name"), name)
            seen.add(name)
        number, host = port.get("containerPort") or 0, port.get("hostPort") or 0
        if not number:
            yield required(where.child("containerPort"))
        else:
            yield from (invalid(where.child("containerPort"), number, each) for each in names.port_number(number))
        if host:
            yield from (invalid(where.child("hostPort"), host, each) for each in names.port_number(host))
        protocol = port.get("protocol") or ""
        if not protocol:
            yield required(where.child("protocol"))
        elif protocol not in _PROTOCOLS:
            yield not_supported(where.child("protocol"), protocol, _PROTOCOLS)


def _validate_host_ports(containers: Sequence[JsonObject], path: Path) -> Iterator[FieldError]:
    seen: set[str] = set()
    for position, container in enumerate(containers):
        for index, port in enumerate(container.get("ports") or ()):
            if host := port.get("hostPort"):
                key = f"{port.get('protocol') or ''}/{port.get('hostIP') or ''}/{host}"
                if key in seen:
                    yield duplicate(path.index(position).child("ports").index(index).child("hostPort"), key)
                seen.add(key)
