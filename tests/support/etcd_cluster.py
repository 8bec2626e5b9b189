"""A real etcd cluster with TLS, for tests that must know what the real thing does.

Members are on loopback ports that were free, with certificates of their own, and can be killed, started again and
added. Leaving the context kills them and removes their data.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from nagaya.kube.etcd.client import client_tls
from support.ports import free_ports
from support.real import installed_binaries
from support.real_certificates import Authority, Pair
from support.real_processes import Processes

HOSTS = ("127.0.0.1", "localhost")
START_TIMEOUT = 120.0


@dataclass(frozen=True)
class Place:
    """Where a member is."""

    name: str
    client_port: int
    peer_port: int

    @property
    def endpoint(self) -> str:
        return f"https://127.0.0.1:{self.client_port}"

    @property
    def peer_url(self) -> str:
        return f"https://127.0.0.1:{self.peer_port}"


class EtcdCluster:
    """Members named m0, m1 and so on. They run and have a leader when the context is entered."""

    def __init__(self, size: int = 3, *, arguments: Sequence[str] = ()) -> None:
        self._etcd = installed_binaries(("etcd",)).path("etcd")
        self._arguments = tuple(arguments)
        ports = free_ports(2 * size)
        self.places = [Place(f"m{each}", ports[2 * each], ports[2 * each + 1]) for each in range(size)]
        self.authority = Authority("etcd-ca")
        self._processes: Processes
        self._folder: Path

    def __enter__(self) -> Self:
        self._processes = Processes("nagaya-etcd-")
        try:
            self._folder = self._processes.folder
            self._write("ca", self.authority.pair)
            self._write("server", self.authority.server("etcd", HOSTS))
            self._write("peer", self.authority.client("etcd-peer"))
            self._initial = ",".join(f"{place.name}={place.peer_url}" for place in self.places)
            for place in self.places:
                self.start(place)
            for place in self.places:
                self.wait(place)
        except BaseException:
            self._processes.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            error.add_note(self._processes.tails())
        self._processes.close()

    def tls(self, user: str = "root", *, check_name: bool = True) -> ssl.SSLContext:
        """TLS as the owner of a certificate of this name."""
        pair = self.authority.client(user)
        return client_tls(self.authority.pair.certificate, pair.certificate, pair.key, check_name=check_name)

    def place(self, name: str) -> Place:
        """Where the member of a name is."""
        return next(place for place in self.places if place.name == name)

    def start(self, place: Place) -> None:
        """Start a member, for the first time or again."""
        self._processes.start(place.name, self._command(place))

    def kill(self, place: Place) -> None:
        """End a member without warning; it is gone when this returns."""
        self._processes.end(place.name)

    def new_place(self) -> Place:
        """A place for one more member, which has to be added to the cluster before it is started by `join`."""
        client_port, peer_port = free_ports(2)
        place = Place(f"m{len(self.places)}", client_port, peer_port)
        self.places.append(place)
        return place

    def join(self, place: Place, peers: Sequence[tuple[str, str]]) -> None:
        """Start a member that has been added; `peers` are the names and peer URLs of all of them."""
        initial = ",".join(f"{name}={url}" for name, url in peers)
        command = [*self._command(place, initial), "--initial-cluster-state=existing"]
        self._processes.start(place.name, command)

    def wait(self, place: Place) -> None:
        """Until a member takes connections, which it does once it knows a leader."""
        deadline = time.monotonic() + START_TIMEOUT
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", place.client_port), timeout=1).close()
            except OSError:
                time.sleep(0.02)
            else:
                return
        raise AssertionError(f"etcd {place.name} took no connection in {START_TIMEOUT:.0f} s")

    def _write(self, stem: str, pair: Pair) -> None:
        (self._folder / f"{stem}.crt").write_bytes(pair.certificate)
        (self._folder / f"{stem}.key").touch(0o600)
        (self._folder / f"{stem}.key").write_bytes(pair.key)

    def _command(self, place: Place, initial: str | None = None) -> list[str | Path]:
        file = self._folder
        return [
            self._etcd,
            f"--name={place.name}",
            f"--data-dir={file / place.name}",
            f"--listen-client-urls={place.endpoint}",
            f"--advertise-client-urls={place.endpoint}",
            f"--listen-peer-urls={place.peer_url}",
            f"--initial-advertise-peer-urls={place.peer_url}",
            f"--initial-cluster={initial or self._initial}",
            f"--cert-file={file / 'server.crt'}",
            f"--key-file={file / 'server.key'}",
            f"--trusted-ca-file={file / 'ca.crt'}",
            "--client-cert-auth",
            f"--peer-cert-file={file / 'server.crt'}",
            f"--peer-key-file={file / 'server.key'}",
            f"--peer-client-cert-file={file / 'peer.crt'}",
            f"--peer-client-key-file={file / 'peer.key'}",
            f"--peer-trusted-ca-file={file / 'ca.crt'}",
            "--enable-grpc-gateway=false",  # it would need a certificate as a client of its own server
            "--peer-client-cert-auth",
            "--log-level=warn",
            "--unsafe-no-fsync",
            *self._arguments,
        ]
