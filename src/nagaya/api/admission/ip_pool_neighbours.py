"""What pools owe to each other and to those who hold their addresses: no two share one, and none goes while it is used.

Pure: whoever asks brings the other objects. Pools of one namespace are neighbours, and a global pool is everybody's;
pools of different namespaces may have the same addresses, in networks of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from nagaya.api.admission.content import Content, mapping, number, text, texts
from nagaya.api.admission.field_error import FieldError, forbidden, invalid
from nagaya.api.ipam.group import GROUP, SKIP_VALIDATE_DELETE
from nagaya.api.ipam.in_cluster_ip_pool import InClusterIPPoolSpec
from nagaya.api.ipam.pool_ranges import giveable, listed
from nagaya.api.ipam.ranges import RangeSet, number_of, text_of

NAMESPACED: Final = "InClusterIPPool"
GLOBAL: Final = "GlobalInClusterIPPool"
DELETION_REFUSED: Final = "Pool has IPAddresses allocated. Cannot delete Pool until all IPAddresses have been removed."
"""Upstream's words; who holds them is said after that."""
TABLES: Final = {
    f"inclusterippools.{GROUP}": NAMESPACED,
    f"globalinclusterippools.{GROUP}": GLOBAL,
    f"ipaddresses.{GROUP}": "IPAddress",
}
"""What has to be known for a check: the kinds, by `plural.group`."""
_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Everything that a check of a pool may depend on besides the pool."""

    pools: Iterable[Content] = ()
    """InClusterIPPools and GlobalInClusterIPPools with their `kind`; the one that is checked may be among them."""
    addresses: Iterable[Content] = ()
    """IPAddresses."""


def beside(new: Content, old: Content | None, look: Callable[[str], Sequence[Content]]) -> list[FieldError]:
    """What is wrong with a pool beside what a server has. `look` lists the objects of a `plural.group`."""
    found = {table: [{**each, "kind": kind} for each in look(table)] for table, kind in TABLES.items()}
    addresses = found.pop(f"ipaddresses.{GROUP}")
    return check(new, old, Neighbours([each for pools in found.values() for each in pools], addresses))


def keeps(pool: Content, look: Callable[[str], Sequence[Content]]) -> str:
    """Why a server must not delete a pool; empty if it may."""
    return why_kept(pool, look(f"ipaddresses.{GROUP}"))


def check(new: Content, old: Content | None, neighbours: Neighbours) -> list[FieldError]:
    """What is wrong with a pool beside others. It must be valid by itself."""
    if old is not None and new.get("spec") == old.get("spec"):
        return []  # what is there already must not keep anyone from changing labels or letting the pool go
    return [*_overlaps(new, old, neighbours.pools), *_strands(new, neighbours.addresses)]


def why_kept(pool: Content, addresses: Iterable[Content]) -> str:
    """Why a pool must not be deleted; empty if it may be."""
    if SKIP_VALIDATE_DELETE in mapping(pool, "metadata", "annotations"):
        return ""
    held = sorted(f"{_where(each)} ({text(each, 'spec', 'address')})" for each in addresses if _is_of(each, pool))
    if not held:
        return ""
    more = f" and {len(held) - _NAMED} more" if len(held) > _NAMED else ""
    return f"{DELETION_REFUSED} In use: {', '.join(held[:_NAMED])}{more}."


def _overlaps(new: Content, old: Content | None, pools: Iterable[Content]) -> Iterator[FieldError]:
    own = _listed(new)
    before = RangeSet() if old is None else _listed(old)
    for other in pools:
        if not are_neighbours(new, other) or text(other, "metadata", "deletionTimestamp"):
            continue
        # A pool that overlapped before may shrink, but not take more of what is another's.
        shared = (own & _listed(other)) - before
        if shared:
            owner = f"{text(other, 'kind')} {_where(other)}"
            detail = f"{shared} belongs to {owner} already: no address may be in two pools"
            yield invalid("spec.addresses", [*texts(new, "spec", "addresses")], detail)


def _strands(new: Content, addresses: Iterable[Content]) -> Iterator[FieldError]:
    """Addresses that are in use must stay in the pool, the gateway and what is excluded included."""
    left = giveable(_spec(new))
    numbers = {_where(each): number_of(text(each, "spec", "address")) for each in addresses if _is_of(each, new)}
    outside = {where: each for where, each in numbers.items() if each is not None and each not in left}
    if outside:
        shown = " ".join(map(text_of, sorted(outside.values())))
        more = f" and {len(outside) - _NAMED} more" if len(outside) > _NAMED else ""
        yield forbidden(
            "spec",
            f"pool addresses do not contain allocated addresses: [{shown}]. IPAddressClaims that hold them: "
            f"{', '.join(sorted(outside)[:_NAMED])}{more}. Leave them in the pool, or delete what uses them first",
        )


def are_neighbours(one: Content, other: Content) -> bool:
    """Whether two pools, not one and the same, must not share addresses."""
    first, second = _identity(one), _identity(other)
    return first != second and (GLOBAL in (first[0], second[0]) or first[1] == second[1])


def _is_of(address: Content, pool: Content) -> bool:
    kind, namespace, name = _identity(pool)
    reference = mapping(address, "spec", "poolRef")
    same = (text(reference, "apiGroup") or GROUP, text(reference, "kind"), text(reference, "name")) == (
        GROUP,
        kind,
        name,
    )
    return same and namespace in ("", text(address, "metadata", "namespace"))


def _identity(pool: Content) -> tuple[str, str, str]:
    kind = text(pool, "kind")
    namespace = "" if kind == GLOBAL else text(pool, "metadata", "namespace")
    return kind, namespace, text(pool, "metadata", "name")


def _where(obj: Content) -> str:
    namespace, name = text(obj, "metadata", "namespace"), text(obj, "metadata", "name")
    return f"{namespace}/{name}" if namespace else name


def _listed(pool: Content) -> RangeSet:
    try:
        return listed(_spec(pool))
    except ValueError:
        return RangeSet()  # made before there were checks; it can be given to nobody


def _spec(pool: Content) -> InClusterIPPoolSpec:
    return InClusterIPPoolSpec(
        addresses=tuple(texts(pool, "spec", "addresses")),
        prefix=number(pool, "spec", "prefix") or 0,
        gateway=text(pool, "spec", "gateway"),
        allocate_reserved_ip_addresses=mapping(pool, "spec").get("allocateReservedIPAddresses") is True,
        excluded_addresses=tuple(texts(pool, "spec", "excludedAddresses")),
    )
