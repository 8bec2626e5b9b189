"""Objects of providers, by the references that lead to them: each is there, is missing, or cannot be used.

The three are told apart everywhere, because they mean different things when something is deleted: what is missing is
gone, what cannot be used may well exist and must not be forgotten. Objects of a kind that is no longer installed went
with it. Everything is read from the cache, and a kind that the cache has not listed yet says so: its objects must not
look as if they did not exist.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from nagaya.api.cluster.reference import ContractReference
from nagaya.api.contract.provider import Provider
from nagaya.api.contract.versions import NoContract
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.kube.cache.cache import Cache
from nagaya.kube.contract_kinds import ContractKinds, NotInstalled
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime

LISTING_TIMEOUT: Final = 10.0
"""How long a reconcile waits for the objects of a kind that was not known before, in seconds."""

P = TypeVar("P", bound=Provider)


@dataclass(frozen=True, slots=True)
class Referenced(Generic[P]):
    """A reference, and what it leads to."""

    reference: ContractReference
    kind: Kind[Untyped] | None = None
    """As it is served now; None if nobody does."""
    provider: P | None = None
    problem: str = ""
    """Why the object cannot be read, or made sense of; empty if it can be, or if there is just none."""
    installed: bool = True

    @property
    def missing(self) -> bool:
        """Whether there is certainly no such object."""
        return self.provider is None and (not self.problem or not self.installed)

    @property
    def deleting(self) -> bool:
        """Whether the object is there and going."""
        return self.provider is not None and self.provider.metadata.deleting

    @property
    def live(self) -> P | None:
        """The object, if it can be made sense of and is to stay."""
        return None if self.problem or self.deleting else self.provider


class StillListing(TimeoutError):
    """A kind is new, and its objects take long to be listed."""


def look_up(
    rt: Runtime, namespace: str, reference: ContractReference, made: Callable[[Untyped, str], P]
) -> Referenced[P]:
    """Follow a reference, by cached reads alone. `made` reads what is found, given the contract."""
    try:
        kind, contract = rt.kinds.resolve(reference.api_group, reference.kind)
    except NotInstalled as error:
        return Referenced(reference, problem=str(error), installed=False)
    except NoContract as error:
        return Referenced(reference, problem=str(error))
    if not rt.cache.is_synced(kind):
        return Referenced(reference, kind, problem=f"{kind} are not known yet: they are being listed.")
    found = rt.cache.get(kind, Key(namespace, reference.name))
    return Referenced(reference, kind, None if found is None else made(found, contract))


def served(kinds: ContractKinds, group: str, kind: str) -> Kind[Untyped] | None:
    """A kind as it is served now. None if it cannot be spoken; whoever looks the object up is told why."""
    try:
        return kinds.resolve(group, kind).kind
    except (NotInstalled, NoContract):
        return None


def keep(cache: Cache, kinds: Iterable[Kind[Any]]) -> None:
    """Have kinds in the cache from now on, without waiting for their objects. Again: no effect."""
    for kind in kinds:
        if not cache.has(kind):
            cache.start(kind)


async def listed(cache: Cache, kinds: Collection[Kind[Any]]) -> None:
    """Have all objects of kinds in the cache. Raises StillListing if that takes too long."""
    keep(cache, kinds)
    waiting = [kind for kind in kinds if not cache.is_synced(kind)]
    if not waiting:
        return
    try:
        async with asyncio.timeout(LISTING_TIMEOUT):
            await cache.synced(*waiting)
    except TimeoutError:
        names = ", ".join(map(str, waiting))
        raise StillListing(f"{names} are not known yet: listing them takes more than {LISTING_TIMEOUT:g} s.") from None
