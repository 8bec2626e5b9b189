"""Which volumes a deletion waits for. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from nagaya.clusters.names import listed
from nagaya.core.machine.deletion.dates import date
from nagaya.core.machine.deletion.drain.judgement import Fate, Verdict
from nagaya.core.machine.deletion.volumes.objects import PersistentVolume
from nagaya.kube.key import Key

_SHOWN: Final = 5
_CLAIM: Final = "PersistentVolumeClaim"


@dataclass(frozen=True, slots=True)
class Attached:
    """Volumes that are still attached, each list sorted."""

    claims: tuple[str, ...] = ()
    unclaimed: tuple[str, ...] = ()
    """Volumes that belong to no claim."""
    unknown: tuple[str, ...] = ()
    """Names that the Node tells, and no volume has."""
    missing: tuple[str, ...] = ()
    """Volumes that an attachment names, and that do not exist."""

    def __bool__(self) -> bool:
        return bool(self.claims or self.unclaimed or self.unknown or self.missing)

    def message(self, started: datetime) -> str:
        """What is waited for, in the words of the condition Deleting."""
        lines = [detach_started(started)]
        for title, names in (
            ("PersistentVolumeClaims", self.claims),
            ("PersistentVolumes without a .spec.claimRef to a PersistentVolumeClaim", self.unclaimed),
            ("Node with .status.volumesAttached entries not matching a PersistentVolume", self.unknown),
            (
                "VolumeAttachment with .spec.source.persistentVolumeName not matching a PersistentVolume",
                self.missing,
            ),
        ):
            if names:
                lines.append(f"* {title}: {listed(names, _SHOWN)}")
        return "\n".join(lines)


def detach_started(started: datetime) -> str:
    """What is said while nothing else is known."""
    return f"Waiting for Node volumes to be detached (started at {date(started)})"


def attached(
    told_by_node: Collection[str],
    told_by_attachments: Collection[str],
    volumes: Iterable[PersistentVolume],
    ignored: Collection[str],
) -> Attached:
    """What is waited for: all that Node and attachments tell, but for the claims of pods that stay."""
    claims: set[str] = set()
    unclaimed: list[str] = []
    found: set[str] = set()
    for volume in volumes:
        name = volume.metadata.name
        names = {each for each in (volume.attached_name,) if each in told_by_node}
        if name in told_by_attachments:
            names.add(name)
        if not names:
            continue
        found |= names
        claim = volume.spec.claim_ref
        if claim is None or claim.kind != _CLAIM:
            unclaimed.append(name)
        else:
            claims.add(str(Key(claim.namespace, claim.name)))
    return Attached(
        claims=tuple(sorted(claims.difference(ignored))),
        unclaimed=tuple(sorted(unclaimed)),
        unknown=tuple(sorted(set(told_by_node) - found)),
        missing=tuple(sorted(set(told_by_attachments) - found)),
    )


def claims_of_pods_that_stay(verdicts: Iterable[Verdict]) -> frozenset[str]:
    """The claims that nobody waits for, because the pods that use them are left alone."""
    return frozenset(
        str(Key(each.pod.metadata.namespace, claim))
        for each in verdicts
        if each.fate is Fate.LEAVE
        for claim in each.pod.claims
    )
