"""The command line of kine, which gives kube-apiserver a SQL database for an etcd.

The database is told by an environment variable: it may contain a password, and command lines can be read by others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from nagaya.api.bootstrap.component import Argument
from nagaya.api.controlplane.hosted_arguments import KINE
from nagaya.controlplane.hosted.components.arguments import merged
from nagaya.controlplane.hosted.components.facts import KineStore

ENDPOINT: Final = "KINE_ENDPOINT"
_SHARED: Final = {"datastore-max-open-connections": "16"}
"""Connections to a server that others use, too: without a limit, a few API servers that start at once take all that a
PostgreSQL has (100, if it is not told)."""


def arguments(store: KineStore, given: Sequence[Argument] = ()) -> tuple[str, ...]:
    """What kine is started with."""
    fixed = {"listen-address": f"unix://{store.socket}", "metrics-bind-address": "0"}
    optional = {"ca-file": store.ca_file, "cert-file": store.certificate_file, "key-file": store.key_file}
    fixed.update({name: value for name, value in optional.items() if value})
    return merged(KINE, fixed, _SHARED if store.endpoint.startswith("postgres") else {}, given)


def environment(store: KineStore) -> Mapping[str, str]:
    """What else it must know, and nobody else may."""
    return {ENDPOINT: store.endpoint}
