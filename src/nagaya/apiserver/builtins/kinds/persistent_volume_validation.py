"""The rules for persistent volumes."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from nagaya.apiserver.builtins.kinds import core_resources
from nagaya.apiserver.builtins.kinds.core_goshape import difference, invalid_shape
from nagaya.apiserver.builtins.kinds.core_strategy import immutable
from nagaya.apiserver.builtins.kinds.persistent_volume_shape import AFFINITY, SOURCE
from nagaya.apiserver.builtins.kinds.persistent_volume_sources import SOURCES
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, Path, forbidden, invalid, not_supported, required
from nagaya.apiserver.meta.object_meta import IMMUTABLE
from nagaya.apiserver.meta.status import JsonObject

VOLUME_MODES: Final = ("Block", "Filesystem")
_SPEC: Final = Path("spec")
_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_RECLAIM_POLICIES: Final = ("Delete", "Recycle", "Retain")
_SURPLUS: Final = "may not specify more than 1 volume type"
_MOUNT_OPTIONS: Final = "volume.beta.kubernetes.io/mount-options"
_MOUNTABLE: Final = frozenset(
    {
        "gcePersistentDisk",
        "awsElasticBlockStore",
        "glusterfs",
        "nfs",
        "rbd",
        "quobyte",
        "iscsi",
        "cinder",
        "cephfs",
        "azureFile",
        "vsphereVolume",
        "azureDisk",
        "photonPersistentDisk",
    }
)
_RENAMED_LABELS: Final[Mapping[str, str]] = {
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}


def rules(volume: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """What is wrong with a volume, apart from its metadata."""
    spec = volume["spec"]
    errors = access_mode_errors(spec, _SPEC, "")
    errors += _capacity_errors(spec)
    policy = spec.get("persistentVolumeReclaimPolicy") or ""
    if policy and policy not in _RECLAIM_POLICIES:
        errors.append(not_supported(_SPEC.child("persistentVolumeReclaimPolicy"), policy, _RECLAIM_POLICIES))
    errors += _affinity_errors(spec, old)
    errors += _source_errors(spec, volume["metadata"].get("name") or "")
    if name := spec.get("storageClassName"):
        errors += class_name_errors(name, _SPEC.child("storageClassName"))
    if (mode := spec.get("volumeMode")) is not None and mode not in VOLUME_MODES:
        errors.append(not_supported(_SPEC.child("volumeMode"), mode, VOLUME_MODES))
    attributes = spec.get("volumeAttributesClassName")
    if attributes is not None:
        where = _SPEC.child("volumeAttributesClassName")
        errors += (
            class_name_errors(attributes, where) if attributes else [required(where, "an empty string is disallowed")]
        )
        if spec.get("csi") is None:
            errors.append(required(_SPEC.child("csi"), "has to be specified when using volumeAttributesClassName"))
    return errors


def access_mode_errors(spec: JsonObject, where: Path, missing: str) -> list[FieldError]:
    """How a volume may be mounted. The mode for a single pod stands alone."""
    modes: list[str] = spec.get("accessModes") or []
    place = where.child("accessModes")
    errors = [not_supported(place, mode, _ACCESS_MODES) for mode in modes if mode not in _ACCESS_MODES]
    if not modes:
        errors.append(required(place, missing))
    known = {mode for mode in modes if mode in _ACCESS_MODES}
    if "ReadWriteOncePod" in known and len(known) > 1:
        errors.append(forbidden(place, "may not use ReadWriteOncePod with other access modes"))
    return errors


def class_name_errors(name: str, where: Path) -> list[FieldError]:
    """The name of a class of storage."""
    return [invalid(where, name, problem) for problem in names.dns_subdomain(name)]


def _capacity_errors(spec: JsonObject) -> list[FieldError]:
    capacity: Mapping[str, str] = spec.get("capacity") or {}
    where = _SPEC.child("capacity")
    errors: list[FieldError] = []
    if not capacity:
        errors.append(required(where))
    if list(capacity) != [core_resources.STORAGE]:
        errors.append(not_supported(where, capacity or None, (core_resources.STORAGE,)))
    for name, text in capacity.items():
        errors += core_resources.validate_basic(text, where.key(name))
        errors += core_resources.validate_positive(text, where.key(name))
    return errors


def _affinity_errors(spec: JsonObject, old: JsonObject | None) -> list[FieldError]:
    affinity = spec.get("nodeAffinity")
    if affinity is None:
        return []
    where = _SPEC.child("nodeAffinity", "required")
    if affinity.get("required") is None:
        return [required(where, "must specify required node constraints")]
    lenient = old is not None and _has_invalid_value(old["spec"])
    return node_selector_errors(affinity["required"], where, invalid_values_allowed=lenient)


def _terms(spec: JsonObject) -> list[JsonObject]:
    return ((spec.get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms") or []


def _has_invalid_value(spec: JsonObject) -> bool:
    return any(
        names.label_value(value)
        for term in _terms(spec)
        for expression in term.get("matchExpressions") or ()
        for value in expression.get("values") or ()
    )


def node_selector_errors(selector: JsonObject, where: Path, *, invalid_values_allowed: bool) -> list[FieldError]:
    """What is wrong with a selector of nodes."""
    terms = selector.get("nodeSelectorTerms") or []
    place = where.child("nodeSelectorTerms")
    if not terms:
        return [required(place, "must have at least one node selector term")]
    errors: list[FieldError] = []
    for position, term in enumerate(terms):
        for each, expression in enumerate(term.get("matchExpressions") or ()):
            at = place.index(position).child("matchExpressions").index(each)
            errors += _expression_errors(expression, at, invalid_values_allowed)
        for each, expression in enumerate(term.get("matchFields") or ()):
            errors += _field_errors(expression, place.index(position).child("matchFields").index(each))
    return errors


def _expression_errors(expression: JsonObject, where: Path, invalid_values_allowed: bool) -> list[FieldError]:
    operator, key = expression.get("operator") or "", expression.get("key") or ""
    values: list[str] = expression.get("values") or []
    errors: list[FieldError] = []
    if operator in ("In", "NotIn"):
        if not values:
            errors.append(required(where.child("values"), "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(forbidden(where.child("values"), detail))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            errors.append(required(where.child("values"), detail))
    else:
        errors.append(invalid(where.child("operator"), operator, "not a valid selector operator"))
    errors += [invalid(where.child("key"), key, problem) for problem in names.qualified_name(key)]
    if not invalid_values_allowed:
        errors += _value_errors(values, where, names.label_value)
    return errors


def _field_errors(expression: JsonObject, where: Path) -> list[FieldError]:
    operator, key = expression.get("operator") or "", expression.get("key") or ""
    values: list[str] = expression.get("values") or []
    errors: list[FieldError] = []
    if operator not in ("In", "NotIn"):
        errors.append(invalid(where.child("operator"), operator, "not a valid selector operator"))
    elif len(values) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.append(required(where.child("values"), detail))
    if key != "metadata.name":
        return [*errors, invalid(where.child("key"), key, "not a valid field selector key")]
    return errors + _value_errors(values, where, names.dns_subdomain)


def _value_errors(values: Sequence[str], where: Path, check: Callable[[str], list[str]]) -> list[FieldError]:
    return [
        invalid(where.child("values").index(position), value, problem)
        for position, value in enumerate(values)
        for problem in check(value)
    ]


def _source_errors(spec: JsonObject, name: str) -> list[FieldError]:
    errors: list[FieldError] = []
    count = 0
    for member, source in SOURCES.items():
        given = spec.get(member)
        if given is None:
            continue
        # The one kind of storage that is never said to be one too many.
        if count and member != "flexVolume":
            errors.append(forbidden(_SPEC.child(source.surplus), _SURPLUS))
            continue
        count += 1
        errors += source.check(given, _SPEC.child(source.place), name)
        if member == "local" and spec.get("nodeAffinity") is None:
            errors.append(required(_SPEC.child("nodeAffinity"), "Local volume requires node affinity"))
    if not count:
        errors.append(required(_SPEC, "must specify a volume type"))
    if _is_root(spec.get("hostPath")) and spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        detail = "may not be 'recycle' for a hostPath mount of '/'"
        errors.append(forbidden(_SPEC.child("persistentVolumeReclaimPolicy"), detail))
    return errors


def _is_root(host_path: JsonObject | None) -> bool:
    return host_path is not None and posixpath.normpath(host_path.get("path") or "") in ("/", "//")


def mount_option_errors(volume: JsonObject) -> list[FieldError]:
    """Mount options in the old annotation go only with some kinds of storage."""
    if _MOUNT_OPTIONS not in (volume["metadata"].get("annotations") or {}):
        return []
    if any(volume["spec"].get(member) is not None for member in _MOUNTABLE):
        return []
    where = Path("metadata.annotations").child(_MOUNT_OPTIONS)
    return [forbidden(where, "may not specify mount options for this volume type")]


def changes(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """What an update of a volume's spec tries to change that may not."""
    errors: list[FieldError] = []
    mine, before = _source(new), _source(old)
    if mine.get("csi") and before.get("csi") and before["csi"].get("controllerExpandSecretRef") is None:
        mine["csi"] = {key: value for key, value in mine["csi"].items() if key != "controllerExpandSecretRef"}
    if mine != before:
        detail = f"spec.persistentvolumesource is immutable after creation\n{difference(SOURCE, before, mine)}"
        errors.append(forbidden("spec.persistentvolumesource", detail))
    errors += immutable("volumeMode", new.get("volumeMode"), old.get("volumeMode"))
    affinity = new.get("nodeAffinity")
    if old.get("nodeAffinity") is not None and not _is_same_affinity(affinity, old["nodeAffinity"]):
        detail = f"{IMMUTABLE}, except for updating from beta label to GA"
        where = Path("nodeAffinity")
        errors.append(
            invalid(where, None, detail) if affinity is None else invalid_shape(where, AFFINITY, affinity, detail)
        )
    if old.get("volumeAttributesClassName") is not None and new.get("volumeAttributesClassName") is None:
        detail = "update from non-nil value to nil is forbidden"
        errors.append(forbidden("spec.volumeAttributesClassName", detail))
    return errors


def _source(spec: JsonObject) -> JsonObject:
    return {member: spec[member] for member in SOURCES if spec.get(member) is not None}


def _is_same_affinity(new: Any, old: Any) -> bool:
    """Whether two affinities are the same, but for labels that have got their final name."""
    if isinstance(old, dict) and isinstance(new, dict):
        if "operator" in old and _RENAMED_LABELS.get(old.get("key") or "") == new.get("key"):
            old = {**old, "key": new["key"]}
        return old.keys() == new.keys() and all(_is_same_affinity(new[key], old[key]) for key in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(_is_same_affinity, new, old))
    return bool(new == old)
