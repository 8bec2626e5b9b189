"""Under whose name and with which rights the processes of a pod run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.builtins.kinds.core_goshape import invalid_shape
from nagaya.apiserver.builtins.kinds.pod_rules import Rules, host_sysctl_problem
from nagaya.apiserver.builtins.kinds.pod_shape import internal_shape
from nagaya.apiserver.builtins.kinds.pod_windows import validate_windows_options
from nagaya.apiserver.builtins.kinds.volume_paths import validate_descending
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import (
    FieldError,
    Path,
    duplicate,
    invalid,
    not_supported,
    required,
    too_long,
)
from nagaya.apiserver.meta.status import JsonObject

_PROFILES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_PROC_MOUNTS: Final = ("Default", "Unmasked")
_SYSCTL_PART: Final = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL: Final = rf"({_SYSCTL_PART}[\./])*{_SYSCTL_PART}"
_is_sysctl = re.compile(_SYSCTL).fullmatch
_LONGEST_PATH: Final = 4095


def validate_pod_security(spec: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
    """The security context of a pod as a whole."""
    context = spec.get("securityContext") or {}
    yield from _validate_ids(context, ("fsGroup", "runAsUser", "runAsGroup"), path)
    for position, group in enumerate(context.get("supplementalGroups") or ()):
        where = path.child("supplementalGroups").index(position)
        yield from (invalid(where, group, problem) for problem in names.user_id(group))
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield invalid(path.child("shareProcessNamespace"), True, detail)
    yield from _validate_sysctls(spec, path.child("sysctls"), rules)
    yield from _validate_choice(context, "fsGroupChangePolicy", ("Always", "OnRootMismatch"), path)
    yield from _validate_seccomp(context.get("seccompProfile"), path.child("seccompProfile"))
    yield from validate_windows_options(context.get("windowsOptions"), path.child("windowsOptions"))
    yield from validate_app_armor(context.get("appArmorProfile"), path.child("appArmorProfile"))
    yield from _validate_choice(context, "supplementalGroupsPolicy", ("Merge", "Strict"), path)
    policies = ("MountOption", "Recursive") if rules.any_selinux_policy else ("Recursive",)
    yield from _validate_choice(context, "seLinuxChangePolicy", policies, path)


def _validate_ids(context: JsonObject, fields: tuple[str, ...], path: Path) -> Iterator[FieldError]:
    for field in fields:
        if (number := context.get(field)) is not None:
            yield from (invalid(path.child(field), number, problem) for problem in names.user_id(number))


def _validate_choice(context: JsonObject, field: str, known: tuple[str, ...], path: Path) -> Iterator[FieldError]:
    value = context.get(field)
    if value is not None and value not in known:
        yield not_supported(path.child(field), value, known)


def _validate_sysctls(spec: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
    seen: set[str] = set()
    for position, setting in enumerate((spec.get("securityContext") or {}).get("sysctls") or ()):
        where, name = path.index(position).child("name"), setting.get("name") or ""
        if not name:
            yield required(where)
        elif names.size(name) > 253 or not _is_sysctl(name):
            yield invalid(where, name, f"must have at most 253 characters and match regex ^{_SYSCTL}$")
        elif name in seen:
            yield duplicate(where, name)
        if not rules.host_sysctls and (problem := host_sysctl_problem(name, spec)):
            yield invalid(where, name, problem)
        seen.add(name)


def _validate_seccomp(profile: JsonObject | None, path: Path) -> Iterator[FieldError]:
    if profile is None:
        return
    kind, file = profile.get("type") or "", profile.get("localhostProfile")
    if not kind:
        yield required(path.child("type"), "type is required when seccompProfile is set")
    elif kind not in _PROFILES:
        yield not_supported(path.child("type"), kind, _PROFILES)
    where = path.child("localhostProfile")
    if kind == "Localhost":
        if file is None:
            yield required(where, "must be set when seccomp type is Localhost")
        else:
            yield from validate_descending(file, where)
    elif file is not None:
        detail = "can only be set when seccomp type is Localhost"
        yield invalid_shape(where, internal_shape("SeccompProfile"), profile, detail)


def validate_app_armor(profile: JsonObject | None, path: Path) -> Iterator[FieldError]:
    """The AppArmor profile of a pod or container."""
    if profile is None:
        return
    kind, name, where = profile.get("type") or "", profile.get("localhostProfile"), path.child("localhostProfile")
    if kind == "Localhost":
        if name is None:
            yield required(where, "must be set when AppArmor type is Localhost")
            return
        if name.strip() != name:
            yield invalid(where, name, "must not be padded with whitespace")
        elif not name:
            yield required(where, "must be set when AppArmor type is Localhost")
        if names.size(name) > _LONGEST_PATH:
            yield too_long(where, _LONGEST_PATH)
    elif kind in _PROFILES:
        if name is not None:
            yield invalid(where, name, "can only be set when AppArmor type is Localhost")
    elif not kind:
        yield required(path.child("type"), "type is required when appArmorProfile is set")
    else:
        yield not_supported(path.child("type"), kind, _PROFILES)


def validate_container_security(context: JsonObject, path: Path, *, host_users: bool) -> Iterator[FieldError]:
    """The security context of a container. Privileged ones are allowed."""
    yield from _validate_ids(context, ("runAsUser", "runAsGroup"), path)
    if (proc := context.get("procMount")) is not None:
        if proc not in _PROC_MOUNTS:
            yield not_supported(path.child("procMount"), proc, _PROC_MOUNTS)
        if host_users and proc == "Unmasked":
            yield invalid(path.child("procMount"), proc, "`hostUsers` must be false to use `Unmasked`")
    yield from _validate_seccomp(context.get("seccompProfile"), path.child("seccompProfile"))
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            yield invalid_shape(path, internal_shape("SecurityContext"), context, detail)
        if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
            detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            yield invalid_shape(path, internal_shape("SecurityContext"), context, detail)
    yield from validate_windows_options(context.get("windowsOptions"), path.child("windowsOptions"))
    yield from validate_app_armor(context.get("appArmorProfile"), path.child("appArmorProfile"))
