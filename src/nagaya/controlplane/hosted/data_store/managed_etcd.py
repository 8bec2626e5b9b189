"""The etcd that Nagaya starts itself: one member on loopback, for the tenants of one machine.

Everything about it is in one folder: its certificates, its ports, its data. The authority and the ports are chosen once
and stay, because tenants' programs know them; certificates are renewed in their place, and etcd takes the new ones with
the next connection. Only the authority's own member may speak to its peer port, which holds no tenant's certificate.

It is looked at every few seconds. What was prepared is used again as long as nobody has written to its files and no
certificate is due; then nothing is read at all.
"""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Final

import msgspec

from nagaya.controlplane.hosted.components import etcd as command_line
from nagaya.controlplane.hosted.components.facts import LOOPBACK
from nagaya.controlplane.hosted.data_store.etcd import EtcdDriver
from nagaya.controlplane.hosted.data_store.etcd_access import ROOT
from nagaya.controlplane.hosted.data_store.leaf import valid_pair
from nagaya.pki import certificates
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.files import PUBLIC, write_atomically
from nagaya.pki.key_pair import KeyPair
from nagaya.pki.kubeadm.authorities import ETCD
from nagaya.pki.kubeadm.layout import certificate_file, key_file
from nagaya.pki.kubeadm.leaves import ETCD_PEER, ETCD_SERVER
from nagaya.pki.renewal import renewal_time
from nagaya.pki.usages import Usage
from nagaya.supervision.folders import hand_over, let_through, share
from nagaya.supervision.spec import Confinement, Limits, ProcessSpec
from nagaya.world import World

PROCESS: Final = "etcd"
_MEMBER: Final = "nagaya"
_PEER: Final = "nagaya-etcd-peer"
_SERVER: Final = "nagaya-etcd-server"
_CLIENT: Final = "root-client"
_BOTH: Final = (Usage.SERVER_AUTH, Usage.CLIENT_AUTH)
_GRACE: Final = 20.0
_OPEN_FILES: Final = 65536

_LEAVES: Final = {
    ETCD_SERVER.name: CertificateSpec(_SERVER, usages=_BOTH, dns_names=("localhost",), ip_addresses=(LOOPBACK,)),
    ETCD_PEER.name: CertificateSpec(_PEER, usages=_BOTH, dns_names=("localhost",), ip_addresses=(LOOPBACK,)),
    _CLIENT: CertificateSpec(ROOT),
}
_Stamp = tuple[int, int, int]
"""Which file it is, when it was written, and how long it is."""
DATA: Final = "data"
_PORTS: Final = "ports.json"
_FILES: Final = (
    _PORTS,
    *(f"pki/{file(name)}" for name in (ETCD.name, *_LEAVES) for file in (certificate_file, key_file)),
)


class Ports(msgspec.Struct, frozen=True):
    """Where it listens."""

    client: int
    peer: int


@dataclass(frozen=True)
class ManagedEtcd:
    """One member in one folder."""

    folder: Path
    program: Path
    """etcd itself."""
    ports: Ports
    authority: CertificateAuthority
    client: KeyPair
    world: World
    files: tuple[_Stamp | None, ...]
    """When its files were written, as it was prepared."""
    due: datetime
    """When the first of its certificates is to be renewed."""
    user: int | None = None
    """Who it runs as, if not as Nagaya itself."""

    @classmethod
    def prepare(
        cls,
        folder: Path,
        program: Path,
        world: World,
        choose_ports: Callable[[], Ports] | None = None,
        before: ManagedEtcd | None = None,
        user: int | None = None,
    ) -> ManagedEtcd:
        """Make what is missing and renew what is due. `before` is what was prepared in this folder the last time.

        Reads and writes files: to be called in a thread.
        """
        if before is not None and (before.program, before.user) == (program, user) and before.is_as_prepared():
            return before
        pki = folder / "pki"
        for each in (folder, pki, folder / DATA):
            each.mkdir(mode=0o700, parents=True, exist_ok=True)
        authority = _authority(pki, world)
        pairs = {name: _leaf(pki, name, spec, authority, world) for name, spec in _LEAVES.items()}
        ports = _ports(folder / _PORTS, choose_ports or _free_ports)
        if user is not None:
            _admit(folder, user)
        due = min(_renewal_time(pairs[name], spec, authority) for name, spec in _LEAVES.items())
        return cls(folder, program, ports, authority, pairs[_CLIENT], world, _stamps(folder), due, user)

    def is_as_prepared(self) -> bool:
        """Whether nobody changed its files since, and nothing is to be renewed."""
        return self.world.clock.now() < self.due and _stamps(self.folder) == self.files

    @property
    def endpoint(self) -> str:
        """host:port for clients."""
        return f"{LOOPBACK}:{self.ports.client}"

    def driver(self) -> EtcdDriver:
        """The store."""
        return self._driver

    @cached_property
    def _driver(self) -> EtcdDriver:
        return EtcdDriver([self.endpoint], self.authority, self.client, self.world)

    def spec(self, memory: int | None = None) -> ProcessSpec:
        """The process. A renewed certificate does not change it; another authority would."""
        facts = command_line.EtcdFacts(
            name=_MEMBER,
            data_folder=os.fspath(self.folder / DATA),
            pki_folder=os.fspath(self.folder / "pki"),
            client_port=self.ports.client,
            peer_port=self.ports.peer,
        )
        return ProcessSpec(
            PROCESS,
            # Tenants' certificates are from the same authority, and must not open the port of members.
            (os.fspath(self.program), *command_line.arguments(facts), f"--peer-cert-allowed-cn={_PEER}"),
            files_hash=hashlib.sha256(self.authority.certificate_pem).hexdigest(),
            limits=Limits(memory=memory, open_files=_OPEN_FILES, oom_score=-500 if os.geteuid() == 0 else None),
            confinement=None if self.user is None else Confinement(self.user, (self.folder,)),
            grace=_GRACE,
            ready=self._answers,
        )

    async def _answers(self) -> bool:
        return (await self.driver().probe()).is_ready


