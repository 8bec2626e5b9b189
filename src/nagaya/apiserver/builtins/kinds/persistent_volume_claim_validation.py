"""The rules for persistent volume claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nagaya.apiserver.builtins.kinds import core_resources
from nagaya.apiserver.builtins.kinds.core_goshape import difference, shape
from nagaya.apiserver.builtins.kinds.core_strategy import immutable
from nagaya.apiserver.builtins.kinds.persistent_volume_claim import same_sources
from nagaya.apiserver.builtins.kinds.persistent_volume_validation import (
    VOLUME_MODES,
    access_mode_errors,
    class_name_errors,
)
from nagaya.apiserver.builtins.kinds.persistent_volume_warnings import STORAGE_CLASS
from nagaya.apiserver.meta import names, quantity
from nagaya.apiserver.meta.field_errors import FieldError, Path, forbidden, invalid, not_supported, required
from nagaya.apiserver.meta.object_meta import IMMUTABLE
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.selectors import label_selector

_STORAGE: Final = core_resources.STORAGE
_REQUEST: Final = Path("spec.resources.requests.storage")
_ATTRIBUTES: Final = Path("spec.volumeAttributesClassName")
_SPEC_SHAPE: Final = shape(
    "AccessModes=accessModes:p Selector=selector:p Resources=resources:{Limits=limits:p Requests=requests:p}"
    " VolumeName=volumeName:s StorageClassName=storageClassName:p VolumeMode=volumeMode:p"
    " DataSource=dataSource:*{APIGroup=apiGroup:p Kind=kind:s Name=name:s}"
    " DataSourceRef=dataSourceRef:*{APIGroup=apiGroup:p Kind=kind:s Name=name:s Namespace=namespace:p}"
    " VolumeAttributesClassName=volumeAttributesClassName:p"
)
_RESIZE_STATUSES: Final = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
)


def rules(claim: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """What is wrong with a claim, apart from its metadata. What was there before may stay."""
    lenient = bool(old and label_selector.validate(old["spec"].get("selector"), Path("selector")))
    members = ("dataSource", "dataSourceRef")
    any_group = old is not None and any((old["spec"].get(each) or {}).get("apiGroup") is not None for each in members)
    return spec_errors(claim["spec"], Path("spec"), invalid_values_allowed=lenient, any_group_allowed=any_group)


def spec_errors(
    spec: JsonObject, where: Path, *, invalid_values_allowed: bool = False, any_group_allowed: bool = False
) -> list[FieldError]:
    """What is wrong with the spec of a claim, also in templates."""
    modes = access_mode_errors(spec, where, "at least 1 access mode is required")
    selector = label_selector.validate(
        spec.get("selector"), where.child("selector"), invalid_values_allowed=invalid_values_allowed
    )
    errors = modes + selector if not spec.get("accessModes") else selector + modes
    errors += _request_errors(spec, where.child("resources").key(_STORAGE))
    if name := spec.get("storageClassName"):
        errors += class_name_errors(name, where.child("storageClassName"))
    if (mode := spec.get("volumeMode")) is not None and mode not in VOLUME_MODES:
        errors.append(not_supported(where.child("volumeMode"), mode, VOLUME_MODES))
    errors += _source_errors(spec, where, any_group_allowed)
    if name := spec.get("volumeAttributesClassName"):
        errors += class_name_errors(name, where.child("volumeAttributesClassName"))
    return errors


def _request_errors(spec: JsonObject, where: Path) -> list[FieldError]:
    text = ((spec.get("resources") or {}).get("requests") or {}).get(_STORAGE)
    if text is None:
        return [required(where)]
    return core_resources.validate_positive(text, where) or core_resources.validate_amount(_STORAGE, text, where)


def _source_errors(spec: JsonObject, where: Path, any_group_allowed: bool) -> list[FieldError]:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    errors: list[FieldError] = []
    for given, member in ((source, "dataSource"), (reference, "dataSourceRef")):
        if given is not None:
            errors += _reference_errors(given, where.child(member), any_group_allowed)
    if source is None or reference is None:
        return errors
    # The value that is shown is a path, of which Go's JSON shows nothing.
    if reference.get("namespace"):
        errors.append(invalid(where, {}, "may not be specified when dataSourceRef.namespace is specified"))
    elif any(source.get(each) != reference.get(each) for each in ("apiGroup", "kind", "name")):
        errors.append(invalid(where, {}, "must match dataSourceRef"))
    return errors


def _reference_errors(reference: JsonObject, where: Path, any_group_allowed: bool) -> list[FieldError]:
    errors = [required(where.child(each)) for each in ("name", "kind") if not reference.get(each)]
    group, kind = reference.get("apiGroup") or "", reference.get("kind") or ""
    if not group and kind != "PersistentVolumeClaim":
        detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        errors.append(invalid(where, kind, detail))
    if group and not any_group_allowed:
        errors += [invalid(where.child("apiGroup"), group, problem) for problem in names.dns_subdomain(group)]
    if namespace := reference.get("namespace"):
        errors += [invalid(where.child("namespace"), namespace, problem) for problem in names.dns_label(namespace)]
    return errors


def changes(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """What an update of a claim tries to change that may not."""
    spec, before = new["spec"], dict(old["spec"])
    same_sources(before)
    mine, theirs = dict(spec), dict(before)
    bound = new["status"].get("phase") == "Bound"
    if not theirs.get("volumeName") and mine.get("volumeName"):
        theirs["volumeName"] = mine["volumeName"]
    errors = _storage_class_errors(new, old, mine, theirs)
    if bound:
        _copy_size(mine, theirs)
        _copy(mine, theirs, "volumeAttributesClassName")
    if not _is_same(mine, theirs):
        detail = (
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
        )
        errors.append(forbidden("spec", f"{detail}\n{difference(_SPEC_SHAPE, theirs, mine)}"))
    if _size(spec) < _size(before):
        capacity = quantity.parse((old["status"].get("capacity") or {}).get(_STORAGE) or "0")
        if _size(spec) <= capacity:
            errors.append(forbidden(_REQUEST, "field can not be less than status.capacity"))
    errors += immutable("volumeMode", spec.get("volumeMode"), before.get("volumeMode"))
    return errors + _attributes_errors(spec, before, old["status"])


def _storage_class_errors(new: JsonObject, old: JsonObject, mine: JsonObject, theirs: JsonObject) -> list[FieldError]:
    """A class may move from the old annotation to the field, and may be given where there was none."""
    name, known = mine.get("storageClassName"), theirs.get("storageClassName")
    annotation = (new["metadata"].get("annotations") or {}).get(STORAGE_CLASS)
    previous = (old["metadata"].get("annotations") or {}).get(STORAGE_CLASS)
    if known is None and name is not None and previous == name and annotation in (None, previous):
        mine.pop("storageClassName")
        return []
    errors: list[FieldError] = []
    if (annotation or "") != (previous or ""):
        errors.append(invalid(Path("metadata.annotations").child(STORAGE_CLASS), annotation or "", IMMUTABLE))
    if known is None and name is not None and previous in (None, name):
        mine.pop("storageClassName")
    return errors


def _copy(mine: JsonObject, theirs: JsonObject, member: str) -> None:
    if member in theirs:
        mine[member] = theirs[member]
    else:
        mine.pop(member, None)


def _copy_size(mine: JsonObject, theirs: JsonObject) -> None:
    requests = (mine.get("resources") or {}).get("requests")
    if requests is None:
        return
    known = ((theirs.get("resources") or {}).get("requests") or {}).get(_STORAGE) or "0"
    mine["resources"] = {**mine["resources"], "requests": {**requests, _STORAGE: known}}


def _is_same(mine: JsonObject, theirs: JsonObject) -> bool:
    mine_resources, their_resources = mine.get("resources") or {}, theirs.get("resources") or {}
    return all(
        core_resources.is_equal(mine_resources.get(each), their_resources.get(each)) for each in ("limits", "requests")
    ) and all(mine.get(member) == theirs.get(member) for member in mine.keys() | theirs.keys() if member != "resources")


def _size(spec: JsonObject) -> quantity.Quantity:
    return quantity.parse(((spec.get("resources") or {}).get("requests") or {}).get(_STORAGE) or "0")


def _attributes_errors(spec: JsonObject, before: JsonObject, status: JsonObject) -> list[FieldError]:
    name = spec.get("volumeAttributesClassName")
    if name == before.get("volumeAttributesClassName") or status.get("currentVolumeAttributesClassName") is None:
        return []
    if name:
        return []
    what = "nil" if name is None else "empty string"
    detail = f"update to {what} is forbidden when status.currentVolumeAttributesClassName is not nil"
    return [forbidden(_ATTRIBUTES, detail)]


def status_errors(status: JsonObject) -> list[FieldError]:
    """What is wrong with a claim's status."""
    where = Path("status.capacity")
    errors: list[FieldError] = []
    for name, text in (status.get("capacity") or {}).items():
        errors += core_resources.validate_basic(text, where.key(name))
    where = Path("status.allocatedResourceStatuses")
    statuses: Mapping[str, str] = status.get("allocatedResourceStatuses") or {}
    for name, step in statuses.items():
        errors += _resource_key_errors(name, where)
        if step not in _RESIZE_STATUSES:
            errors.append(not_supported(where, name, _RESIZE_STATUSES))
    where = Path("status.allocatedResources")
    for name, text in (status.get("allocatedResources") or {}).items():
        errors += (
            _resource_key_errors(name, where)
            or core_resources.validate_basic(text, where.key(name))
            or core_resources.validate_amount(_STORAGE, text, where.key(name))
        )
    return errors


def _resource_key_errors(name: str, where: Path) -> list[FieldError]:
    errors = [invalid(where, name, problem) for problem in names.qualified_name(name)]
    if not errors and core_resources.is_native(name) and name != _STORAGE:
        errors.append(not_supported(where, name, (_STORAGE,)))
    return errors
