"""The authorities of a cluster as they are at one moment."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from nagaya.api.cluster.secrets import Purpose
from nagaya.clusters.certificates.held import Held
from nagaya.clusters.certificates.reader import SecretReader
from nagaya.clusters.certificates.wanted import TRUST_ONLY, Material, Wanted
from nagaya.kube.key import Key


@dataclass(frozen=True, slots=True)
class AuthoritiesSeen:
    """The Secrets that a cluster needs, in upstream's order; None for one that does not exist."""

    cluster: Key
    wanted: Wanted
    secrets: Mapping[Purpose, Held | None]

    @property
    def missing(self) -> tuple[Purpose, ...]:
        """Which do not exist."""
        return tuple(purpose for purpose, found in self.secrets.items() if found is None)

    @property
    def unusable(self) -> tuple[Held, ...]:
        """Which exist and cannot be used."""
        return tuple(found for found in self.secrets.values() if found is not None and found.problem)

    @property
    def complete(self) -> bool:
        """Whether all of them exist and can be used."""
        return not self.missing and not self.unusable

    def get(self, purpose: Purpose) -> Held | None:
        """One that exists and can be used."""
        found = self.secrets.get(purpose)
        return None if found is None or found.problem else found


async def observe(reader: SecretReader, cluster: Key, wanted: Wanted) -> AuthoritiesSeen:
    """All authorities of a cluster. Raises what the server refuses."""
    return AuthoritiesSeen(cluster, wanted, await _read(reader, cluster, wanted.materials))


async def observe_trust(reader: SecretReader, cluster: Key) -> AuthoritiesSeen:
    """Only what it takes to recognise a cluster: the certificates of its authority, with or without a key."""
    return AuthoritiesSeen(cluster, Wanted(), await _read(reader, cluster, TRUST_ONLY))


async def observe_kubeconfig(reader: SecretReader, cluster: Key) -> Held | None:
    """The Secret with the administrator's kubeconfig; None if there is none."""
    return await reader.read(cluster, Purpose.KUBECONFIG, Material.KUBECONFIG)


async def _read(
    reader: SecretReader, cluster: Key, materials: Mapping[Purpose, Material]
) -> dict[Purpose, Held | None]:
    found = await asyncio.gather(*(reader.read(cluster, *each) for each in materials.items()))
    return dict(zip(materials, found, strict=True))
