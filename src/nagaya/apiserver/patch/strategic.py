"""Strategic merge patch: a merge patch that knows from the schema which lists to merge, and by which key.

Built-in types say so in their fields (`patch_strategy`, `merge_key`); directives in the patch delete, replace, retain
and order. The rules are the API server's to the letter, including the odd ones: items that are new to a merged list are
taken as they are, with the nulls and directives in them. Neither the object nor the patch is changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from nagaya.apiserver.meta import govalue
from nagaya.apiserver.patch.element_order import Items, arranged, common_type, keyed_identity, scalar_identity
from nagaya.apiserver.patch.merge_patch import without_nulls
from nagaya.apiserver.patch.patch_schema import kind, list_member, map_member
from nagaya.apiserver.patch.strategic_error import (
    StrategicPatchError,
    bad_format,
    no_merge_key,
    unknown_directive,
    wrong_type,
)
from nagaya.apiserver.schema.types import MISSING, Type

Object = dict[str, Any]

_DIRECTIVE: Final = "$patch"
_RETAIN_KEYS: Final = "$retainKeys"
_DELETE_FROM: Final = "$deleteFromPrimitiveList"
_ORDER: Final = "$setElementOrder"


def apply(document: Object, patch: Object, schema: Type) -> Object:
    """The document with the patch merged into it. Raises StrategicPatchError if the patch makes no sense."""
    if _DIRECTIVE in patch:
        return _directed(patch)
    merged = document.copy()
    if any(key.startswith("$") for key in patch):
        patch = patch.copy()
        _retain_keys(merged, patch)
        for key in [key for key in patch if key.startswith(_ORDER)]:
            _merge_ordered(merged, patch, key, schema)
    for key, value in patch.items():
        if key.startswith(_DELETE_FROM):
            _delete_from_list(merged, key, value, schema)
        elif value is None:
            merged.pop(key, None)
        else:
            result = _merge_member(merged.get(key, MISSING), value, key, schema)
            if result is MISSING:
                merged.pop(key, None)
            else:
                merged[key] = result
    return merged


def _directed(patch: Object) -> Object:
    """What a map becomes whose patch says how to treat it as a whole."""
    directive = patch[_DIRECTIVE]
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != _DIRECTIVE}
    if directive == "delete":
        return {}
    raise unknown_directive(directive, patch)


def _merge_member(original: Any, value: Any, key: str, schema: Type) -> Any:
    if type(original) is not type(value):
        return _without_directives(without_nulls(value))
    if isinstance(value, dict):
        member = map_member(schema, key)
        return value if member.strategy == "replace" else apply(original, value, member.type)
    if isinstance(value, list):
        member = list_member(schema, key)
        return _merge_list(original, value, member.type, member.merge_key)[0] if member.strategy == "merge" else value
    return value


def _retain_keys(merged: Object, patch: Object) -> None:
    """Drop from `merged` what the directive does not list. Takes the directive out of `patch`."""
    retained = patch.pop(_RETAIN_KEYS, MISSING)
    if retained is MISSING:
        return
    if not isinstance(retained, list):
        raise bad_format("retainKeys")
    keys = {key for key in retained if isinstance(key, str)}
    for key, value in patch.items():
        if value is not None and key not in keys and not key.startswith((_DELETE_FROM, _ORDER)):
            raise bad_format("retainKeys")
    for key in [key for key in merged if key not in keys]:
        del merged[key]


def _target(key: str, directive: str, subject: str) -> str:
    """The member that a directive such as `$setElementOrder/containers` is about."""
    found, slash, target = key.partition("/")
    if not slash or found != directive:
        raise bad_format(subject)
    return target


def _delete_from_list(merged: Object, key: str, value: Any, schema: Type) -> None:
    target = _target(key, _DELETE_FROM, "primitive list")
    if value is None:
        merged.pop(target, None)
        return
    original = merged.get(target, MISSING)
    if type(original) is not type(value):
        return
    if not isinstance(value, list):
        merged[target] = _merge_member(original, value, target, schema)
        return
    member = list_member(schema, target)
    if not original and not value:
        return
    if common_type(original, value) is dict:
        merged[target], _ = _merge_list(original, value, member.type, member.merge_key)
    else:
        unwanted = {scalar_identity(item) for item in value}
        merged[target] = [item for item in original if scalar_identity(item) not in unwanted]


def _merge_ordered(merged: Object, patch: Object, key: str, schema: Type) -> None:
    """Merge a list whose order the patch dictates. Takes the directive and the list out of `patch`."""
    order = patch.pop(key)
    if not isinstance(order, list):
        raise wrong_type("[]interface {}", order)
    target = _target(key, _ORDER, "setElementOrder list")
    original, changes = merged.get(target, MISSING), patch.get(target, MISSING)
    for items in (original, changes):
        if items is not MISSING and not isinstance(items, list):
            raise wrong_type("[]interface {}", items)
    member = list_member(schema, target)
    if changes is not MISSING:
        _check_order(changes, order, member.merge_key)
    if original is MISSING and changes is MISSING:
        return
    live = [] if original is MISSING else original
    element = common_type(live, [] if changes is MISSING else changes)
    if original is MISSING:
        items = _without_directives(changes)
    elif changes is MISSING:
        items = original
    elif member.strategy == "merge":
        items, live = _merge_list(original, changes, member.type, member.merge_key)
    else:
        items = changes
    merged[target] = arranged(items, order, live, member.merge_key, element)
    patch.pop(target, None)


def _check_order(changes: Items, order: Items, merge_key: str) -> None:
    """The items in the patch have to be a part of the order that it sets, in the same sequence."""
    if not changes or not order:
        return
    identity = keyed_identity(merge_key) if merge_key else scalar_identity
    if merge_key:
        for item in changes:
            if not isinstance(item, dict):
                raise wrong_type("map[string]interface {}", item)
    pending = [item for item in changes if not (merge_key and item.get(_DIRECTIVE) == "delete")]
    matched = reached = 0
    while matched < len(pending) and reached < len(order):
        item = pending[matched]
        if isinstance(item, dict) and _DIRECTIVE in item:
            matched += 1
            continue
        if identity(item) == identity(order[reached]):
            matched += 1
        reached += 1
    if matched < len(pending):
        from_patch, wanted = govalue.plain(changes), govalue.plain(order)
        raise StrategicPatchError(f"The order in patch list:\n{from_patch}\n doesn't match {_ORDER} list:\n{wanted}\n")


def _merge_list(original: Items, changes: Items, element: Type, merge_key: str) -> tuple[Items, Items]:
    """The merged list, and the order that the live list is taken to have had (see `_apply_item_directives`)."""
    if not original and not changes:
        return original, original
    found = common_type(original, changes)
    if found is not dict:
        merged = list({scalar_identity(item): item for item in original + changes}.values())
        return arranged(merged, changes, original, merge_key, found), original
    if not merge_key:
        raise StrategicPatchError(f"cannot merge lists without merge key for {kind(element)}")
    live, slots, changes = _apply_item_directives(original, changes, merge_key)
    merged = live.copy()
    places = {scalar_identity(item[merge_key]): at for at, item in reversed([*enumerate(live)]) if merge_key in item}
    for change in changes:
        if merge_key not in change:
            raise no_merge_key(change, merge_key)
        place = places.setdefault(scalar_identity(change[merge_key]), len(merged))
        if place < len(merged):
            merged[place] = apply(merged[place], change, element)
            if merge_key not in merged[place]:
                del places[scalar_identity(change[merge_key])]
            continue
        if len(merged) < len(slots):
            slots[len(merged)] = change
        merged.append(change)
    return arranged(merged, changes, live, merge_key, dict), slots


def _apply_item_directives(original: Items, changes: Items, merge_key: str) -> tuple[Items, Items, Items]:
    """Carry out the directives among the items.

    Gives the live list without what was deleted, the memory it was in, and the changes that are left. The memory
    matters because the real server works in place: items that are added take the slots of deleted ones, and when
    `$setElementOrder` asks for the live order it finds them there. So a new item follows what was live before it.
    """
    plain: Items = []
    deleted: dict[Any, None] = {}
    replace = False
    for change in changes:
        directive = change.get(_DIRECTIVE, MISSING)
        if directive is MISSING:
            plain.append(change)
        elif directive == "delete":
            if merge_key not in change:
                raise no_merge_key(change, merge_key)
            deleted[scalar_identity(change[merge_key])] = None
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise StrategicPatchError("merging lists cannot yet be specified in the patch")
        else:
            raise unknown_directive(directive, change)
    live, slots = _without(original, merge_key, deleted)
    return (plain, slots, []) if replace else (live, slots, plain)


def _without(items: Items, merge_key: str, deleted: Iterable[Any]) -> tuple[Items, Items]:
    """The items that stay, and the memory: each deletion leaves the item that was last in the slot that gets free."""
    places: dict[Any, list[int]] = {}
    for place, item in enumerate(items):
        if merge_key in item:
            places.setdefault(scalar_identity(item[merge_key]), []).append(place)
    gone: set[int] = set()
    free: Items = []
    last = len(items) - 1
    for place in (place for identity in deleted for place in places.get(identity, ())):
        free.append(items[last])
        gone.add(place)
        while last in gone:
            last -= 1
    live = [item for place, item in enumerate(items) if place not in gone]
    return live, live + free[::-1]


def _without_directives(value: Any) -> Any:
    """A value without the maps that carry a directive; MISSING if it is such a map itself. Copies only what changes."""
    if isinstance(value, dict):
        if _DIRECTIVE in value:
            return MISSING
        members = {key: _without_directives(member) for key, member in value.items()}
        if all(members[key] is value[key] for key in value):
            return value
        return {key: member for key, member in members.items() if member is not MISSING}
    if isinstance(value, list):
        items = [_without_directives(item) for item in value]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        return [item for item in items if item is not MISSING]
    return value
