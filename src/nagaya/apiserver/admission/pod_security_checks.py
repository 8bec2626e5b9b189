"""The rules of the pod security standards.

Each rule looks at a pod's metadata and spec and returns what is wrong: a reason, and the detail that names the
offenders. `baseline` keeps pods from taking over their node; `restricted` has them give up what they do not need. Rules
came and changed with minor versions, and a namespace may ask for those of an earlier one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from nagaya.apiserver.admission.pods import containers
from nagaya.apiserver.meta import gostring
from nagaya.apiserver.meta.status import JsonObject

Violation = tuple[str, str]
Check = Callable[[JsonObject, JsonObject, int], Violation | None]

LATEST: Final = 36  # the minor version of the newest rules
_APPARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_CAPABILITIES: Final = frozenset(
    {
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    }
)
_SELINUX_TYPES: Final = frozenset({"", "container_t", "container_init_t", "container_kvm_t"})
# Kernel parameters that are safe to set, by the minor version from which on they count as that.
_SYSCTLS: Final[Mapping[str, int]] = {
    "kernel.shm_rmid_forced": 0,
    "net.ipv4.ip_local_port_range": 0,
    "net.ipv4.tcp_syncookies": 0,
    "net.ipv4.ping_group_range": 0,
    "net.ipv4.ip_unprivileged_port_start": 0,
    "net.ipv4.ip_local_reserved_ports": 27,
    "net.ipv4.tcp_keepalive_time": 29,
    "net.ipv4.tcp_fin_timeout": 29,
    "net.ipv4.tcp_keepalive_intvl": 29,
    "net.ipv4.tcp_keepalive_probes": 29,
    "net.ipv4.tcp_rmem": 32,
    "net.ipv4.tcp_wmem": 32,
}
_PLAIN_VOLUMES: Final = frozenset(
    {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
)
_CONFINED: Final = ("RuntimeDefault", "Localhost")


def _all(spec: JsonObject) -> Iterator[JsonObject]:
    return containers(spec, "initContainers", "containers", "ephemeralContainers")


def _context(holder: JsonObject) -> JsonObject:
    found: JsonObject = holder.get("securityContext") or {}
    return found


def _quoted(items: Iterable[str]) -> str:
    return ", ".join(f'"{item}"' for item in items)


def _plural(noun: str, items: Any) -> str:
    return noun if len(items) == 1 else f"{noun}s"


def _named(names: list[str]) -> str:
    return f"{_plural('container', names)} {_quoted(names)}"


def _setters(pod: bool, names: list[str]) -> str:
    return " and ".join([*(["pod"] if pod else []), *([_named(names)] if names else [])])


def _where(spec: JsonObject, wrong: Callable[[JsonObject], Any]) -> list[str]:
    """The names of the containers whose security context is wrong."""
    return [each.get("name") or "" for each in _all(spec) if wrong(_context(each))]


def _app_armor(metadata: JsonObject, spec: JsonObject, minor: int) -> Violation | None:
    def wrong(context: JsonObject) -> str:
        profile = context.get("appArmorProfile")
        return "" if profile is None or profile.get("type") in _CONFINED else profile.get("type") or "?"

    pod, names = bool(wrong(_context(spec))), _where(spec, wrong)
    values = sorted({wrong(each) for each in [_context(spec), *map(_context, _all(spec))]} - {""})
    marks = sorted(
        f"{key}={gostring.quote(value)}"
        for key, value in (metadata.get("annotations") or {}).items()
        if key.startswith(_APPARMOR) and value not in ("", "runtime/default") and not value.startswith("localhost/")
    )
    setters = [_setters(pod, names)] if pod or names else []
    if marks:
        setters.append(_plural("annotation", marks))
    if not setters:
        return None
    detail = f"{' and '.join(setters)} must not set AppArmor profile type to {_quoted([*values, *marks])}"
    return _plural("forbidden AppArmor profile", [*values, *marks]), detail


def _capabilities(metadata: JsonObject, spec: JsonObject, minor: int) -> Violation | None:
    def added(context: JsonObject) -> set[str]:
        return set((context.get("capabilities") or {}).get("add") or ()) - _CAPABILITIES

    names = _where(spec, added)
    extra = sorted(set().union(*(added(_context(each)) for each in _all(spec))))
    detail = f"{_named(names)} must not include {_quoted(extra)} in securityContext.capabilities.add"
    return ("non-default capabilities", detail) if names else None


def _host_namespaces(metadata: JsonObject, spec: JsonObject, minor: int) -> Violation | None:
    found = [f"{each}=true" for each in ("hostNetwork", "hostPID", "hostIPC") if spec.get(each)]
    return ("host namespaces", ", ".join(found)) if found else None


def _host_paths(metadata: JsonObject, spec: JsonObject, minor: int) -> Violation | None:
    found = [each["name"] for each in spec.get("volumes") or () if each.get("hostPath") is not None]
    return ("hostPath volumes", f"{_plural('volume', found)} {_quoted(found)}") if found else None


def _host_ports(metadata: JsonObject, spec: JsonObject, minor: int) -> Violation | None:
    used = {
        each.get("name") or "": [str(port["hostPort"]) for port in each.get("ports") or () if port.get("hostPort")]
        for each in _all(spec)
    }
    names = [name for name, ports in used.items() if ports]
    ports = sorted({port for each in used.values() for port in each})
    verb = "uses" if len(names) == 1 else "use"
    return ("hostPort", f"{_named(names)} {verb} {_plural('hostPort', ports)} {', '.join(ports)}") if names else None


def _probe_hosts(metadata: JsonObject, spec: JsonObject, minor: int) -> Violation | None:
    if minor < 34:
        return None
    found: dict[str, set[str]] = {}
    for container in _all(spec):
        handlers = [container.get(each) for each in ("livenessProbe", "readinessProbe", "startupProbe")]
        handlers += [(container.get("lifecycle") or {}).get(each) for each in ("postStart", "preStop")]
        for handler in handlers:
            for kind in ("httpGet", "tcpSocket"):
                if host := ((handler or {}).get(kind) or {}).get("host"):
                    found.setdefault(container.get("name") or "", set()).add(host)
    names, hosts = sorted(found), sorted(set().union(*found.values()))
    verb = "uses" if len(names) == 1 else "use"
    detail = f"{_named(names)} {verb} {_plural('probe or lifecycle host', hosts)} {_quoted(hosts)}"
    return ("probe or lifecycle host", detail) if names else None


def _privileged(metadata: JsonObject, spec: JsonObject, minor: int) -> Violation | None:
    names = _where(spec, lambda context: context.get("privileged"))
    return ("privileged", f"{_named(names)} must not set securityContext.privileged=true") if names else None


def _proc_mount(metadata: JsonObject, spec: JsonObject, minor: int) -> Violation | None:
    return None if _has_own_users(spec, minor) else _masked(spec)


def _has_own_users(spec: JsonObject, minor: int) -> bool:
    """Whether root in a pod is nobody outside it, which makes some rules pointless."""
    return minor >= 35 and spec.get("hostUsers") is False


def _masked(spec: JsonObject) -> Violation | None:
    names = _where(spec, lambda context: context.get("procMount", "Default") != "Default")
    kinds = sorted({_context(each).get("procMount", "Default") for each in _all(spec)} - {"Default"})
    detail = f"{_named(names)} must not set securityContext.procMount to {_quoted(kinds)}"
    return ("procMount", detail) if names else None


def _proc_mount_before(metadata: JsonObject, spec: JsonObject, minor: int) -> Violation | None:
    """What `restricted` had from `baseline` before it got a rule of its own."""
    return _masked(spec) if minor < 35 else None


def _proc_mount_strictly(metadata: JsonObject, spec: JsonObject, minor: int) -> Violation | None:
    return _masked(spec) if minor >= 35 else None


def _se_linux(metadata: JsonObject, spec: JsonObject, minor: int) -> Violation | None:
    allowed = _SELINUX_TYPES | {"container_engine_t"} if minor >= 31 else _SELINUX_TYPES

    def wrong(context: JsonObject) -> bool:
        options = context.get("seLinuxOptions") or {}
        kind = options.get("type") or ""
        return kind not in allowed or bool(options.get("user")) or bool(options.get("role"))

    pod, names = wrong(_context(spec)), _where(spec, wrong)
    if not pod and not names:
        return None
    used = [(each.get("seLinuxOptions") or {}) for each in [_context(spec), *map(_context, _all(spec))]]
    kinds = sorted({each.get("type") or "" for each in used} - allowed)
    problems = [f"{_plural('type', kinds)} {_quoted(kinds)}"] if kinds else []
    problems += [f"{member} may not be set" for member in ("user", "role") if any(each.get(member) for each in used)]
    detail = f"{_setters(pod, names)} set forbidden securityContext.seLinuxOptions: {'; '.join(problems)}"
    return "seLinuxOptions", detail


def _seccomp(metadata: JsonObject, spec: JsonObject, minor: int) -> Violation | None:
    def wrong(context: JsonObject) -> str:
        profile = context.get("seccompProfile")
        return "" if profile is None or profile.get("type") in _CONFINED else profile.get("type") or "?"

    pod, names = bool(wrong(_context(spec))), _where(spec, wrong)
    if not pod and not names:
        return None
    values = sorted({wrong(each) for each in [_context(spec), *map(_context, _all(spec))]} - {""})
    detail = f"{_setters(pod, names)} must not set securityContext.seccompProfile.type to {_quoted(values)}"
    return "seccompProfile", detail


def _sysctls(metadata: JsonObject, spec: JsonObject, minor: int) -> Violation | None:
    given = [each.get("name") or "" for each in _context(spec).get("sysctls") or ()]
    found = [each for each in given if _SYSCTLS.get(each, LATEST + 1) > minor]
    return ("forbidden sysctls", ", ".join(found)) if found else None


def _host_process(metadata: JsonObject, spec: JsonObject, minor: int) -> Violation | None:
    def wrong(context: JsonObject) -> bool:
        return bool((context.get("windowsOptions") or {}).get("hostProcess"))

    pod, names = wrong(_context(spec)), _where(spec, wrong)
    if not pod and not names:
        return None
    return "hostProcess", f"{_setters(pod, names)} must not set securityContext.windowsOptions.hostProcess=true"


def _is_windows(spec: JsonObject, minor: int) -> bool:
    return minor >= 25 and (spec.get("os") or {}).get("name") == "windows"


def _escalation(metadata: JsonObject, spec: JsonObject, minor: int) -> Violation | None:
    if _is_windows(spec, minor):
        return None
    names = _where(spec, lambda context: context.get("allowPrivilegeEscalation") is not False)
    detail = f"{_named(names)} must set securityContext.allowPrivilegeEscalation=false"
    return ("allowPrivilegeEscalation != false", detail) if names else None


def _dropped_capabilities(metadata: JsonObject, spec: JsonObject, minor: int) -> Violation | None:
    if _is_windows(spec, minor):
        return None

    def added(context: JsonObject) -> set[str]:
        return set((context.get("capabilities") or {}).get("add") or ()) - {"NET_BIND_SERVICE"}

    keeping = _where(spec, lambda each: "ALL" not in ((each.get("capabilities") or {}).get("drop") or ()))
    adding = _where(spec, added)
    details = []
    if keeping:
        details.append(f'{_named(keeping)} must set securityContext.capabilities.drop=["ALL"]')
    if adding:
        extra = sorted(set().union(*(added(_context(each)) for each in _all(spec))))
        details.append(f"{_named(adding)} must not include {_quoted(extra)} in securityContext.capabilities.add")
    return ("unrestricted capabilities", "; ".join(details)) if details else None


def _volumes(metadata: JsonObject, spec: JsonObject, minor: int) -> Violation | None:
    found: dict[str, str] = {}
    for volume in spec.get("volumes") or ():
        kinds = [key for key, value in volume.items() if key != "name" and value is not None]
        if not _PLAIN_VOLUMES.intersection(kinds):
            found[volume["name"]] = kinds[0] if kinds else "unknown"
    names, kinds = list(found), sorted(set(found.values()))
    verb = "uses" if len(names) == 1 else "use"
    kind = _plural("restricted volume type", kinds)
    detail = f"{_plural('volume', names)} {_quoted(names)} {verb} {kind} {_quoted(kinds)}"
    return ("restricted volume types", detail) if names else None


def _non_root(metadata: JsonObject, spec: JsonObject, minor: int) -> Violation | None:
    if _has_own_users(spec, minor):
        return None
    whole = _context(spec).get("runAsNonRoot")
    names = _where(spec, lambda context: context.get("runAsNonRoot") is False)
    if whole is False or names:
        detail = f"{_setters(whole is False, names)} must not set securityContext.runAsNonRoot=false"
        return "runAsNonRoot != true", detail
    silent = [] if whole else _where(spec, lambda context: context.get("runAsNonRoot") is None)
    detail = f"pod or {_named(silent)} must set securityContext.runAsNonRoot=true"
    return ("runAsNonRoot != true", detail) if silent else None


def _root_user(metadata: JsonObject, spec: JsonObject, minor: int) -> Violation | None:
    if minor < 23 or _has_own_users(spec, minor):
        return None
    pod = _context(spec).get("runAsUser") == 0
    names = _where(spec, lambda context: context.get("runAsUser") == 0)
    return ("runAsUser=0", f"{_setters(pod, names)} must not set runAsUser=0") if pod or names else None


def _confined(metadata: JsonObject, spec: JsonObject, minor: int) -> Violation | None:
    if _is_windows(spec, minor):
        return None
    if found := _seccomp(metadata, spec, minor):
        return found
    if _context(spec).get("seccompProfile") is not None:
        return None
    silent = _where(spec, lambda context: context.get("seccompProfile") is None)
    detail = f'pod or {_named(silent)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return ("seccompProfile", detail) if silent else None


# In the order in which the real server tells them; a stricter rule takes the place of its milder form.
CHECKS: Final[Mapping[str, tuple[Check, ...]]] = {
    "privileged": (),
    "baseline": (
        _app_armor,
        _capabilities,
        _host_namespaces,
        _host_paths,
        _host_ports,
        _probe_hosts,
        _privileged,
        _proc_mount,
        _se_linux,
        _seccomp,
        _sysctls,
        _host_process,
    ),
    "restricted": (
        _app_armor,
        _host_namespaces,
        _host_ports,
        _probe_hosts,
        _privileged,
        _proc_mount_before,
        _se_linux,
        _sysctls,
        _host_process,
        _escalation,
        _dropped_capabilities,
        _proc_mount_strictly,
        _volumes,
        _non_root,
        _root_user,
        _confined,
    ),
}


def violations(level: str, version: str, metadata: JsonObject, spec: JsonObject) -> list[Violation]:
    """What is wrong with a pod by the rules of a level, as they were in a version (`latest` or `v1.30`)."""
    minor = LATEST if version == "latest" else min(LATEST, int(version.removeprefix("v1.")))
    return [found for check in CHECKS[level] if (found := check(metadata, spec, minor)) is not None]
