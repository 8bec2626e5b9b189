"""The command line of kube-scheduler."""

from __future__ import annotations

from nagaya.api.controlplane.hosted_arguments import KUBE_SCHEDULER
from nagaya.controlplane.hosted.components.arguments import TLS, merged
from nagaya.controlplane.hosted.components.facts import TenantFacts
from nagaya.pki.kubeadm.authorities import CLUSTER, FRONT_PROXY
from nagaya.pki.kubeadm.identities import SCHEDULER
from nagaya.pki.kubeadm.layout import certificate_file


def arguments(facts: TenantFacts) -> tuple[str, ...]:
    """What kube-scheduler is started with."""
    kubeconfig = f"{facts.folders.kubeconfigs}/{SCHEDULER.file}"
    fixed = {
        "authentication-kubeconfig": kubeconfig,
        "authorization-kubeconfig": kubeconfig,
        "bind-address": facts.ports.bind_address,
        "client-ca-file": facts.folders.certificate(certificate_file(CLUSTER.name)),
        "kubeconfig": kubeconfig,
        "leader-elect": "true" if facts.elected else "false",
        "requestheader-client-ca-file": facts.folders.certificate(certificate_file(FRONT_PROXY.name)),
        "secure-port": str(facts.ports.scheduler),
    }
    return merged(KUBE_SCHEDULER, fixed, {**TLS, "profiling": "false"}, facts.settings.scheduler.extra_args)
