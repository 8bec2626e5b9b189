"""The folder of one tenant: named by its identity, closed to others, every file in it whole.

owner.json       whose it is (ownership.py)
pki/             certificates and keys, with kubeadm's names
*.conf           kubeconfigs of the tenant's own programs
configuration/   what kube-apiserver reads at its start
encryption/      how it encrypts what it stores
store/           credentials for the data store
logs/            the audit log
ports.json       ports within this machine (ports.py)
started.json     what each process was last started as
balancer.json    what the balancer reads; what it says is beside it (leaving.py)
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from nagaya.controlplane.hosted.components.facts import Folders
from nagaya.controlplane.hosted.data_store.kine_process import LONGEST_SOCKET
from nagaya.controlplane.hosted.host.ownership import RECORD
from nagaya.pki.files import write_atomically

_UID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Started(msgspec.Struct, frozen=True):
    """What a process was last started as."""

    digest: str
    version: str
    """Of Kubernetes."""


@dataclass(frozen=True, slots=True)
class TenantFolder:
    """One tenant's files."""

    path: Path

    @classmethod
    def of(cls, tenants: Path, uid: str) -> TenantFolder:
        """The folder of a tenant. Raises ValueError if its identity was no uid: it becomes part of paths."""
        if not _UID.fullmatch(uid):
            raise ValueError(f"{uid!r} is not a uid: it must be a UUID in lower case")
        return cls(tenants / uid)

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
            sockets=base,
        )

    @property
    def kine_socket(self) -> str:
        """Where kine listens."""
        return os.fspath(self.path / "kine.sock")

    @property
    def tunnel_socket(self) -> str:
        """Where Konnectivity's server takes the API server's connections."""
        return os.fspath(self.path / "tunnel.sock")

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
        return self.path / "balancer.json"

    @property
    def ports_file(self) -> Path:
        """The ports within this machine."""
        return self.path / "ports.json"

    def make(self) -> None:
        """Have the folder, closed to others."""
        for each in (self.path.parent, self.path, self.path / "logs"):
            each.mkdir(mode=0o700, parents=True, exist_ok=True)

    def write(self, files: Mapping[str, bytes]) -> tuple[str, ...]:
        """Have files with this content, by their path within the folder. Returns those that were not so before."""
        self.make()
        changed = []
        for name, content in files.items():
            path = self.path / name
            if self.read(name) != content:
                write_atomically(path, content)
                changed.append(name)
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
        self.write({f"store/{name}": content for name, content in credentials.items()})

    def started(self) -> dict[str, Started]:
        """What each process was last started as, by its name."""
        content = self.read("started.json")
        try:
            return {} if content is None else msgspec.json.decode(content, type=dict[str, Started])
        except msgspec.MsgspecError:
            return {}  # then all are started anew

    def note_started(self, started: Mapping[str, Started]) -> None:
        """Remember what processes are about to be started as."""
        self.write({"started.json": msgspec.json.encode(started, order="sorted")})

    def empty(self) -> None:
        """Remove all that is in it, but for the record of whose it is: without that nobody could complete it."""
        for each in self.path.iterdir() if self.path.exists() else ():
            if each.name == RECORD:
                continue
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each)
            else:
                each.unlink()

    def remove(self) -> None:
        """Remove the folder and all that is in it."""
        if self.path.exists():
            shutil.rmtree(self.path)
