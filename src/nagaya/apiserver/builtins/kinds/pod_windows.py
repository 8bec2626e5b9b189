"""Pods for one operating system: what only Windows has, and what Windows lacks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, Path, forbidden, invalid, not_supported, required
from nagaya.apiserver.meta.status import JsonObject

_LONGEST_SPEC: Final = 64
_LONGEST_DOMAIN: Final = 256
_LONGEST_USER: Final = 104
_control = re.compile(r"[\x00-\x1f\x7f]").search
_netbios = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}').fullmatch
_DNS_PART: Final = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_dns = re.compile(rf"{_DNS_PART}(?:\.{_DNS_PART})*").fullmatch
_forbidden_in_user = re.compile(r'["/\\:;|=,+*?<>@\[\]]').search
_dots_and_spaces = re.compile(r"[. ]+").fullmatch

_NOT_ON_WINDOWS: Final = "cannot be set for a windows pod"
_POD_FIELDS: Final = (
    ("securityContext", "appArmorProfile"),
    ("securityContext", "seLinuxOptions"),
    ("", "hostUsers"),
    ("", "hostPID"),
    ("", "hostIPC"),
    ("securityContext", "seccompProfile"),
    ("securityContext", "fsGroup"),
    ("securityContext", "fsGroupChangePolicy"),
    ("securityContext", "sysctls"),
    ("", "shareProcessNamespace"),
    ("securityContext", "runAsUser"),
    ("securityContext", "runAsGroup"),
    ("securityContext", "supplementalGroups"),
    ("securityContext", "supplementalGroupsPolicy"),
    ("securityContext", "seLinuxChangePolicy"),
)
_CONTAINER_FIELDS: Final = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)


def containers_with_paths(spec: JsonObject, path: Path) -> Iterator[tuple[JsonObject, Path]]:
    """Every container and its place."""
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for position, container in enumerate(spec.get(field) or ()):
            yield container, path.child(field).index(position)


def validate_windows_options(options: JsonObject | None, path: Path) -> Iterator[FieldError]:
    """Settings that exist on Windows alone."""
    if options is None:
        return
    if (name := options.get("gmsaCredentialSpecName")) is not None:
        where = path.child("gmsaCredentialSpecName")
        yield from (invalid(where, name, problem) for problem in names.dns_subdomain(name))
    if (spec := options.get("gmsaCredentialSpec")) is not None:
        where = path.child("gmsaCredentialSpec")
        if not spec:
            yield invalid(where, spec, "gmsaCredentialSpec cannot be an empty string")
        elif names.size(spec) > _LONGEST_SPEC * 1024:
            yield invalid(where, spec, f"gmsaCredentialSpec size must be under {_LONGEST_SPEC} KiB")
    if (user := options.get("runAsUserName")) is not None:
        where = path.child("runAsUserName")
        yield from (invalid(where, user, f"runAsUserName{problem}") for problem in _user_problems(user))


def _user_problems(name: str) -> Iterator[str]:
    if not name:
        yield " cannot be an empty string"
        return
    if _control(name):
        yield " cannot contain control characters"
        return
    parts = name.split("\\")
    if len(parts) > 2:
        yield " cannot contain more than one backslash"
        return
    domain, user = parts if len(parts) == 2 else ("", name)
    if names.size(domain) >= _LONGEST_DOMAIN:
        yield f"'s Domain length must be under {_LONGEST_DOMAIN} characters"
    if len(parts) == 2 and not _netbios(domain) and not _dns(domain):
        yield "'s Domain doesn't match the NetBios nor the DNS format"
    if not user:
        yield "'s User cannot be empty"
    elif names.size(user) > _LONGEST_USER:
        yield f"'s User length must not be longer than {_LONGEST_USER} characters"
    if _dots_and_spaces(user):
        yield "'s User cannot contain only periods or spaces"
    if _forbidden_in_user(user):
        yield "'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"


def validate_host_process(spec: JsonObject, path: Path) -> Iterator[FieldError]:
    """Containers that are processes of a Windows host: all of a pod's are, or none."""
    pod_wide = ((spec.get("securityContext") or {}).get("windowsOptions") or {}).get("hostProcess")
    total = in_host = 0
    for container, where in containers_with_paths(spec, path):
        total += 1
        own = ((container.get("securityContext") or {}).get("windowsOptions") or {}).get("hostProcess")
        if pod_wide is not None and own is not None and pod_wide != own:
            shown = "true" if pod_wide else "false"
            detail = f"pod hostProcess value must be identical if both are specified, was {shown}"
            yield invalid(where.child("securityContext", "windowsOptions", "hostProcess"), own, detail)
        in_host += bool(pod_wide if own is None else own)
    if in_host:
        if in_host != total:
            detail = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
            yield invalid(path, "", detail)
        if not spec.get("hostNetwork"):
            detail = "hostNetwork must be true if pod contains any hostProcess containers"
            yield invalid(path.child("hostNetwork"), False, detail)


def validate_os(spec: JsonObject, path: Path) -> Iterator[FieldError]:
    """The operating system a pod is for, and that it asks for nothing of the other one."""
    if (system := spec.get("os")) is None:
        return
    name = system.get("name") or ""
    if not name:
        yield required(path.child("os", "name"))
    elif name == "linux":
        yield from _validate_linux(spec, path)
    elif name == "windows":
        yield from _validate_windows(spec, path)
    else:
        yield not_supported(path.child("os"), name, ("linux", "windows"))


def _validate_linux(spec: JsonObject, path: Path) -> Iterator[FieldError]:
    detail = "windows options cannot be set for a linux pod"
    if "windowsOptions" in (spec.get("securityContext") or {}):
        yield forbidden(path.child("securityContext", "windowsOptions"), detail)
    for container, where in containers_with_paths(spec, path):
        if "windowsOptions" in (container.get("securityContext") or {}):
            yield forbidden(where.child("securityContext", "windowsOptions"), detail)


def _validate_windows(spec: JsonObject, path: Path) -> Iterator[FieldError]:
    for parent, field in _POD_FIELDS:
        value = ((spec.get(parent) or {}) if parent else spec).get(field)
        if value is not None and not (value is False and field in ("hostPID", "hostIPC")) and value != []:
            yield forbidden((path.child(parent) if parent else path).child(field), _NOT_ON_WINDOWS)
    for container, where in containers_with_paths(spec, path):
        context = container.get("securityContext") or {}
        for field in _CONTAINER_FIELDS:
            if field in context:
                yield forbidden(where.child("securityContext", field), _NOT_ON_WINDOWS)
