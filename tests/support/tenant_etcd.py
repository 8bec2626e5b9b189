"""Clients of the etcd of a simulated cluster, through its API, as its administrator."""

from __future__ import annotations

from datetime import timedelta

from cryptography.hazmat.primitives.serialization import Encoding

from nagaya.in_process import Handle, HandlerTransport
from nagaya.kube.etcd.client import client_tls
from nagaya.kube.etcd.pool import EtcdPool
from nagaya.kube.transport import Call
from nagaya.pki import keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.kubeadm.inputs import Inputs
from nagaya.pki.kubeadm.issuing import new_leaf
from nagaya.pki.kubeadm.leaves import API_SERVER_ETCD_CLIENT
from nagaya.simulators.tenant.boot_data import KubeadmBoot
from nagaya.simulators.tenant.settings import NodeSettings
from nagaya.simulators.tenant.tenant import Tenant
from nagaya.world import Clock

TOKEN = "abcdef.0123456789abcdef"


class Administrator(HandlerTransport):
    """A way to a tenant as its administrator, or as somebody in other groups."""

    def __init__(self, tenant: Tenant, clock: Clock, groups: tuple[str, ...] = ("system:masters",)) -> None:
        super().__init__(self._serve, {"user-agent": "test"})
        self._tenant = tenant
        spec = CertificateSpec("somebody", groups)
        certificate, _ = tenant.settings.authority.issue_pair(spec, clock)
        self._certificate = certificate.public_bytes(Encoding.DER)

    def _serve(self, call: Call) -> tuple[Handle, bytes]:
        return self._tenant.handle, self._certificate


def pool(tenant: Tenant, etcd: CertificateAuthority, clock: Clock, *, validity: timedelta | None = None) -> EtcdPool:
    """Clients with a certificate of etcd's authority."""
    inputs = Inputs() if validity is None else Inputs(leaf_validity=validity)
    pair = new_leaf(API_SERVER_ETCD_CLIENT, etcd, inputs, keys.generate(), clock)
    context = client_tls(etcd.certificate_pem, pair.certificate, pair.key, check_name=False)
    return EtcdPool(Administrator(tenant, clock), context)


def first(name: str, etcd: CertificateAuthority) -> NodeSettings:
    """A machine that runs `kubeadm init`."""
    boot = KubeadmBoot(initializes=True, control_plane=True, etcd_authority=etcd)
    return NodeSettings(name, control_plane=True, boot=boot)


def further(name: str, etcd: CertificateAuthority) -> NodeSettings:
    """A machine that runs `kubeadm join --control-plane`, with credentials of its own."""
    boot = KubeadmBoot(initializes=False, control_plane=True, etcd_authority=etcd)
    return NodeSettings(name, control_plane=True, boot=boot)


def token_secret(
    expiration: str = "", groups: str = "system:bootstrappers:kubeadm:default-node-token"
) -> dict[str, object]:
    """The Secret of a bootstrap token in kube-system."""
    token_id, _, secret = TOKEN.partition(".")
    data = {
        "token-id": token_id,
        "token-secret": secret,
        "usage-bootstrap-authentication": "true",
        "usage-bootstrap-signing": "true",
        "auth-extra-groups": groups,
    }
    if expiration:
        data["expiration"] = expiration
    return {
        "metadata": {"name": f"bootstrap-token-{token_id}", "namespace": "kube-system"},
        "type": "bootstrap.kubernetes.io/token",
        "stringData": data,
    }
