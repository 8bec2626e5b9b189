"""In which order the items of a merged list end up.

Items that the patch names keep the patch's order, the others keep the order of the live list, and the two are
interleaved as they stood in the live list as far as that is possible.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Any

from nagaya.apiserver.meta import govalue
from nagaya.apiserver.patch.strategic_error import StrategicPatchError, list_of_lists, no_merge_key, wrong_type

Items = list[Any]
Identity = Callable[[Any], Any]
Places = dict[Any, int]


def scalar_identity(value: Any) -> Any:
    """What two values must share to be the same: type and value. Maps and lists are only the same as themselves."""
    return (type(value), id(value) if isinstance(value, (dict, list)) else value)


def keyed_identity(merge_key: str) -> Identity:
    """Tells maps apart by the value of one member."""

    def identity(item: Any) -> Any:
        if not isinstance(item, dict):
            raise wrong_type("map[string]interface {}", item)
        if merge_key not in item:
            raise no_merge_key(item, merge_key)
        return scalar_identity(item[merge_key])

    return identity


def common_type(*lists: Items) -> type:
    """The one type that all items have."""
    types = {type(item) for items in lists for item in items}
    if not types:
        raise StrategicPatchError("no elements in any of the given slices")
    if list in types and type(next(item for items in lists for item in items)) is list:
        raise list_of_lists()
    if len(types) > 1 or type(None) in types:
        raise StrategicPatchError(f"list element types are not identical: {govalue.plain(list(lists))}")
    return types.pop()


def arranged(items: Items, patch_order: Items, live_order: Items, merge_key: str, element: type) -> Items:
    """The items in their final order. `element` is the type of the items."""
    if merge_key:
        identity = keyed_identity(merge_key)
        listed = _listed_keys(patch_order, merge_key) if items else set()
    else:
        identity = scalar_identity
        listed = {scalar_identity(value) for value in patch_order}
    from_patch = [item for item in items if identity(item) in listed]
    live_only = [item for item in items if identity(item) not in listed]
    if element is dict:
        identity = keyed_identity(merge_key)
    patch_places = _places(patch_order, identity)
    live_places = _places(live_order, identity)
    from_patch = _sorted(from_patch, patch_places, identity)
    live_only = _sorted(live_only, live_places, identity)
    return _interleaved(live_only, from_patch, live_places, identity)


def _listed_keys(order: Items, merge_key: str) -> set[Any]:
    keys = set()
    for position, item in enumerate(order):
        if not isinstance(item, dict):
            raise StrategicPatchError(f"value for key {position} is not a map")
        if merge_key in item:
            keys.add(scalar_identity(item[merge_key]))
    return keys


def _places(order: Items, identity: Identity) -> Places:
    places: Places = {}
    for position, item in enumerate(order):
        places.setdefault(identity(item), position)
    return places


def _sorted(items: Items, places: Places, identity: Identity) -> Items:
    positions = [places.get(identity(item), -1) for item in items]
    if -1 not in positions:
        order = sorted(range(len(items)), key=positions.__getitem__)
        return [items[each] for each in order]
    # An item without a place counts as smaller than any other, and any other as smaller than it. With such a rule the
    # result depends on how one sorts, so this gives what Go's insertion sort gives: an item without a place moves to
    # the front, any other until it is right behind the last whose place is not above its own. -1 stands for the front.
    behind: dict[int, int] = {}
    placed: list[tuple[int, int]] = []
    for item, position in enumerate(positions):
        ahead = -1
        if position >= 0:
            at = bisect_right(placed, (position, item))
            ahead = placed[at - 1][1] if at else -1
            placed.insert(at, (position, item))
        behind[item], behind[ahead] = behind.get(ahead, -1), item
    order, item = [], behind[-1]
    while item >= 0:
        order.append(items[item])
        item = behind[item]
    return order


def _interleaved(live_only: Items, from_patch: Items, live_places: Places, identity: Identity) -> Items:
    merged: Items = []
    taken = 0
    for item in from_patch:
        place = live_places.get(identity(item), -1)
        while taken < len(live_only) and 0 <= live_places.get(identity(live_only[taken]), -1) < place:
            merged.append(live_only[taken])
            taken += 1
        merged.append(item)
    merged += live_only[taken:]
    return merged
