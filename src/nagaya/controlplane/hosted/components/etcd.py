"""The command line of the etcd that Nagaya starts itself: one member, which only shows itself to those with a
certificate, and in which each tenant sees its own keys only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from nagaya.api.controlplane.argument_values import CIPHER_SUITES
from nagaya.controlplane.hosted.components.facts import LOOPBACK
from nagaya.pki.kubeadm.authorities import ETCD
from nagaya.pki.kubeadm.layout import certificate_file, key_file
from nagaya.pki.kubeadm.leaves import ETCD_PEER, ETCD_SERVER

QUOTA_BYTES: Final = 8 * 2**30
"""etcd's own advice for the most that it should hold. Its default, 2 GiB, is for one cluster."""

_COMPACTION: Final = "10m"
"""How much history is kept: twice what one kube-apiserver keeps, because tenants' watches may lag behind."""

_HEARTBEAT, _ELECTION = 50, 250
"""Milliseconds. A member waits for others at every start before it elects itself, and all tenants wait with it. This
one is alone: with etcd's own numbers, made for several that are far apart, that would be up to a second for nobody.
Still smaller numbers would keep a processor busy for it."""


@dataclass(frozen=True, slots=True)
class EtcdFacts:
    """The member, as its command line needs to know it."""

    name: str
    data_folder: str
    pki_folder: str
    """With kubeadm's names: `etcd/ca.crt`, `etcd/server.crt`, `etcd/peer.crt` and so on."""
    client_port: int = 2379
    peer_port: int = 2380
    metrics_port: int = 0
    """Where it tells how it is, without TLS, on loopback. 0 is nowhere."""
    address: str = LOOPBACK
    quota_bytes: int = QUOTA_BYTES


def arguments(facts: EtcdFacts) -> tuple[str, ...]:
    """What etcd is started with."""
    host = f"[{facts.address}]" if ":" in facts.address else facts.address
    client, peer = f"https://{host}:{facts.client_port}", f"https://{host}:{facts.peer_port}"
    authority = f"{facts.pki_folder}/{certificate_file(ETCD.name)}"
    found = {
        "advertise-client-urls": client,
        "auto-compaction-mode": "periodic",
        "auto-compaction-retention": _COMPACTION,
        "cert-file": f"{facts.pki_folder}/{certificate_file(ETCD_SERVER.name)}",
        # The suites of TLS 1.3 cannot be chosen, and etcd refuses a list that has them.
        "cipher-suites": ",".join(each for each in CIPHER_SUITES if "_WITH_" in each),
        "client-cert-auth": "true",
        "data-dir": facts.data_folder,
        "election-timeout": str(_ELECTION),
        "feature-gates": "InitialCorruptCheck=true",
        "heartbeat-interval": str(_HEARTBEAT),
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"{facts.name}={peer}",
        "key-file": f"{facts.pki_folder}/{key_file(ETCD_SERVER.name)}",
        "listen-client-urls": client,
        "listen-peer-urls": peer,
        "name": facts.name,
        "peer-cert-file": f"{facts.pki_folder}/{certificate_file(ETCD_PEER.name)}",
        "peer-client-cert-auth": "true",
        "peer-key-file": f"{facts.pki_folder}/{key_file(ETCD_PEER.name)}",
        "peer-trusted-ca-file": authority,
        "quota-backend-bytes": str(facts.quota_bytes),
        "tls-min-version": "TLS1.2",
        "trusted-ca-file": authority,
        "watch-progress-notify-interval": "5s",
    }
    if facts.metrics_port:
        found["listen-metrics-urls"] = f"http://{LOOPBACK}:{facts.metrics_port}"
    return tuple(f"--{name}={value}" for name, value in sorted(found.items()))
