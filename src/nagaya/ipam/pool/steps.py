"""What can be done for a pool, one class each. An errand is what has to be done in order; errands do not wait for each
other. Each says in a sentence why it is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nagaya.api.ipam.ip_address import IPAddress
from nagaya.api.ipam.ip_address_claim import IPAddressClaim
from nagaya.api.ipam.ip_address_reservation import IPAddressReservation
from nagaya.api.meta import OwnerReference
from nagaya.kube.key import Key


@dataclass(frozen=True, slots=True)
class Hold:
    """Keep a claim until its address is released."""

    claim: IPAddressClaim


@dataclass(frozen=True, slots=True)
class Give:
    """Reserve an address for a claim, and make the IPAddress."""

    claim: IPAddressClaim
    number: int
    entry: IPAddressReservation | None
    """The entry of the address in the ledger, if there is one."""
    reserved: bool = False
    """Whether that entry is the claim's already: a former life came this far."""


@dataclass(frozen=True, slots=True)
class Record:
    """Enter an IPAddress that exists into the ledger."""

    address: IPAddress
    claim: IPAddressClaim | None
    entry: IPAddressReservation | None


@dataclass(frozen=True, slots=True)
class Mend:
    """Have an IPAddress say whose it is."""

    address: IPAddress
    owners: tuple[OwnerReference, ...]
    finalizers: tuple[str, ...]
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Delete an IPAddress. With `sure` only if its claim is gone from the server, too."""

    address: IPAddress
    sure: bool = False


@dataclass(frozen=True, slots=True)
class Release:
    """Let a reserved address rest. With `sure` only if its claim is gone from the server, too."""

    entry: IPAddressReservation
    rest: float
    sure: bool = False


@dataclass(frozen=True, slots=True)
class ReleaseOf:
    """Let the address of a stray IPAddress rest, whose entry may have been made just now."""

    address: IPAddress
    rest: float


@dataclass(frozen=True, slots=True)
class Forget:
    """Delete an entry that says nothing of use any more."""

    entry: IPAddressReservation


@dataclass(frozen=True, slots=True)
class LetGo:
    """Let a claim go."""

    claim: IPAddressClaim


Step = Hold | Give | Record | Mend | Withdraw | Release | ReleaseOf | Forget | LetGo


@dataclass(frozen=True, slots=True)
class Errand:
    """Steps in their order. If one fails, those after it are not done."""

    why: str
    steps: tuple[Step, ...]
    claim: Key | None = None
    """Whom it is for, if it is for a claim that stays."""
