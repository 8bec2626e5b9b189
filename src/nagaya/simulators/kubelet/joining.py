"""`kubeadm join` without a machine: whom to trust, and a certificate in exchange for a bootstrap token.

The cluster is recognised by what kubeadm recognises it by: the token's signature over the ConfigMap `cluster-info`, and
the hash of its authority's key if boot data name one. The certificate comes from the cluster's own controllers.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import ssl
from typing import Any, Final

import yaml

from nagaya.pki import certificates, keys, requests
from nagaya.pki.certificates import CertificateSpec
from nagaya.simulators.kubelet.calls import Calls, Credentials, Refused, unverified
from nagaya.simulators.tenant.boot_data import KubeadmBoot
from nagaya.simulators.tenant.joining import JoinDelayed, JoinRefused
from nagaya.wire import bounded_yaml
from nagaya.world import World

_INFO: Final = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
_REQUESTS: Final = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
_SIGNER: Final = "kubernetes.io/kube-apiserver-client-kubelet"
_LOOKS: Final = 40
_PAUSE: Final = 0.5
"""How often, and how many seconds apart, it is looked whether the certificate is there."""


async def join(endpoint: str, boot: KubeadmBoot, name: str, world: World) -> Credentials:
    """The credentials of a node. Raises JoinRefused for what will not get better, else JoinDelayed and OSError."""
    authority = await _discovered(endpoint, boot)
    context = ssl.create_default_context(cadata=authority.decode())
    calls = Calls(endpoint, context, boot.token)
    try:
        key = keys.generate()
        spec = CertificateSpec(f"system:node:{name}", ("system:nodes",))
        certificate = await _signed(calls, requests.create(spec, key), world)
    except Refused as error:
        if error.status in (401, 403):
            token = boot.token.partition(".")[0]
            raise JoinRefused(
                f"kubeadm join was refused: the bootstrap token {token} is not accepted ({error})."
            ) from error
        raise JoinDelayed(f"kubeadm join waits: {error}") from error
    finally:
        await calls.close()
    return Credentials(authority, certificate, keys.to_pem(key))


async def _discovered(endpoint: str, boot: KubeadmBoot) -> bytes:
    """The authority of the cluster."""
    calls = Calls(endpoint, unverified())
    try:
        info = await calls.get(_INFO)
    except Refused as error:
        raise JoinDelayed(f"the ConfigMap kube-public/cluster-info cannot be read: {error}") from error
    finally:
        await calls.close()
    content = str((info.get("data") or {}).get("kubeconfig") or "")
    identity, _, secret = boot.token.partition(".")
    signature = str((info.get("data") or {}).get(f"jws-kubeconfig-{identity}") or "")
    if not signature:
        raise JoinDelayed(f"the ConfigMap kube-public/cluster-info has no signature by the token {identity} yet")
    if not _is_signed(content, signature, secret):
        raise JoinRefused(
            f"kubeadm join does not trust the cluster: its cluster-info is not signed by token {identity}."
        )
    authority = _authority(content)
    pins = {
        f"sha256:{certificates.public_key_pin(each).removeprefix('sha256:')}" for each in certificates.load(authority)
    }
    if boot.authority_pins and not pins & set(boot.authority_pins):
        raise JoinRefused(
            "kubeadm join does not trust the cluster: none of the hashes in discovery.bootstrapToken.caCertHashes is "
            "that of the cluster's authority."
        )
    return authority


def _is_signed(content: str, signature: str, secret: str) -> bool:
    """A JSON Web Signature (HS256) without its content in it: `header..signature`."""
    header, _, rest = signature.partition(".")
    _, _, given = rest.partition(".")
    signed = f"{header}.{_encoded(content.encode())}".encode()
    wanted = _encoded(hmac.new(secret.encode(), signed, hashlib.sha256).digest())
    return hmac.compare_digest(wanted, given)


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _authority(content: str) -> bytes:
    try:
        found: dict[str, Any] = bounded_yaml.load(content)
        return base64.b64decode(found["clusters"][0]["cluster"]["certificate-authority-data"])
    except (yaml.YAMLError, LookupError, TypeError, ValueError) as error:
        raise JoinRefused("kubeadm join finds no authority in the cluster's cluster-info.") from error


async def _signed(calls: Calls, request: bytes, world: World) -> bytes:
    made = await calls.create(
        _REQUESTS,
        {
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": {"name": f"node-csr-{world.uid()}"},
            "spec": {
                "request": base64.b64encode(request).decode(),
                "signerName": _SIGNER,
                "usages": ["digital signature", "client auth"],
            },
        },
    )
    path = f"{_REQUESTS}/{made['metadata']['name']}"
    for _ in range(_LOOKS):
        status = (await calls.get(path)).get("status") or {}
        if status.get("certificate"):
            return base64.b64decode(status["certificate"])
        if any(each["type"] in ("Denied", "Failed") for each in status.get("conditions") or ()):
            raise JoinRefused("kubeadm join was refused: the cluster denied the node's certificate.")
        await asyncio.sleep(_PAUSE)
    raise JoinDelayed("kubeadm join waits for the node's certificate, which nobody has signed yet")
