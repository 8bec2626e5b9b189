"""Storage classes: who makes volumes for the claims that name them, and how."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from nagaya.apiserver.builtins.kinds.ordered_strategy import OrderedStrategy, Step, immutable
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import (
    FieldError,
    Path,
    duplicate,
    invalid,
    not_supported,
    repeated,
    required,
    too_long,
)
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call

_RECLAIM_POLICIES: Final = ("Delete", "Retain")
_BINDING_MODES: Final = ("Immediate", "WaitForFirstConsumer")
_TOPOLOGIES: Final = Path("allowedTopologies")
_MOST_PARAMETERS: Final = 512
_LARGEST_PARAMETERS: Final = 256 * 1024
_MOST_REPEATED: Final = 10  # errors about the same term


class StorageClassStrategy(OrderedStrategy):
    """StorageClass."""

    returns_deleted = True
    update_steps = (Step.METADATA, Step.RULES, Step.METADATA_CHANGES, Step.CHANGES)

    def default(self, obj: JsonObject) -> None:
        """Volumes are deleted with their claim, and made at once."""
        obj.setdefault("reclaimPolicy", "Delete")
        obj.setdefault("volumeBindingMode", "Immediate")

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """How volumes are made stays."""
        errors: list[FieldError] = []
        for member in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
            errors += immutable(member, new.get(member), old.get(member))
        return errors

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """A provisioner, its parameters, and where volumes may be."""
        errors = provisioner_errors(obj["provisioner"], Path("provisioner"))
        errors += parameter_errors(obj.get("parameters") or {}, Path("parameters"))
        policy, mode = obj["reclaimPolicy"], obj["volumeBindingMode"]
        if policy and policy not in _RECLAIM_POLICIES:
            errors.append(not_supported("reclaimPolicy", policy, _RECLAIM_POLICIES))
        if mode not in _BINDING_MODES:
            errors.append(not_supported("volumeBindingMode", mode, _BINDING_MODES))
        return errors + _topology_errors(obj.get("allowedTopologies") or [])

    def warn_create(self, obj: JsonObject, call: Call) -> list[str]:
        """Labels of nodes that have a newer name."""
        if "allowedTopologies" not in obj:
            return []
        from nagaya.apiserver.builtins.kinds.persistent_volume_warnings import DEPRECATED_NODE_LABELS

        return [
            f"allowedTopologies[{position}].matchLabelExpressions[{each}].key: {DEPRECATED_NODE_LABELS[key]}"
            for position, term in enumerate(obj["allowedTopologies"])
            for each, expression in enumerate(term.get("matchLabelExpressions") or ())
            if (key := expression.get("key")) in DEPRECATED_NODE_LABELS
        ]

    def warn_update(self, new: JsonObject, old: JsonObject, call: Call) -> list[str]:
        """The same."""
        return self.warn_create(new, call)


def provisioner_errors(name: str, where: Path) -> list[FieldError]:
    """What is wrong with the name of the program that makes volumes."""
    if not name:
        return [required(where)]
    return [invalid(where, name.lower(), problem) for problem in names.qualified_name(name.lower())]


def parameter_errors(parameters: Mapping[str, str], where: Path, *, needed: bool = False) -> list[FieldError]:
    """What is wrong with what that program is told."""
    if len(parameters) > _MOST_PARAMETERS:
        return [too_long(where, _MOST_PARAMETERS)]
    errors = [invalid(where, "", "field can not be empty.")] if "" in parameters else []
    if sum(names.size(key) + names.size(value) for key, value in parameters.items()) > _LARGEST_PARAMETERS:
        errors.append(too_long(where, _LARGEST_PARAMETERS))
    if needed and not parameters:
        errors.append(required(where, "must contain at least one key/value pair"))
    return errors


def _topology_errors(terms: Sequence[JsonObject]) -> list[FieldError]:
    errors: list[FieldError] = []
    # The real server compares each term with as many empty ones as there are terms, before those that came before it.
    seen: Counter[frozenset[tuple[str, frozenset[str]]]] = Counter({frozenset(): len(terms)})
    for position, term in enumerate(terms):
        where = _TOPOLOGIES.index(position).child("matchLabelExpressions")
        meant: dict[str, frozenset[str]] = {}
        for each, expression in enumerate(term.get("matchLabelExpressions") or ()):
            place = where.index(each)
            values: list[str] = expression.get("values") or []
            key: str = expression.get("key") or ""
            if not values:
                errors.append(required(place.child("values")))
            errors += [duplicate(place.child("values").index(index), value) for index, value in repeated(values)]
            errors += [invalid(place.child("key"), key, problem) for problem in names.qualified_name(key)]
            if key in meant:
                errors.append(duplicate(place.child("key"), key))
            meant[key] = frozenset(values)
        whole = frozenset(meant.items())
        errors += [duplicate(where, "")] * min(seen[whole], _MOST_REPEATED)
        seen[whole] += 1
    return errors
