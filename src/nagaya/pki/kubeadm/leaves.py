"""The certificates of a control plane's programs: who vouches for each, and what it says.

All of them say key encipherment, which means something for RSA keys alone, because kubeadm's do.

The certificate that the API server shows to kubelets names no group. Until the patch releases of May 2026 (1.35.5 and
those of its day) kubeadm had it in `kubeadm:cluster-admins`, which may do anything; since then its user is bound to
`system:kubelet-api-admin`. That works with every version, so it does not depend on one here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.kubeadm.authorities import CLUSTER, ETCD, FRONT_PROXY, Authority
from nagaya.pki.kubeadm.inputs import Inputs
from nagaya.pki.kubeadm.server_names import ServerNames, api_server_names, etcd_peer_names, etcd_server_names
from nagaya.pki.usages import Usage

_KEY: Final = (Usage.DIGITAL_SIGNATURE, Usage.KEY_ENCIPHERMENT)
_CLIENT: Final = (*_KEY, Usage.CLIENT_AUTH)
_SERVER: Final = (*_KEY, Usage.SERVER_AUTH)
_BOTH: Final = (*_KEY, Usage.SERVER_AUTH, Usage.CLIENT_AUTH)


def _no_names(_: Inputs) -> ServerNames:
    return ServerNames((), ())


@dataclass(frozen=True, slots=True)
class Leaf:
    """One certificate. `name` is that of its files, without an ending; without a common name it is the machine's."""

    name: str
    authority: Authority
    common_name: str
    usages: tuple[Usage, ...]
    names: Callable[[Inputs], ServerNames] = _no_names

    def spec(self, inputs: Inputs) -> CertificateSpec:
        """What it says. Raises ValueError, which says what is missing, if the inputs do not suffice."""
        common_name = self.common_name or inputs.node_name
        if not common_name:
            raise ValueError(f"certificate {self.name} is named after its machine, and no machine is given")
        names = self.names(inputs)
        hosts = names.dns_names, names.ip_addresses
        return CertificateSpec(common_name, (), self.usages, *hosts, inputs.leaf_validity, since_authority=True)


API_SERVER: Final = Leaf("apiserver", CLUSTER, "kube-apiserver", _SERVER, api_server_names)
API_SERVER_KUBELET_CLIENT: Final = Leaf("apiserver-kubelet-client", CLUSTER, "kube-apiserver-kubelet-client", _CLIENT)
FRONT_PROXY_CLIENT: Final = Leaf("front-proxy-client", FRONT_PROXY, "front-proxy-client", _CLIENT)
ETCD_SERVER: Final = Leaf("etcd/server", ETCD, "", _BOTH, etcd_server_names)
ETCD_PEER: Final = Leaf("etcd/peer", ETCD, "", _BOTH, etcd_peer_names)
ETCD_HEALTHCHECK_CLIENT: Final = Leaf("etcd/healthcheck-client", ETCD, "kube-etcd-healthcheck-client", _CLIENT)
API_SERVER_ETCD_CLIENT: Final = Leaf("apiserver-etcd-client", ETCD, "kube-apiserver-etcd-client", _CLIENT)

WITHOUT_ETCD: Final = (API_SERVER, API_SERVER_KUBELET_CLIENT, FRONT_PROXY_CLIENT)
"""What a control plane needs whose etcd is somebody else's."""
LEAVES: Final = (*WITHOUT_ETCD, ETCD_SERVER, ETCD_PEER, ETCD_HEALTHCHECK_CLIENT, API_SERVER_ETCD_CLIENT)
