"""Which files each program needs: it gets these, and no others.

The key of the cluster's certificate authority is with kube-controller-manager alone, which signs the certificates of
kubelets: whoever has it can be anybody. Names are kubeadm's, below the folder of certificates; kubeconfigs are told by
their ending.
"""

from __future__ import annotations

from nagaya.api.controlplane.hosted_arguments import KUBE_APISERVER, KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER
from nagaya.controlplane.hosted.components.facts import TenantFacts
from nagaya.pki.kubeadm import identities
from nagaya.pki.kubeadm.authorities import CLUSTER, FRONT_PROXY
from nagaya.pki.kubeadm.layout import (
    SERVICE_ACCOUNTS_KEY,
    SERVICE_ACCOUNTS_PUBLIC_KEY,
    certificate_file,
    key_file,
)
from nagaya.pki.kubeadm.leaves import API_SERVER, API_SERVER_KUBELET_CLIENT, FRONT_PROXY_CLIENT


def needed(facts: TenantFacts) -> dict[str, tuple[str, ...]]:
    """The files of each program, sorted by name."""
    trusted = (certificate_file(CLUSTER.name), certificate_file(FRONT_PROXY.name))
    pairs = (API_SERVER, API_SERVER_KUBELET_CLIENT, FRONT_PROXY_CLIENT)
    api = {
        *trusted,
        *(certificate_file(each.name) for each in pairs),
        *(key_file(each.name) for each in pairs),
        SERVICE_ACCOUNTS_KEY,
        SERVICE_ACCOUNTS_PUBLIC_KEY,
        *_store_files(facts),
    }
    if facts.tunnel is not None:
        api.add(identities.KONNECTIVITY_SERVER.file)
    manager = {*trusted, key_file(CLUSTER.name), SERVICE_ACCOUNTS_KEY, identities.CONTROLLER_MANAGER.file}
    return {
        KUBE_APISERVER: tuple(sorted(api)),
        KUBE_CONTROLLER_MANAGER: tuple(sorted(manager)),
        KUBE_SCHEDULER: tuple(sorted({*trusted, identities.SCHEDULER.file})),
    }


def is_kubeconfig(name: str) -> bool:
    """Whether a file is a kubeconfig, and so not in the folder of certificates."""
    return name.endswith(".conf")


def _store_files(facts: TenantFacts) -> set[str]:
    """Those of the store that are among the others; files elsewhere are somebody else's to provide."""
    store, folder = facts.store, f"{facts.folders.pki}/"
    paths = (store.ca_file, store.certificate_file, store.key_file)
    return {path.removeprefix(folder) for path in paths if path.startswith(folder)}
