"""An address for the API servers of a control plane that no machine has for itself: kube-vip as a static pod.

Where the infrastructure says so, every machine of the control plane gets the manifest among its files. The machines
elect one of them by a Lease of their own cluster, which then takes the address and tells its neighbours by ARP (NDP
for IPv6). So nothing outside the cluster is needed, and the address is up before kubeadm joins a second machine.

What always holds:

- The user's word counts more. Whoever brings a kube-vip of his own, as a file or by a command, gets no second one: two
  would fight for the address.
- It is decided when boot data is made, and only then. No machine is replaced because something was changed here: those
  that are made later are like the new wish. All of them use the same Lease, so old and new ones get on.

Which credentials: kube-vip asks the API server of its own machine, under the name `kubernetes`, which its certificate
has. From 1.29 on, kubeadm's admin.conf is of no use until `kubeadm init` has bound its group to a role; up to 1.35
kubeadm does that through the very address that nobody has yet (https://github.com/kube-vip/kube-vip/issues/684). So the
first machine takes super-admin.conf there. It keeps it: going back would take the address away for a moment, just when
others begin to use it. Since 1.36 kubeadm talks to its own machine, and admin.conf is enough on all.
"""

from __future__ import annotations

import base64
import gzip
import zlib
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Any, Final

from nagaya.api.bootstrap.files import File
from nagaya.bootstrap import yaml_text
from nagaya.bootstrap.own_file import OwnFile
from nagaya.bootstrap.preparation import Preparation
from nagaya.bootstrap.refusal import Refused
from nagaya.clusters import kubernetes_version

NAME: Final = "kube-vip"
IMAGE: Final = "ghcr.io/kube-vip/kube-vip:v1.1.2"
_MANIFESTS: Final = "/etc/kubernetes/manifests"
PATH: Final = f"{_MANIFESTS}/{NAME}.yaml"
DEFAULT_PORT: Final = 6443
LEASE: Final = "plndr-cp-lock"
"""kube-vip's own name for it, so that machines with a manifest from elsewhere take part in the same election."""
LEASE_SECONDS: Final = 15
RENEW_SECONDS: Final = 10
RETRY_SECONDS: Final = 2
"""Those of Kubernetes's own components: an address that moves at each hiccup of etcd is worse than one that is away for
a quarter of a minute when its machine has died."""
_FOLDER: Final = "/etc/kubernetes"
_ADMIN: Final = "admin.conf"
_SUPER_ADMIN: Final = "super-admin.conf"
_SUPER_ADMIN_SINCE: Final = (1, 29)
_LOCAL_SINCE: Final = (1, 36)


@dataclass(frozen=True, slots=True)
class VirtualIP:
    """The endpoint of a cluster, to be held by the machines of its control plane."""

    address: str
    port: int
    image: str = IMAGE
    interface: str = ""
    """The network interface that gets the address; that of the default route if empty."""


def files(
    wanted: VirtualIP | None, preparation: Preparation, *, first: bool, bind_port: int | None
) -> tuple[OwnFile, ...]:
    """What a machine of the control plane gets; nothing if nobody asks for it, or if the user brings his own. `first`:
    it starts the cluster; `bind_port`: where its API server is told to listen. Raises Refused."""
    if wanted is None or brings_own(preparation):
        return ()
    listens = bind_port or DEFAULT_PORT
    if listens != wanted.port:
        raise Refused(
            "localAPIEndpoint.bindPort",
            f"kube-vip brings the address {wanted.address} to the API servers but changes no ports: they listen on "
            f"{listens}, and the endpoint of the cluster has {wanted.port}",
            f"Set it to {wanted.port} in initConfiguration and in joinConfiguration.controlPlane, or choose another "
            "port for the endpoint",
        )
    content = yaml_text.dump(manifest(wanted, credentials(preparation.kubernetes_version, first=first)))
    return (OwnFile(PATH, content.encode(), "0600"),)


def brings_own(preparation: Preparation) -> bool:
    """Whether the user puts a kube-vip onto the machine: by a file, or by a command or script that makes one."""
    texts = [
        *preparation.boot_commands,
        *preparation.pre_kubeadm_commands,
        *preparation.post_kubeadm_commands,
        *(f"{file.path}\n{_text(file)}" for file in preparation.files),
    ]
    return any(NAME in each and _MANIFESTS in each for each in texts)


def credentials(version: str, *, first: bool) -> str:
    """The kubeconfig of kubeadm's that can be used on a machine from the beginning."""
    parsed = kubernetes_version.parse(version)
    release = (0, 0) if parsed is None else (parsed.major, parsed.minor)
    name = _SUPER_ADMIN if first and _SUPER_ADMIN_SINCE <= release < _LOCAL_SINCE else _ADMIN
    return f"{_FOLDER}/{name}"


def _text(file: File) -> str:
    """What is in a file of the user's, as far as it is text."""
    if not file.encoding:
        return file.content
    try:
        content = base64.b64decode(file.content)
        return (gzip.decompress(content) if file.encoding.startswith("gzip") else content).decode(errors="replace")
    except (ValueError, EOFError, OSError, zlib.error):
        return ""  # that is told where the file is rendered, or on the machine


def manifest(wanted: VirtualIP, kubeconfig: str) -> dict[str, Any]:
    """The pod."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": NAME, "namespace": "kube-system", "labels": {"app.kubernetes.io/name": NAME}},
        "spec": {
            "hostNetwork": True,
            "priorityClassName": "system-node-critical",
            "hostAliases": [{"ip": "127.0.0.1", "hostnames": ["kubernetes"]}],
            "containers": [
                {
                    "name": NAME,
                    "image": wanted.image,
                    "imagePullPolicy": "IfNotPresent",
                    "args": ["manager"],
                    "env": _environment(wanted),
                    "securityContext": {"capabilities": {"drop": ["ALL"], "add": ["NET_ADMIN", "NET_RAW"]}},
                    "volumeMounts": [
                        {"name": "kubeconfig", "mountPath": f"{_FOLDER}/{_ADMIN}", "readOnly": True},
                    ],
                }
            ],
            # Only if it is there: an empty file in its place would keep kubeadm from writing it.
            "volumes": [{"name": "kubeconfig", "hostPath": {"path": kubeconfig, "type": "File"}}],
        },
    }


def _environment(wanted: VirtualIP) -> list[dict[str, Any]]:
    whole = 128 if isinstance(ip_address(wanted.address), IPv6Address) else 32
    values = {
        "cp_enable": "true",
        "cp_namespace": "kube-system",
        "vip_arp": "true",
        "address": wanted.address,
        "port": str(wanted.port),
        "vip_subnet": str(whole),
        "vip_interface": wanted.interface,
        "vip_leaderelection": "true",
        "vip_leasename": LEASE,
        "vip_leaseduration": str(LEASE_SECONDS),
        "vip_renewdeadline": str(RENEW_SECONDS),
        "vip_retryperiod": str(RETRY_SECONDS),
    }
    named = {"name": "vip_nodename", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    return [*({"name": name, "value": value} for name, value in values.items() if value), named]
