"""The command line of kube-apiserver."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final

from nagaya.api.controlplane.argument_values import ADMISSION_PLUGINS
from nagaya.api.controlplane.hosted_arguments import KUBE_APISERVER
from nagaya.api.controlplane.hosted_components import MOST_AUDIT_BACKUPS, MOST_AUDIT_MEGABYTES
from nagaya.api.controlplane.hosted_kubelet import DEFAULT_ADDRESS_TYPES
from nagaya.controlplane.hosted.components import configuration
from nagaya.controlplane.hosted.components.arguments import TLS, merged
from nagaya.controlplane.hosted.components.facts import EtcdStore, Store, TenantFacts
from nagaya.pki.kubeadm.authorities import CLUSTER, FRONT_PROXY
from nagaya.pki.kubeadm.layout import (
    SERVICE_ACCOUNTS_KEY,
    SERVICE_ACCOUNTS_PUBLIC_KEY,
    certificate_file,
    key_file,
)
from nagaya.pki.kubeadm.leaves import API_SERVER, API_SERVER_KUBELET_CLIENT, FRONT_PROXY_CLIENT

ALWAYS_ON: Final = "NodeRestriction"
"""Without it a node could change any other node and take its pods' tokens."""

AUDIT_LOG: Final = "audit.log"
_AUDIT_DAYS: Final = 30
_AUDIT_BACKUPS: Final = 10
_AUDIT_MEGABYTES: Final = 100
_GOAWAY_CHANCE: Final = "0.001"  # so that clients find an API server that has come back


def arguments(facts: TenantFacts) -> tuple[str, ...]:
    """What kube-apiserver is started with."""
    fixed = {
        **_serving(facts),
        **_certificates(facts),
        **_store(facts.store),
        **_configuration(facts),
        "authorization-mode": "Node,RBAC",
        "enable-admission-plugins": ",".join(_plugins(facts)),
        "enable-bootstrap-token-auth": "true",
        "kubelet-preferred-address-types": ",".join(
            facts.settings.kubelet.preferred_address_types or DEFAULT_ADDRESS_TYPES
        ),
        "service-cluster-ip-range": ",".join(facts.network.service_cidrs),
    }
    disabled = facts.settings.api_server.admission_plugins.disable
    if accepted := [each for each in disabled if each in ADMISSION_PLUGINS and each != ALWAYS_ON]:
        fixed["disable-admission-plugins"] = ",".join(accepted)
    return merged(KUBE_APISERVER, fixed, _defaults(facts), facts.settings.api_server.extra_args)


def _serving(facts: TenantFacts) -> dict[str, str]:
    serving = facts.serving
    found = {
        "advertise-address": serving.advertise_address,
        "bind-address": serving.bind_address,
        "secure-port": str(serving.port),
    }
    if serving.port_shared:
        found["permit-port-sharing"] = "true"
    return found


def _certificates(facts: TenantFacts) -> dict[str, str]:
    file = facts.folders.certificate
    found = {
        "client-ca-file": file(certificate_file(CLUSTER.name)),
        "kubelet-client-certificate": file(certificate_file(API_SERVER_KUBELET_CLIENT.name)),
        "kubelet-client-key": file(key_file(API_SERVER_KUBELET_CLIENT.name)),
        "proxy-client-cert-file": file(certificate_file(FRONT_PROXY_CLIENT.name)),
        "proxy-client-key-file": file(key_file(FRONT_PROXY_CLIENT.name)),
        "requestheader-allowed-names": FRONT_PROXY_CLIENT.common_name,
        "requestheader-client-ca-file": file(certificate_file(FRONT_PROXY.name)),
        "service-account-key-file": file(SERVICE_ACCOUNTS_PUBLIC_KEY),
        "service-account-signing-key-file": file(SERVICE_ACCOUNTS_KEY),
        "tls-cert-file": file(certificate_file(API_SERVER.name)),
        "tls-private-key-file": file(key_file(API_SERVER.name)),
    }
    if facts.settings.kubelet.verify_serving_certificates:
        found["kubelet-certificate-authority"] = file(certificate_file(CLUSTER.name))
    return found


def _store(store: Store) -> dict[str, str]:
    if isinstance(store, EtcdStore):
        return {
            "etcd-cafile": store.ca_file,
            "etcd-certfile": store.certificate_file,
            # The history of an etcd is one for all its tenants: the store forgets it, not one of them.
            "etcd-compaction-interval": "0",
            "etcd-keyfile": store.key_file,
            "etcd-prefix": store.prefix,
            "etcd-servers": ",".join(store.servers),
        }
    return {"etcd-servers": f"unix://{store.socket}"}


def _configuration(facts: TenantFacts) -> dict[str, str]:
    audit = facts.settings.api_server.audit
    folder = facts.folders.configuration
    found = {
        "admission-control-config-file": f"{folder}/{configuration.ADMISSION}",
        "audit-log-maxage": str(audit.max_age_days or _AUDIT_DAYS),
        "audit-log-maxbackup": str(min(audit.max_backups or _AUDIT_BACKUPS, MOST_AUDIT_BACKUPS)),
        "audit-log-maxsize": str(min(audit.max_size_megabytes or _AUDIT_MEGABYTES, MOST_AUDIT_MEGABYTES)),
        "audit-log-path": f"{facts.folders.logs}/{AUDIT_LOG}",
        "audit-policy-file": f"{folder}/{configuration.AUDIT_POLICY}",
        "authentication-config": f"{folder}/{configuration.AUTHENTICATION}",
    }
    if facts.settings.api_server.encryption is not None:
        found["encryption-provider-config"] = f"{facts.folders.encryption}/{configuration.ENCRYPTION}"
    if facts.tunnel is not None:
        found["egress-selector-config-file"] = f"{folder}/{configuration.EGRESS}"
    return found


def _plugins(facts: TenantFacts) -> list[str]:
    wanted = facts.settings.api_server.admission_plugins.enable
    return [ALWAYS_ON, *(each for each in wanted if each in ADMISSION_PLUGINS and each != ALWAYS_ON)]


def _defaults(facts: TenantFacts) -> dict[str, str]:
    found = {
        **TLS,
        "allow-privileged": "true",
        "profiling": "false",
        "requestheader-extra-headers-prefix": "X-Remote-Extra-",
        "requestheader-group-headers": "X-Remote-Group",
        "requestheader-username-headers": "X-Remote-User",
        "service-account-extend-token-expiration": "false",
        "service-account-issuer": f"https://kubernetes.default.svc.{facts.network.dns_domain}",
    }
    if facts.replicas > 1:
        found["goaway-chance"] = _GOAWAY_CHANCE
        if not facts.serving.balanced:
            found["shutdown-send-retry-after"] = "true"
    if ip_address(facts.serving.advertise_address).is_loopback or facts.serving.balanced:
        # Kubernetes refuses a loopback address behind a Service, and would try it again all the time. And of several
        # at one address, the first that ends would take it away for all.
        found["endpoint-reconciler-type"] = "none"
    if facts.serving.drain_seconds:
        found["shutdown-delay-duration"] = f"{facts.serving.drain_seconds}s"
    if facts.serving.watch_seconds:
        found["shutdown-watch-termination-grace-period"] = f"{facts.serving.watch_seconds}s"
    return found