def _admit(folder: Path, user: int) -> None:
    """Let a user run it, who gets neither the authority's key nor the one of a root user."""
    hand_over(folder / DATA, user)
    pki = folder / "pki"
    for key in (pki / key_file(name) for name in (ETCD_SERVER.name, ETCD_PEER.name)):
        for each in (folder.parent, folder, pki, key.parent):
            let_through(each)
        share(key, user)


def _authority(pki: Path, world: World) -> CertificateAuthority:
    """The authority of the folder, made if there is none. One that is half there is not replaced: tenants trust it."""
    certificate, key = pki / certificate_file(ETCD.name), pki / key_file(ETCD.name)
    if certificate.exists():
        return CertificateAuthority.load(certificate.read_bytes(), key.read_bytes())
    authority = CertificateAuthority.create(ETCD.common_name, world.clock, around=certificates.PAST)
    # The certificate last: where it is, its key is.
    write_atomically(key, authority.key_pem)
    write_atomically(certificate, authority.certificate_pem, PUBLIC)
    return authority


def _leaf(pki: Path, name: str, spec: CertificateSpec, authority: CertificateAuthority, world: World) -> KeyPair:
    """A certificate of the folder, made or renewed if it is time."""
    certificate, key = pki / certificate_file(name), pki / key_file(name)
    found = KeyPair(*(path.read_bytes() if path.exists() else b"" for path in (certificate, key)))
    pair = valid_pair(found, spec, authority, world.clock)
    if pair.key != found.key:
        write_atomically(key, pair.key)
    if pair.certificate != found.certificate:
        write_atomically(certificate, pair.certificate, PUBLIC)
    return pair


def _renewal_time(pair: KeyPair, spec: CertificateSpec, authority: CertificateAuthority) -> datetime:
    """When a certificate is to be renewed: never, if it lasts as long as its authority."""
    at = renewal_time(certificates.load(pair.certificate)[0], authority.certificate, spec)
    return datetime.max.replace(tzinfo=UTC) if at is None else at


def _stamps(folder: Path) -> tuple[_Stamp | None, ...]:
    """When all was written that an etcd is prepared with; None for what is missing. Of data only whether it is there:
    etcd itself writes to them."""
    there = (0, 0, 0) if (folder / DATA).is_dir() else None
    return (there, *(_stamp(f"{folder}/{name}") for name in _FILES))


def _stamp(path: str) -> _Stamp | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _ports(path: Path, choose: Callable[[], Ports]) -> Ports:
    if path.exists():
        return msgspec.json.decode(path.read_bytes(), type=Ports)
    ports = choose()
    write_atomically(path, msgspec.json.encode(ports))
    return ports


def _free_ports() -> Ports:
    """Two ports that nobody has now. That may change while etcd does not run; then it says so in its log."""
    with socket.socket() as client, socket.socket() as peer:
        client.bind((LOOPBACK, 0))
        peer.bind((LOOPBACK, 0))
        return Ports(client.getsockname()[1], peer.getsockname()[1])
