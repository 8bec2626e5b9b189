"""What to do about the authorities of a cluster: a decision list over what is seen."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from nagaya.api.cluster.secrets import Purpose, secret_name
from nagaya.api.meta import OwnerReference
from nagaya.clusters.certificates.adoption import adopted
from nagaya.clusters.certificates.held import Held
from nagaya.clusters.certificates.seen import AuthoritiesSeen
from nagaya.clusters.certificates.wanted import Material
from nagaya.clusters.owners import Owners

_PROVIDED: Final = (Material.FOREIGN_AUTHORITY, Material.CLIENT)
"""What only a user can have."""


class Verdict(Enum):
    """How it stands with the authorities."""

    AVAILABLE = auto()
    MAKE = auto()
    """Some are missing and are made now."""
    WAIT = auto()
    """Some are missing, and somebody else makes or provides them."""
    LOST = auto()
    """Some are missing that have been in use."""
    REFUSED = auto()
    """Some cannot be used."""


@dataclass(frozen=True, slots=True)
class Adoption:
    """That a Secret gets other owners."""

    secret: Held
    owners: Owners


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do, and what to say."""

    verdict: Verdict
    make: tuple[Purpose, ...] = ()
    adopt: tuple[Adoption, ...] = ()
    message: str = ""
    """What is wrong; of what is lost in upstream's words."""
    remedy: str = ""

    @property
    def sentence(self) -> str:
        """What is wrong and what to do about it, for a condition."""
        return f"{self.message.rstrip('.')}. {self.remedy}" if self.remedy else self.message


def plan(seen: AuthoritiesSeen, *, initialized: bool, maker: OwnerReference | None, control_plane: bool = True) -> Plan:
    """What to do.

    `initialized` says whether a control plane has used the authorities. `maker` will own what is made; None if somebody
    else makes it. `control_plane` says whether `maker` is one: only those adopt what others have made.
    """
    if seen.unusable:
        return Plan(Verdict.REFUSED, message=" ".join(each.problem for each in seen.unusable))
    materials = seen.wanted.materials
    foreign = tuple(each for each in seen.missing if materials.get(each) in _PROVIDED)
    if foreign:
        return Plan(
            Verdict.WAIT,
            message=f"External certificate not found: {_secrets(seen, foreign)}",
            remedy="etcd is run by somebody else, so its certificates have to be provided: create what is missing, "
            "with tls.crt and, for a client, tls.key.",
        )
    if seen.missing and initialized:
        return Plan(
            Verdict.LOST,
            message=_lost(seen.missing),
            remedy=f"Restore {_secrets(seen, seen.missing)} from a backup or from a control plane machine. "
            f"Nothing new is made, because that would cut off every machine and user of the cluster.",
        )
    if seen.missing and maker is None:
        return Plan(
            Verdict.WAIT,
            message=f"Waiting for {_secrets(seen, seen.missing)}",
            remedy="The control plane's controller makes what is missing.",
        )
    adopt = _adoptions(seen, maker) if maker is not None and control_plane else ()
    if seen.missing:
        return Plan(Verdict.MAKE, seen.missing, adopt, f"Making {_secrets(seen, seen.missing)}")
    return Plan(Verdict.AVAILABLE, adopt=adopt)


def _adoptions(seen: AuthoritiesSeen, owner: OwnerReference) -> tuple[Adoption, ...]:
    found = []
    for secret in seen.secrets.values():
        if secret is None:
            continue
        before = secret.metadata.owner_references
        owners = adopted(secret.type, before, owner)
        if owners is not before:
            found.append(Adoption(secret, owners))
    return tuple(found)


def _lost(missing: tuple[Purpose, ...]) -> str:
    noun, verb = ("certificate", "is") if len(missing) == 1 else ("certificates", "are")
    return f"Cluster {noun} for {', '.join(missing)} {verb} not available, please check cluster certificate secrets"


def _secrets(seen: AuthoritiesSeen, purposes: tuple[Purpose, ...]) -> str:
    namespace, cluster = seen.cluster
    names = ", ".join(f"{namespace}/{secret_name(cluster, each)}" for each in purposes)
    return f"Secret {names}" if len(purposes) == 1 else f"Secrets {names}"
