"""The objects of providers that a machine refers to: each is there, is missing, or cannot be used.

The three are told apart everywhere, because they mean different things when a machine is deleted: what is missing is
gone, what cannot be used may well exist and must not be forgotten. Objects of a kind that is no longer installed went
with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from nagaya.api.cluster.reference import ContractReference
from nagaya.api.contract.provider import Provider
from nagaya.api.contract.versions import NoContract
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.kube.contract_kinds import NotInstalled
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime

P = TypeVar("P", bound=Provider)


@dataclass(frozen=True, slots=True)
class Referenced(Generic[P]):
    """What a reference leads to."""

    reference: ContractReference
    kind: Kind[Untyped] | None = None
    provider: P | None = None
    problem: str = ""
    """Why the object cannot be used; empty if it can be, or if there is just none."""
    installed: bool = True

    @property
    def missing(self) -> bool:
        """Whether there is certainly no such object."""
        return self.provider is None and (not self.problem or not self.installed)

    @property
    def deleting(self) -> bool:
        """Whether the object is there and going."""
        return self.provider is not None and self.provider.metadata.deleting


def look_up(
    rt: Runtime, namespace: str, reference: ContractReference, made: Callable[[Untyped, str], P]
) -> Referenced[P]:
    """Follow a reference, by cached reads alone."""
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
