"""Which labels and annotations of a provider's object are its maker's to take away.

A MachineSet or a control plane makes an object by one apply, which owns everything in it. That would hold on to every
label for ever, so before the maker first changes labels its claim on them is moved to a manager of their own. The
labels that came from the template itself stay whatever happens, as does everything that anybody else claims. Cluster
API before 1.12 claimed the labels of such objects a second time, by its client's usual name; that is no other's claim.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from nagaya.api.cluster.annotations import CLONED_FROM_GROUP_KIND, CLONED_FROM_NAME
from nagaya.api.untyped import Untyped
from nagaya.kube.patches import contains

LABELS: Final = "labels"
ANNOTATIONS: Final = "annotations"
_PARTS: Final = (LABELS, ANNOTATIONS)
_CLASSIC: Final = "manager"
_ORIGIN: Final = frozenset({CLONED_FROM_NAME, CLONED_FROM_GROUP_KIND})


@dataclass(frozen=True, slots=True)
class MetadataChange:
    """How the labels and annotations of an object come to be what its maker says."""

    move: Mapping[str, Any] | None
    """A merge patch of the metadata that gives up the first claim, with what goes. It is sent for this very state."""
    apply: Mapping[str, Any]
    """The metadata to apply as the manager of labels and annotations."""


def metadata_change(
    metadata: Mapping[str, Any],
    wanted: Mapping[str, Mapping[str, str]],
    template: Untyped | None,
    *,
    manager: str,
    metadata_manager: str,
) -> MetadataChange | None:
    """What to send for an object with this metadata, managedFields included. None if it is as it should be.

    `manager` is who made the object, `metadata_manager` who changes its labels and annotations; `wanted` are those.
    `template` is what the object was made from, if that is still there: without it nothing is known of where labels
    came from, and none is taken away from the first claim.
    """
    entries = metadata.get("managedFields") or []
    first = next((each for each in entries if _is(each, manager)), None)
    later = next((each for each in entries if _is(each, metadata_manager)), None)
    others = [each for each in entries if each is not first and each is not later]
    twice = {part: _claims(first, part) for part in _PARTS}
    kept = None if template is None else _own_metadata(template)
    gone: dict[str, dict[str, None]] = {}
    dropped = unclaimed = False
    for part in _PARTS:
        claimed_elsewhere = {
            name for each in others for name in _claims(each, part) - (twice[part] if _is_classic(each) else set())
        }
        extra = _claims(first, part) - wanted[part].keys() - claimed_elsewhere
        if extra and kept is not None and (stale := extra - kept[part]):
            gone[part] = dict.fromkeys(sorted(stale))
        if _claims(later, part) - wanted[part].keys():
            dropped = True
        # As after a crash between giving up the first claim and making the second.
        if wanted[part].keys() - _claims(first, part) - _claims(later, part):
            unclaimed = True
    complete = all(contains(metadata.get(part) or {}, wanted[part]) for part in _PARTS)
    if complete and not (gone or dropped or unclaimed):
        return None
    move: dict[str, Any] | None = None
    if first is not None and any(_claims(first, part) for part in _PARTS):
        move = {**gone, "managedFields": [_moved(each, first, twice) for each in entries]}
    return MetadataChange(move, {part: dict(wanted[part]) for part in _PARTS if wanted[part]})


def _is(entry: Mapping[str, Any], manager: str) -> bool:
    return entry.get("manager") == manager and entry.get("operation") == "Apply" and not entry.get("subresource")


def _is_classic(entry: Mapping[str, Any]) -> bool:
    return entry.get("manager") == _CLASSIC and entry.get("operation") == "Update" and not entry.get("subresource")


def _moved(
    entry: Mapping[str, Any], first: Mapping[str, Any], twice: Mapping[str, Collection[str]]
) -> Mapping[str, Any]:
    if entry is first or (_is_classic(entry) and any(_claims(entry, part) & {*twice[part]} for part in _PARTS)):
        return _without_claims(entry, twice)
    return entry


def _claims(entry: Mapping[str, Any] | None, part: str) -> set[str]:
    if entry is None:
        return set()
    fields = ((entry.get("fieldsV1") or {}).get("f:metadata") or {}).get(f"f:{part}") or {}
    return {name.removeprefix("f:") for name in fields if name.startswith("f:")}


def _without_claims(entry: Mapping[str, Any], names: Mapping[str, Collection[str]]) -> dict[str, Any]:
    """An entry that no longer claims some labels and annotations."""
    fields = dict(entry.get("fieldsV1") or {})
    metadata = dict(fields.pop("f:metadata", None) or {})
    for part in _PARTS:
        given_up = {f"f:{name}" for name in names[part]}
        left = {name: value for name, value in metadata.pop(f"f:{part}", {}).items() if name not in given_up}
        if left.keys() - {"."}:
            metadata[f"f:{part}"] = left
    if metadata:
        fields["f:metadata"] = metadata
    return {**entry, "fieldsV1": fields}


def _own_metadata(template: Untyped) -> dict[str, frozenset[str]]:
    """The names of labels and annotations that came from the template, and those that tell of it."""
    said = template.at("spec", "template", "metadata")
    said = said if isinstance(said, Mapping) else {}
    return {
        LABELS: frozenset(said.get(LABELS) or {}),
        ANNOTATIONS: frozenset(said.get(ANNOTATIONS) or {}) | _ORIGIN,
    }
