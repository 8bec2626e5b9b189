"""Which arguments a user may give to the programs of a hosted control plane, and with which values.

In embedded mode the programs run on the machine of Nagaya, while the arguments come from a tenant. Therefore only what
is listed here is passed on: an argument that is new or unknown is refused. No listed argument names a file, a socket, a
URL, an address, a plugin or a program. Admission and the code that builds command lines use the same functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from nagaya.api.controlplane.argument_values import (
    BOOL,
    GATES,
    LONGEST,
    SUITES,
    Values,
    duration,
    integer,
    list_of,
    number,
    one_of,
    port_range,
    split_names,
)

KUBE_APISERVER: Final = "kube-apiserver"
KUBE_CONTROLLER_MANAGER: Final = "kube-controller-manager"
KUBE_SCHEDULER: Final = "kube-scheduler"
KINE: Final = "kine"
KONNECTIVITY_SERVER: Final = "konnectivity-server"
KONNECTIVITY_AGENT: Final = "konnectivity-agent"

_VERBOSITY: Final = integer(0, 6)
"""Kubernetes logs whole requests from 8 on, and a tenant does not pay for the disk that logs fill."""
_TLS: Final = one_of("VersionTLS12", "VersionTLS13")
_SYNCS: Final = integer(1, 100)
_TOLERATION: Final = integer(0, 86400)

_KUBERNETES: Final[Mapping[str, Values]] = {
    "feature-gates": GATES,
    "http2-max-streams-per-connection": integer(1, 1000),
    "log-flush-frequency": duration("1s", "1m"),
    "logging-format": one_of("text", "json"),
    "profiling": BOOL,
    "tls-cipher-suites": SUITES,
    "tls-min-version": _TLS,
    "v": _VERBOSITY,
}
_ELECTION: Final = dict.fromkeys(
    ("leader-elect-lease-duration", "leader-elect-renew-deadline", "leader-elect-retry-period"), duration("1s", "5m")
)
_CLIENT: Final[Mapping[str, Values]] = {
    **_KUBERNETES,
    **_ELECTION,
    "kube-api-burst": integer(1, 2000),
    "kube-api-qps": number(1, 1000),
}

_APISERVER: Final[Mapping[str, Values]] = {
    **_KUBERNETES,
    "allow-privileged": BOOL,
    "audit-log-compress": BOOL,
    "audit-log-format": one_of("json", "legacy"),
    "audit-log-mode": one_of("batch", "blocking", "blocking-strict"),
    "audit-log-truncate-enabled": BOOL,
    "default-not-ready-toleration-seconds": _TOLERATION,
    "default-unreachable-toleration-seconds": _TOLERATION,
    "delete-collection-workers": integer(1, 20),
    "enable-aggregator-routing": BOOL,
    "enable-garbage-collector": BOOL,
    "enable-priority-and-fairness": BOOL,
    "event-ttl": duration("1m", "72h"),
    "goaway-chance": number(0, 0.02),
    "kubelet-timeout": duration("1s", "5m"),
    "livez-grace-period": duration("0s", "10m"),
    "max-mutating-requests-inflight": integer(1, 1500),
    "max-requests-inflight": integer(1, 3000),
    "min-request-timeout": integer(60, 7200),
    "request-timeout": duration("10s", "5m"),
    "runtime-config": list_of(
        "API versions, such as api/beta=true or batch/v2alpha1=true",
        r"(?:api/(?:all|ga|beta|alpha)|(?:[a-z0-9.-]{1,100}/)?v[0-9]+(?:(?:alpha|beta)[0-9]+)?(?:/[a-z]{1,63})?)"
        r"=(?:true|false)",
    ),
    "service-account-extend-token-expiration": BOOL,
    "service-account-max-token-expiration": duration("1h", "8760h"),
    "service-node-port-range": port_range(1, 65535),
    "shutdown-send-retry-after": BOOL,
    "watch-cache": BOOL,
    "watch-cache-sizes": list_of("resources with a size up to 9999, such as pods#500", r"[a-z0-9.-]{1,100}#[0-9]{1,4}"),
}

_CONTROLLER_MANAGER: Final[Mapping[str, Values]] = {
    **_CLIENT,
    **dict.fromkeys(
        split_names(
            """
            concurrent-cron-job-syncs concurrent-daemonset-syncs concurrent-deployment-syncs concurrent-endpoint-syncs
            concurrent-ephemeralvolume-syncs concurrent-gc-syncs concurrent-horizontal-pod-autoscaler-syncs
            concurrent-job-syncs concurrent-namespace-syncs concurrent-rc-syncs concurrent-replicaset-syncs
            concurrent-resource-quota-syncs concurrent-service-endpoint-syncs
            concurrent-service-syncs concurrent-serviceaccount-token-syncs concurrent-statefulset-syncs
            concurrent-ttl-after-finished-syncs concurrent-validating-admission-policy-status-syncs
            mirroring-concurrent-service-endpoint-syncs
            """
        ),
        _SYNCS,
    ),
    **dict.fromkeys(
        split_names(
            "horizontal-pod-autoscaler-cpu-initialization-period horizontal-pod-autoscaler-downscale-stabilization "
            "horizontal-pod-autoscaler-initial-readiness-delay"
        ),
        duration("0s", "24h"),
    ),
    **dict.fromkeys(
        split_names(
            "attach-detach-reconcile-sync-period horizontal-pod-autoscaler-sync-period namespace-sync-period "
            "node-monitor-grace-period node-monitor-period node-startup-grace-period pvclaimbinder-sync-period "
            "resource-quota-sync-period"
        ),
        duration("1s", "24h"),
    ),
    "allocate-node-cidrs": BOOL,
    "cloud-provider": one_of("external"),
    "cluster-signing-duration": duration("10m", "87600h"),
    "controllers": list_of("controllers, such as *,-ttl-controller", r"\*|-?[a-z0-9-]{1,63}"),
    "enable-dynamic-provisioning": BOOL,
    "enable-garbage-collector": BOOL,
    "horizontal-pod-autoscaler-tolerance": number(0, 10),
    "large-cluster-size-threshold": integer(0, 100000),
    "max-endpoints-per-slice": integer(1, 1000),
    "node-cidr-mask-size": integer(8, 128),
    "node-cidr-mask-size-ipv4": integer(8, 32),
    "node-cidr-mask-size-ipv6": integer(48, 128),
    "node-eviction-rate": number(0, 100),
    "secondary-node-eviction-rate": number(0, 100),
    "terminated-pod-gc-threshold": integer(1, 100000),
    "unhealthy-zone-threshold": number(0, 1),
}

_KINE: Final[Mapping[str, Values]] = {
    "compact-batch-size": integer(10, 10000),
    "compact-interval": duration("1m", "1h"),
    "compact-interval-jitter": integer(0, 99),
    "compact-min-retain": integer(100, 10000),
    "compact-timeout": duration("1s", "1m"),
    "datastore-connection-max-lifetime": duration("0s", "24h"),
    "datastore-max-idle-connections": integer(0, 50),
    "datastore-max-open-connections": integer(1, 50),
    "log-format": one_of("plain", "json"),
    "poll-batch-size": integer(10, 5000),
    "slow-sql-threshold": duration("100ms", "1h"),
    "slow-sql-warning-threshold": duration("100ms", "1h"),
    "watch-progress-notify-interval": duration("1s", "1m"),
}

_TUNNEL: Final[Mapping[str, Values]] = {
    "keepalive-time": duration("10s", "24h"),
    "v": _VERBOSITY,
    "xfr-channel-size": integer(1, 1000),
}

ALLOWED: Final[Mapping[str, Mapping[str, Values]]] = {
    KUBE_APISERVER: _APISERVER,
    KUBE_CONTROLLER_MANAGER: _CONTROLLER_MANAGER,
    KUBE_SCHEDULER: {**_CLIENT, "pod-max-in-unschedulable-pods-duration": duration("1s", "24h")},
    KINE: _KINE,
    KONNECTIVITY_SERVER: {
        **_TUNNEL,
        "backend-dial-timeout": duration("1s", "1m"),
        "cipher-suites": SUITES,
        "frontend-keepalive-time": duration("10s", "24h"),
        "graceful-shutdown-timeout": duration("0s", "10s"),
        "kubeconfig-burst": integer(1, 1000),
        "kubeconfig-qps": number(1, 1000),
        "proxy-strategies": list_of("default, destHost and defaultRoute", r"default|destHost|defaultRoute"),
        "tls-min-version": _TLS,
    },
    KONNECTIVITY_AGENT: {
        **_TUNNEL,
        "probe-interval": duration("100ms", "1m"),
        "sync-forever": BOOL,
        "sync-interval": duration("100ms", "1m"),
        "sync-interval-cap": duration("1s", "10m"),
    },
}
"""By program: the arguments that users may give, with their values."""

PLACES: Final[Mapping[tuple[str, ...], str]] = {
    ("apiServer",): KUBE_APISERVER,
    ("controllerManager",): KUBE_CONTROLLER_MANAGER,
    ("scheduler",): KUBE_SCHEDULER,
    ("kine",): KINE,
    ("addons", "konnectivity", "server"): KONNECTIVITY_SERVER,
    ("addons", "konnectivity", "agent"): KONNECTIVITY_AGENT,
}
"""Where in the specification the arguments of which program are."""

_REASONS: Final = tuple(
    (re.compile(pattern, re.ASCII).fullmatch, reason)
    for pattern, reason in (
        (r"etcd-.*|storage-backend|endpoint", "spec.dataStoreRef decides where the data is"),
        (r"(en|dis)able-admission-plugins|admission-control", "use spec.apiServer.admissionPlugins"),
        (r"admission-control-config-file", "use spec.apiServer.podSecurity"),
        (r"oidc-.*|authentication-config|anonymous-auth", "use spec.apiServer.authentication.jwt"),
        (r"authorization-.*", "Node and RBAC are always used, so that a node reaches only its own objects"),
        (r"audit-(policy-file|log-(path|maxage|maxbackup|maxsize))", "use spec.apiServer.audit"),
        (r"encryption-provider-config.*", "use spec.apiServer.encryption"),
        (r"egress-selector-config-file", "use spec.addons.konnectivity"),
        (r"kubelet-(certificate-authority|preferred-address-types)", "use spec.kubelet"),
        (r"service-cluster-ip-range|cluster-cidr", "use spec.network.serviceCIDRs and spec.network.podCIDRs"),
        (r"(secure|agent|admin|health|server)-port|.*bind-address|advertise-address|permit-.*", "use spec.network"),
        (r"service-account-issuer", "the issuer follows from spec.network.dnsDomain"),
        (r"leader-elect.*", "spec.replicas decides about leader election"),
        (
            r"(.*-)?(config|kubeconfig|manifest|file|filepath|path|hostpath|dir|socket|cert|key)(-.*)?",
            "no argument may name a file",
        ),
    )
)


@dataclass(frozen=True, slots=True)
class Refused:
    """An argument that is not passed on."""

    index: int
    part: str
    """Which part of the argument is wrong: name or value."""
    reason: str


def refused(program: str, arguments: Sequence[tuple[str, str]]) -> Iterator[Refused]:
    """Which arguments, given as names with values, are not passed on to a program."""
    allowed = ALLOWED[program]
    seen: set[str] = set()
    for index, (name, value) in enumerate(arguments):
        values = allowed.get(name)
        if values is None:
            yield Refused(index, "name", _why(program, name))
        elif name in seen:
            yield Refused(index, "name", f"--{name} is given twice. Give it once, with a list where it takes one")
        elif len(value) > LONGEST or not values.accepts(value):
            yield Refused(index, "value", f"--{name} must be {values.description}")
        seen.add(name)


def _why(program: str, name: str) -> str:
    plain = name.strip().lstrip("-").replace("_", "-").lower().partition("=")[0]
    allowed = ALLOWED[program]
    if plain in allowed:
        return f"must be the name of a flag without dashes in front, with its value in the field value: {plain}"
    shown = plain if re.fullmatch(r"[a-z0-9.-]{1,64}", plain) else "this name"
    reason = next((reason for fits, reason in _REASONS if fits(plain)), "it is not on the list")
    topic = plain.partition("-")[0]
    near = [each for each in sorted(allowed) if each.partition("-")[0] == topic] or sorted(allowed)
    return (
        f"{shown} is not an argument that {program} accepts from users: {reason}. Similar ones that are accepted: "
        f"{', '.join(near[:4])}. The documentation of hosted control planes lists all of them"
    )
