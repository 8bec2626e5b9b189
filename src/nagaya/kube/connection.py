"""Where an API server is, how it is recognised, and who to be there: what a kubeconfig says, without its indirections.

A `Connection` is a value. Two of them are equal exactly when nothing changed, so that whoever keeps a connection to a
tenant knows when to make it anew. What it holds is secret: `repr` shows only where it leads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from nagaya.kube.exec_plugin import ExecPlugin

Pem = bytes | Path
"""PEM text, or the file that holds it: files are read again when they change."""


@dataclass(frozen=True, slots=True)
class Impersonation:
    """Whom to act as."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, str], ...] = ()  # names may be repeated


@dataclass(frozen=True, slots=True)
class Connection:
    """A way to one API server as one user."""

    server: str  # URL, maybe with a path, without a slash at the end
    authority: Pem | None = field(default=None, repr=False)  # None: what the machine trusts
    certificate: Pem | None = field(default=None, repr=False)
    key: Pem | None = field(default=None, repr=False)
    token: str = field(default="", repr=False)
    token_file: Path | None = field(default=None, repr=False)  # goes before `token`
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    plugin: ExecPlugin | None = field(default=None, repr=False)
    impersonation: Impersonation | None = None
    proxy: str = field(default="", repr=False)  # may hold a password
    tls_server_name: str = ""
    insecure: bool = False
    compression: bool = True
    namespace: str = "default"
    sealed: bool = False
    """Whether it comes from an object that a tenant may write: the address policy checks where it leads, and the server
    may be hostile."""
