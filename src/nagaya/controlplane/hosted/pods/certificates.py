"""The files of a tenant's programs: made where they are missing, renewed when it is time, else the very same.

They are kept in the Secrets from which pods have them, so nothing else has to be remembered. Kubeconfigs of pods are
whole, with certificate and key in them. A renewed certificate keeps its key; it rolls the pods that have it, because
the hash of their files changes.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from nagaya.api.untyped import Untyped
from nagaya.clusters.certificates.kubeconfig import read
from nagaya.controlplane.hosted.host.certificates import Authorities, Issued, Issuing
from nagaya.controlplane.hosted.kubernetes.pods import secret_key
from nagaya.pki import kubeconfig
from nagaya.pki.key_pair import KeyPair
from nagaya.pki.kubeadm.identities import Identity
from nagaya.pki.kubeadm.inputs import Inputs
from nagaya.pki.kubeadm.layout import certificate_file, key_file
from nagaya.pki.kubeadm.leaves import WITHOUT_ETCD
from nagaya.pki.kubeconfig import ClientCertificate
from nagaya.world import Clock

_NOTHING: Final = KeyPair(b"", b"")


@dataclass(frozen=True, slots=True)
class ProgramFiles:
    """All files, and what is to be said of them."""

    files: Mapping[str, bytes] = field(repr=False)
    issued: tuple[Issued, ...]
    due: datetime | None
    """When the first certificate is to be renewed."""
    renewed: tuple[str, ...]
    """Why some were replaced just now, a sentence each."""


def kept(secrets: Iterable[Untyped], names: Iterable[str]) -> dict[str, bytes]:
    """The files that Secrets of a tenant hold already, by name."""
    held: dict[str, str] = {}
    for secret in secrets:
        held |= secret.raw.get("data") or {}
    found = {}
    for name in names:
        try:
            found[name] = base64.b64decode(held[secret_key(name)], validate=True)
        except (KeyError, binascii.Error):
            continue  # it is made anew
    return found


def wanted(identities: Iterable[Identity]) -> Iterator[str]:
    """The names of all files that are made here."""
    for leaf in WITHOUT_ETCD:
        yield certificate_file(leaf.name)
        yield key_file(leaf.name)
    for each in identities:
        yield each.file


def ensure(
    before: Mapping[str, bytes],
    authorities: Authorities,
    inputs: Inputs,
    servers: Mapping[Identity, str],
    clock: Clock,
) -> ProgramFiles:
    """All files. `servers` are the URLs at which each finds the API. Makes keys: to be called in a thread.

    Raises ValueError if something cannot be made.
    """
    issuing, files = Issuing(authorities, clock), authorities.files()
    for leaf in WITHOUT_ETCD:
        paths = certificate_file(leaf.name), key_file(leaf.name)
        pair = KeyPair(*(before.get(path, b"") for path in paths))
        pair = issuing.leaf(leaf.name, pair, leaf.spec(inputs), leaf.authority.name)
        files |= dict(zip(paths, (pair.certificate, pair.key), strict=True))
    for identity, server in servers.items():
        pair = _in_kubeconfig(before.get(identity.file, b""))
        name, spec = identity.file.removesuffix(".conf"), identity.spec(inputs.leaf_validity)
        pair = issuing.leaf(name, pair, spec)
        config = kubeconfig.build(
            server,
            authorities.cluster.certificate,
            ClientCertificate(pair.certificate, pair.key),
            cluster=inputs.cluster_name,
            user=identity.user,
        )
        files[identity.file] = kubeconfig.to_yaml(config)
    made = issuing.result()
    return ProgramFiles(files, made.issued, made.due, made.renewed)


def _in_kubeconfig(text: bytes) -> KeyPair:
    try:
        content = read(text)
    except ValueError:
        return _NOTHING
    return KeyPair.of(content.certificate, content.key)
