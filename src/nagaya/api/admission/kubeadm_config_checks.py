"""Checks of how a machine becomes a node with kubeadm, wherever that is written.

What the user wrote into files and passwords is never repeated in a message: it may be secret, and messages are logged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.api.admission.content import Content, at, items, mapping, number, put_if_missing, text
from nagaya.api.admission.field_error import FieldError, forbidden, invalid
from nagaya.api.bootstrap.kubeadm_config_spec import CLOUD_CONFIG, IGNITION

_NOT_WITH_IGNITION: Final = f'not supported when spec.format is set to: "{IGNITION}"'
_HEALTH_CHECK: Final = "controlPlaneComponentHealthCheckSeconds"


def check_kubeadm_config(spec: Content, field: str, *, control_plane: bool = False) -> Iterator[FieldError]:
    """What is wrong with a kubeadm configuration."""
    yield from _files(spec, field)
    yield from _users(spec, field)
    yield from _ignition(spec, field)
    yield from _disks(spec, field)
    user = mapping(spec, "joinConfiguration", "discovery", "file", "kubeConfig", "user")
    if mapping(user, "authProvider") and mapping(user, "exec"):
        shown = {"authProvider": text(user, "authProvider", "name"), "exec": text(user, "exec", "command")}
        place = f"{field}.joinConfiguration.discovery.file.kubeconfig.user"
        yield invalid(place, shown, "only one of authProvider or exec must be defined")
    if control_plane:
        yield from _same_health_check(spec, field)


def with_previous_defaults(spec: Content) -> Content:
    """A configuration with what older releases of Cluster API filled in, to compare it with what they left."""
    spec = put_if_missing(spec, CLOUD_CONFIG, "format")
    for command in ("initConfiguration", "joinConfiguration"):
        spec = put_if_missing(spec, "IfNotPresent", command, "nodeRegistration", "imagePullPolicy")
    program = ("joinConfiguration", "discovery", "file", "kubeConfig", "user", "exec")
    if mapping(spec, *program):
        spec = put_if_missing(spec, "client.authentication.k8s.io/v1", *program, "apiVersion")
    return spec


def _files(spec: Content, field: str) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, file in enumerate(items(spec, "files")):
        place, path = f"{field}.files[{index}]", text(file, "path")
        if text(file, "content") and mapping(file, "contentFrom"):
            detail = "only one of content or contentFrom may be specified for a single file"
            yield invalid(place, {"path": path}, detail)
        if path in seen:
            yield invalid(f"{place}.path", {"path": path}, "path property must be unique among all files")
        seen.add(path)


def _users(spec: Content, field: str) -> Iterator[FieldError]:
    for index, user in enumerate(items(spec, "users")):
        if text(user, "passwd") and mapping(user, "passwdFrom"):
            detail = "only one of passwd or passwdFrom may be specified for a single user"
            yield invalid(f"{field}.users[{index}]", {"name": text(user, "name")}, detail)


def _ignition(spec: Content, field: str) -> Iterator[FieldError]:
    if text(spec, "format") != IGNITION:
        if mapping(spec, "ignition"):
            detail = f'must be set to "{IGNITION}" if spec.ignition is set'
            yield invalid(f"{field}.format", text(spec, "format"), detail)
        return
    for index, user in enumerate(items(spec, "users")):
        if user.get("inactive"):
            yield forbidden(f"{field}.users[{index}].inactive", _NOT_WITH_IGNITION)
    for index, file in enumerate(items(spec, "files")):
        if text(file, "encoding").startswith("gzip"):
            yield forbidden(f"{field}.files[{index}].encoding", _NOT_WITH_IGNITION)
    if at(spec, "bootCommands") is not None:
        yield forbidden(f"{field}.bootCommands", _NOT_WITH_IGNITION)
    for index, partition in enumerate(items(spec, "diskSetup", "partitions")):
        table = text(partition, "tableType")
        if table not in ("", "gpt"):
            detail = f'only partition type "gpt" is supported when spec.format is set to "{IGNITION}"'
            yield invalid(f"{field}.diskSetup.partitions[{index}].tableType", table, detail)
    for index, filesystem in enumerate(items(spec, "diskSetup", "filesystems")):
        for name in ("replaceFS", "partition"):
            if text(filesystem, name):
                yield forbidden(f"{field}.diskSetup.filesystems[{index}].{name}", _NOT_WITH_IGNITION)


def _disks(spec: Content, field: str) -> Iterator[FieldError]:
    for index, partition in enumerate(items(spec, "diskSetup", "partitions")):
        total = sum(number(part, "percentage") or 0 for part in items(partition, "diskLayout"))
        if total > 100:
            detail = "the sum of all partition percentages must not be greater than 100"
            yield invalid(f"{field}.diskSetup.partitions[{index}].diskLayout", total, detail)


def _same_health_check(spec: Content, field: str) -> Iterator[FieldError]:
    """Machines of a control plane start with init or join, and should wait equally long either way."""
    commands = ("initConfiguration", "joinConfiguration")
    found = {command: number(spec, command, "timeouts", _HEALTH_CHECK) for command in commands}
    shown = {command: "unset" if value is None else str(value) for command, value in found.items()}
    if len(set(shown.values())) == 1:
        return
    detail = (
        f"{_HEALTH_CHECK} must be set to the same value both in initConfiguration.timeouts "
        f"({shown['initConfiguration']}) and in joinConfiguration.timeouts ({shown['joinConfiguration']})"
    )
    for command in commands:
        yield invalid(f"{field}.{command}.timeouts.{_HEALTH_CHECK}", shown[command], detail)
