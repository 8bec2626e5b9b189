"""The folder of one tenant: named by its identity, closed to others, every file in it whole.

What the tenant's programs can write is in `logs` and `run` and nowhere else. Where they have a user of their own
(users.py) these two are its, and what else its programs need can be read by its group; the rest is root's alone.

owner.json       whose it is (ownership.py)
pki/             certificates and keys, with kubeadm's names
*.conf           kubeconfigs of the tenant's own programs
configuration/   what kube-apiserver reads at its start
encryption/      how it encrypts what it stores
store/           credentials for the data store
logs/            the audit log
run/             sockets
ports.json       ports within this machine (ports.py)
started.json     what each process was last started as
balancer/        what the balancer reads, and in a file of its own what it says (leaving.py)
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from nagaya.controlplane.hosted.components.facts import Folders
from nagaya.controlplane.hosted.data_store.kine_process import LONGEST_SOCKET
from nagaya.controlplane.hosted.host.balancer.front import STATUS
from nagaya.controlplane.hosted.host.ownership import RECORD
from nagaya.pki.files import PRIVATE, write_atomically
from nagaya.supervision.folders import hand_over, let_through, remove, share

_BALANCER: Final = "balancer"
BALANCER_FILE: Final = f"{_BALANCER}/balancer.json"
_UID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Started(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a process was last started as."""

    digest: str
    version: str
    """Of Kubernetes."""
    listens: str = ""
    """Where clients of an API server, or agents of Konnectivity, connect. Earlier versions of Nagaya left it out."""


@dataclass(frozen=True, slots=True)
class TenantFolder:
    """One tenant's files."""

    path: Path
    user: int | None = None
    """Who the tenant's programs run as, if not as Nagaya itself."""

    @classmethod
    def of(cls, tenants: Path, uid: str, user: int | None = None) -> TenantFolder:
        """The folder of a tenant. Raises ValueError if its identity was no uid: it becomes part of paths."""
        if not _UID.fullmatch(uid):
            raise ValueError(f"{uid!r} is not a uid: it must be a UUID in lower case")
        return cls(tenants / uid, user)

    @property
    def folders(self) -> Folders:
        """Where programs find their files."""
        base = os.fspath(self.path)
        return Folders(
            pki=f"{base}/pki",
            kubeconfigs=base,
            configuration=f"{base}/configuration",
            encryption=f"{base}/encryption",
            logs=f"{base}/logs",
            sockets=f"{base}/run",
        )

    @property
    def kine_socket(self) -> str:
        """Where kine listens."""
        return os.fspath(self.path / "run/kine.sock")

    @property
    def tunnel_socket(self) -> str:
        """Where Konnectivity's server takes the API server's connections."""
        return os.fspath(self.path / "run/tunnel.sock")

    def expect_sockets(self) -> None:
        """Raises ValueError, with the remedy, if the sockets' paths are too long for sockets."""
        surplus = max(len(os.fsencode(each)) for each in (self.kine_socket, self.tunnel_socket)) - LONGEST_SOCKET
        if surplus > 0:
            raise ValueError(
                f"The path of {self.path.parent} is {surplus} bytes too long for the Unix sockets of kine and "
                "Konnectivity in it: choose another folder for tenants (--tenants-dir)."
            )

    @property
    def balancer_file(self) -> Path:
        """What the balancer reads."""
        return self.path / BALANCER_FILE

    @property
    def ports_file(self) -> Path:
        """The ports within this machine."""
        return self.path / "ports.json"

    def make(self) -> None:
        """Have the folder, closed to others."""
        for each in (self.path.parent, self.path, self.path / "logs", self.path / "run"):
            each.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.user is not None:
            let_through(self.path.parent)
            let_through(self.path)
            hand_over(self.path / "logs", self.user)
            hand_over(self.path / "run", self.user)

    def write(self, files: Mapping[str, bytes]) -> tuple[str, ...]:
        """Have files with this content, by their path within the folder, for the tenant's programs to read, also those
        that an earlier version of Nagaya, or one that was not root, has written. Returns those that were not so
        before."""
        return self._write(files, self.user)

    def write_for_balancer(self, files: Mapping[str, bytes]) -> None:
        """Have files that the balancer reads, by their names."""
        self._write({f"{_BALANCER}/{name}": content for name, content in files.items()}, self.user)
        status = self.path / f"{BALANCER_FILE}{STATUS}"
        if self.user is not None and not (status.exists() and status.lstat().st_uid == self.user):
            # The balancer can write into this file, and make no other.
            write_atomically(status, b"")
            os.chown(status, self.user, self.user)

    def _write(self, files: Mapping[str, bytes], group: int | None) -> tuple[str, ...]:
        self.make()
        changed = []
        for name, content in files.items():
            path = self.path / name
            if self.read(name) != content:
                write_atomically(path, content, *((PRIVATE,) if group is None else (0o640, group)))
                changed.append(name)
            if group is not None:
                share(path, group)
                if path.parent != self.path:
                    share(path.parent, group)
        return tuple(changed)

    def read(self, name: str) -> bytes | None:
        """The content of a file; None if there is none."""
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            return None

    def kept(self) -> dict[str, bytes]:
        """Credentials for the data store, as they were kept."""
        folder = self.path / "store"
        return {each.name: each.read_bytes() for each in folder.iterdir()} if folder.is_dir() else {}

    def keep(self, credentials: Mapping[str, bytes]) -> None:
        """Keep credentials for the data store."""
        self._write({f"store/{name}": content for name, content in credentials.items()}, None)

    def started(self) -> dict[str, Started]:
        """What each process was last started as, by its name."""
        content = self.read("started.json")
        try:
            return {} if content is None else msgspec.json.decode(content, type=dict[str, Started])
        except msgspec.MsgspecError:
            return {}  # then all are started anew

    def note_started(self, started: Mapping[str, Started]) -> None:
        """Remember what processes are about to be started as."""
        self._write({"started.json": msgspec.json.encode(started, order="sorted")}, None)

    def empty(self) -> None:
        """Remove all that is in it, but for the record of whose it is: without that nobody could complete it."""
        for each in self.path.iterdir() if self.path.exists() else ():
            if each.name == RECORD:
                continue
            if each.is_dir() and not each.is_symlink():
                remove(each)
            else:
                each.unlink()

    def remove(self) -> None:
        """Remove the folder and all that is in it."""
        if self.path.exists():
            remove(self.path)
