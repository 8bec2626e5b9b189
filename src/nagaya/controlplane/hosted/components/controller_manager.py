"""The command line of kube-controller-manager."""

from __future__ import annotations

from typing import Final

from nagaya.api.controlplane.hosted_arguments import KUBE_CONTROLLER_MANAGER
from nagaya.controlplane.hosted.components.arguments import TLS, merged
from nagaya.controlplane.hosted.components.facts import TenantFacts
from nagaya.pki.kubeadm.authorities import CLUSTER, FRONT_PROXY
from nagaya.pki.kubeadm.identities import CONTROLLER_MANAGER
from nagaya.pki.kubeadm.layout import SERVICE_ACCOUNTS_KEY, certificate_file, key_file

CONTROLLERS: Final = "controllers"
FOR_JOINING: Final = ("bootstrap-signer-controller", "token-cleaner-controller")
"""Controllers that Kubernetes has off by default, and without which no node can join with a token."""

NO_PLUGINS: Final = "/dev/null/flexvolume"
"""A folder that cannot exist. The program would otherwise create its default folder on the machine, and run the drivers
in it for a PersistentVolume that names one."""


def arguments(facts: TenantFacts) -> tuple[str, ...]:
    """What kube-controller-manager is started with."""
    file = facts.folders.certificate
    kubeconfig = f"{facts.folders.kubeconfigs}/{CONTROLLER_MANAGER.file}"
    authority = file(certificate_file(CLUSTER.name))
    fixed = {
        "authentication-kubeconfig": kubeconfig,
        "authorization-kubeconfig": kubeconfig,
        "bind-address": facts.ports.bind_address,
        "client-ca-file": authority,
        "cluster-cidr": ",".join(facts.network.pod_cidrs),
        "cluster-name": facts.cluster_name,
        "cluster-signing-cert-file": authority,
        "cluster-signing-key-file": file(key_file(CLUSTER.name)),
        "flex-volume-plugin-dir": NO_PLUGINS,
        "kubeconfig": kubeconfig,
        "leader-elect": "true" if facts.elected else "false",
        "requestheader-client-ca-file": file(certificate_file(FRONT_PROXY.name)),
        "root-ca-file": authority,
        "secure-port": str(facts.ports.controller_manager),
        "service-account-private-key-file": file(SERVICE_ACCOUNTS_KEY),
        "service-cluster-ip-range": ",".join(facts.network.service_cidrs),
        "use-service-account-credentials": "true",
    }
    defaults = {**TLS, "allocate-node-cidrs": "true", CONTROLLERS: "*", "profiling": "false"}
    given = facts.settings.controller_manager.extra_args
    # The user's choice never leaves out the controllers that joining depends on, unless it says so: the first mention
    # of a controller counts.
    return tuple(
        ",".join((each, *FOR_JOINING)) if each.startswith(f"--{CONTROLLERS}=") else each
        for each in merged(KUBE_CONTROLLER_MANAGER, fixed, defaults, given)
    )
