"""Which arguments of a hosted control plane's programs are Nagaya's own, and what to use instead of them.

Everything else may be given by users. These may not, because with another value the program would read another
tenant's data, trust another authority, listen elsewhere than the endpoint says, or lock nodes out. One table serves
both sides: admission refuses what is in it, and the makers of command lines set nothing fixed that is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

KUBE_APISERVER: Final = "kube-apiserver"
KUBE_CONTROLLER_MANAGER: Final = "kube-controller-manager"
KUBE_SCHEDULER: Final = "kube-scheduler"
KINE: Final = "kine"
KONNECTIVITY_SERVER: Final = "konnectivity-server"
KONNECTIVITY_AGENT: Final = "konnectivity-agent"

_STORE: Final = "where the data is follows from spec.dataStoreRef, and each control plane sees its own only"
_ADDRESS: Final = "where it listens follows from spec.network"
_CERTIFICATES: Final = "certificates and keys are made and renewed by Nagaya"
_CREDENTIALS: Final = "how it reaches the API is set by Nagaya"
_PLUGINS: Final = "use spec.apiServer.admissionPlugins"
_AUTHENTICATION: Final = "use spec.apiServer.authentication, which cannot be combined with it"
_AUTHORIZATION: Final = "nodes must stay restricted to what is theirs: Node and RBAC are always used"
_AUDIT: Final = "use spec.apiServer.audit"
_SERVICES: Final = "use spec.network.serviceCIDRs"
_PODS: Final = "use spec.network.podCIDRs"
_ELECTION: Final = "whether one of several is elected follows from spec.replicas"
_JOIN: Final = "nodes could not join any more"
_TUNNEL: Final = "both ends of the tunnel are set by Nagaya"
_FILE: Final = "the program would read its settings from a file that does not exist there"

_APISERVER: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            "etcd-servers",
            "etcd-servers-overrides",
            "etcd-prefix",
            "etcd-cafile",
            "etcd-certfile",
            "etcd-keyfile",
            "etcd-compaction-interval",
            "storage-backend",
        ),
        _STORE,
    ),
    **dict.fromkeys(("secure-port", "bind-address", "advertise-address", "permit-port-sharing"), _ADDRESS),
    **dict.fromkeys(
        (
            "cert-dir",
            "client-ca-file",
            "kubelet-client-certificate",
            "kubelet-client-key",
            "proxy-client-cert-file",
            "proxy-client-key-file",
            "requestheader-allowed-names",
            "requestheader-client-ca-file",
            "service-account-key-file",
            "service-account-signing-endpoint",
            "service-account-signing-key-file",
            "tls-cert-file",
            "tls-private-key-file",
        ),
        _CERTIFICATES,
    ),
    **dict.fromkeys(("admission-control", "disable-admission-plugins", "enable-admission-plugins"), _PLUGINS),
    "admission-control-config-file": "use spec.apiServer.podSecurity",
    **dict.fromkeys(("authorization-config", "authorization-mode", "authorization-policy-file"), _AUTHORIZATION),
    **dict.fromkeys(
        (
            "anonymous-auth",
            "authentication-config",
            "oidc-ca-file",
            "oidc-client-id",
            "oidc-groups-claim",
            "oidc-groups-prefix",
            "oidc-issuer-url",
            "oidc-required-claim",
            "oidc-signing-algs",
            "oidc-username-claim",
            "oidc-username-prefix",
            "token-auth-file",
        ),
        _AUTHENTICATION,
    ),
    **dict.fromkeys(
        ("audit-log-maxage", "audit-log-maxbackup", "audit-log-maxsize", "audit-log-path", "audit-policy-file"), _AUDIT
    ),
    "encryption-provider-config": "use spec.apiServer.encryption",
    "egress-selector-config-file": "use spec.addons.konnectivity",
    "enable-bootstrap-token-auth": _JOIN,
    "kubelet-certificate-authority": "use spec.kubelet.verifyServingCertificates",
    "kubelet-preferred-address-types": "use spec.kubelet.preferredAddressTypes",
    "service-cluster-ip-range": _SERVICES,
}

_CLIENT: Final[Mapping[str, str]] = {
    **dict.fromkeys(("authentication-kubeconfig", "authorization-kubeconfig", "kubeconfig", "master"), _CREDENTIALS),
    **dict.fromkeys(("bind-address", "secure-port"), "where it listens is set by Nagaya"),
    **dict.fromkeys(("client-ca-file", "requestheader-client-ca-file"), _CERTIFICATES),
    **dict.fromkeys(
        ("leader-elect", "leader-elect-resource-lock", "leader-elect-resource-name", "leader-elect-resource-namespace"),
        _ELECTION,
    ),
}

_CONTROLLER_MANAGER: Final[Mapping[str, str]] = {
    **_CLIENT,
    **dict.fromkeys(
        (
            "cluster-signing-cert-file",
            "cluster-signing-key-file",
            "root-ca-file",
            "service-account-private-key-file",
        ),
        _CERTIFICATES,
    ),
    "use-service-account-credentials": "each controller must have its own identity",
    "cluster-cidr": _PODS,
    "cluster-name": "it is the name of the Cluster",
    "service-cluster-ip-range": _SERVICES,
}

_SCHEDULER: Final[Mapping[str, str]] = {**_CLIENT, "config": _FILE}

_KINE: Final[Mapping[str, str]] = {
    **dict.fromkeys(("ca-file", "cert-file", "endpoint", "key-file", "skip-verify"), _STORE),
    **dict.fromkeys(
        ("listen-address", "metrics-bind-address", "server-cert-file", "server-key-file", "trusted-ca-file"),
        "where it listens is set by Nagaya, so that only the API server reaches it",
    ),
}

_TUNNEL_SERVER: Final[Mapping[str, str]] = dict.fromkeys(
    (
        "admin-bind-address",
        "admin-port",
        "agent-bind-address",
        "agent-namespace",
        "agent-port",
        "agent-service-account",
        "authentication-audience",
        "cluster-ca-cert",
        "cluster-cert",
        "cluster-key",
        "health-bind-address",
        "health-port",
        "kubeconfig",
        "mode",
        "server-bind-address",
        "server-ca-cert",
        "server-cert",
        "server-count",
        "server-id",
        "server-key",
        "server-port",
        "uds-name",
    ),
    _TUNNEL,
)

_TUNNEL_AGENT: Final[Mapping[str, str]] = dict.fromkeys(
    (
        "admin-server-port",
        "agent-identifiers",
        "ca-cert",
        "health-server-port",
        "proxy-server-host",
        "proxy-server-port",
        "service-account-token-path",
    ),
    _TUNNEL,
)

MANAGED: Final[Mapping[str, Mapping[str, str]]] = {
    KUBE_APISERVER: _APISERVER,
    KUBE_CONTROLLER_MANAGER: _CONTROLLER_MANAGER,
    KUBE_SCHEDULER: _SCHEDULER,
    KINE: _KINE,
    KONNECTIVITY_SERVER: _TUNNEL_SERVER,
    KONNECTIVITY_AGENT: _TUNNEL_AGENT,
}
"""By program: the arguments that users may not give, each with what to do instead, or why."""

PLACES: Final[Mapping[tuple[str, ...], str]] = {
    ("apiServer",): KUBE_APISERVER,
    ("controllerManager",): KUBE_CONTROLLER_MANAGER,
    ("scheduler",): KUBE_SCHEDULER,
    ("kine",): KINE,
    ("addons", "konnectivity", "server"): KONNECTIVITY_SERVER,
    ("addons", "konnectivity", "agent"): KONNECTIVITY_AGENT,
}
"""Where in the specification the arguments of which program are."""


def refused(program: str, names: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Which of some arguments users may not give: each one's place in the list, and why."""
    managed = MANAGED[program]
    for index, name in enumerate(names):
        # Go's flags take underscores for dashes, and any number of leading dashes up to two.
        plain = name.lstrip("-").replace("_", "-")
        if plain in managed:
            yield index, managed[plain]
