"""The rules for `metadata`, which hold for every kind of object.

`validate` checks an object that is created (and is run again on updates), `validate_update` what may change. Both
expect that the types of the members have been checked while decoding. Which names are allowed differs between kinds,
so the caller says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from nagaya.apiserver.meta import gostring, govalue, names
from nagaya.apiserver.meta.field_errors import (
    OMITTED,
    Cause,
    FieldError,
    Path,
    forbidden,
    internal,
    invalid,
    required,
    too_long,
)
from nagaya.apiserver.meta.gvk import GroupVersion, GroupVersionKind
from nagaya.apiserver.meta.status import JsonObject

METADATA: Final = Path("metadata")
IMMUTABLE: Final = "field is immutable"

ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"

_ANNOTATIONS_LIMIT: Final = 256 * 1024
_MANAGER_LIMIT: Final = 128
_SUBRESOURCE_LIMIT: Final = 256
_MOST_QUOTED: Final = 10  # errors that show the whole list of owners
_BANNED_OWNER: Final = GroupVersionKind("", "v1", "Event")


def validate(
    metadata: JsonObject,
    *,
    namespaced: bool,
    name_check: names.NameCheck = names.path_segment,
    path: Path = METADATA,
    generate_name_checked: bool = True,
) -> list[FieldError]:
    """What is wrong with the metadata of an object that has its final name.

    Kinds with newer validation do not check `generateName` itself, only the name made from it.
    """
    errors = validate_name(metadata, name_check, path, generate_name_checked=generate_name_checked)
    errors += _validate_namespace(metadata.get("namespace") or "", namespaced, path)
    generation = metadata.get("generation")
    if generation is not None and generation < 0:
        errors.append(invalid(path.child("generation"), generation, "must be greater than or equal to 0"))
    errors += _validate_collections(metadata, path, finalizers=True)
    return errors


def validate_name(
    metadata: JsonObject,
    name_check: names.NameCheck = names.path_segment,
    path: Path = METADATA,
    *,
    generate_name_checked: bool = True,
) -> list[FieldError]:
    """What is wrong with an object's name and with what it was generated from."""
    errors: list[FieldError] = []
    name = metadata.get("name") or ""
    prefix = metadata.get("generateName") or ""
    if prefix and generate_name_checked:
        errors += [invalid(path.child("generateName"), prefix, problem) for problem in name_check(prefix, True)]
    if prefix and not name and not generate_name_checked:
        problem = f"generateName was specified ({gostring.quote(prefix)}), but no name was generated"
        errors.append(internal(path.child("name"), problem))
    if not name:
        errors.append(required(path.child("name"), "name or generateName is required"))
    else:
        errors += [invalid(path.child("name"), name, problem) for problem in name_check(name, False)]
    return errors


def validate_update(
    new: JsonObject, old: JsonObject, path: Path = METADATA, *, sound: bool = False
) -> list[FieldError]:
    """What must not change in an object's metadata. What the new one says by itself is told too, unless `sound`."""
    errors: list[FieldError] = []
    if old.get("deletionTimestamp") is not None:
        errors += validate_no_new_finalizers(
            new.get("finalizers") or (), old.get("finalizers") or (), path.child("finalizers")
        )
    version = new.get("resourceVersion") or ""
    if not version:
        errors.append(invalid(path.child("resourceVersion"), version, "must be specified for an update"))
    generation = new.get("generation") or 0
    if generation < (old.get("generation") or 0):
        errors.append(invalid(path.child("generation"), generation, "must not be decremented"))
    for member in ("name", "namespace", "uid"):
        if (new.get(member) or "") != (old.get(member) or ""):
            errors.append(invalid(path.child(member), new.get(member) or "", IMMUTABLE))
    for member in ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"):
        if new.get(member) != old.get(member):
            errors.append(invalid(path.child(member), new.get(member), IMMUTABLE))
    if not sound:
        errors += _validate_collections(new, path, finalizers=False)
    return errors


def _validate_namespace(namespace: str, namespaced: bool, path: Path) -> list[FieldError]:
    where = path.child("namespace")
    if not namespaced:
        return [forbidden(where, "not allowed on this type")] if namespace else []
    if not namespace:
        return [required(where)]
    return [invalid(where, namespace, problem) for problem in names.name_is_label(namespace)]


def _validate_collections(metadata: JsonObject, path: Path, *, finalizers: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    if labels := metadata.get("labels"):
        errors += validate_labels(labels, path.child("labels"))
    if annotations := metadata.get("annotations"):
        errors += validate_annotations(annotations, path.child("annotations"))
    if owners := metadata.get("ownerReferences"):
        errors += validate_owner_references(owners, path.child("ownerReferences"))
    if finalizers and (found := metadata.get("finalizers")):
        errors += validate_finalizers(found, path.child("finalizers"))
    if managed := metadata.get("managedFields"):
        errors += validate_managed_fields(managed, path.child("managedFields"))
    return errors


def validate_labels(labels: Mapping[str, str], path: Path) -> list[FieldError]:
    """Label keys are qualified names, label values short texts."""
    errors: list[FieldError] = []
    for key, value in labels.items():
        errors += [invalid(path, key, problem) for problem in names.qualified_name(key)]
        errors += [invalid(path, value, problem) for problem in names.label_value(value)]
    return errors


def validate_annotations(annotations: Mapping[str, str], path: Path) -> list[FieldError]:
    """Annotation keys are qualified names in any case; together with the values they have a limit."""
    errors: list[FieldError] = []
    total = 0
    for key, value in annotations.items():
        errors += [invalid(path, key, problem) for problem in names.qualified_name(key.lower())]
        total += names.size(key) + names.size(value)
    if total > _ANNOTATIONS_LIMIT:
        errors.append(too_long(path, _ANNOTATIONS_LIMIT))
    return errors


def validate_owner_references(owners: Sequence[JsonObject], path: Path) -> list[FieldError]:
    """Owners are fully named, and at most one of them is the controller."""
    errors: list[FieldError] = []
    controller = ""
    for owner in owners:
        errors += _validate_owner_reference(owner, path)
        if owner.get("controller"):
            name = f"{owner.get('kind') or ''}/{owner.get('name') or ''}"
            if controller and len(errors) < _MOST_QUOTED:
                detail = (
                    "Only one reference can have Controller set to true. "
                    f'Found "true" in references for {controller} and {name}'
                )
                errors.append(_invalid_struct(path, [_ordered(each) for each in owners], detail))
            controller = controller or name
    return errors


def _validate_owner_reference(owner: JsonObject, path: Path) -> list[FieldError]:
    errors = []
    api_version, kind = owner.get("apiVersion") or "", owner.get("kind") or ""
    try:
        group_version = GroupVersion.parse(api_version)
    except ValueError:
        group_version = GroupVersion("", "")
    if not group_version.version:
        errors.append(invalid(path.child("apiVersion"), api_version, "version must not be empty"))
    errors += [
        invalid(path.child(member), "", "must not be empty")
        for member in ("kind", "name", "uid")
        if not owner.get(member)
    ]
    gvk = GroupVersionKind(*group_version, kind)
    if gvk == _BANNED_OWNER:
        errors.append(_invalid_struct(path, _ordered(owner), f"{gvk} is disallowed from being an owner"))
    return errors


def _ordered(owner: JsonObject) -> JsonObject:
    """An owner reference with its members in the order of the Go type, which messages show."""
    shown = {member: owner.get(member) or "" for member in ("apiVersion", "kind", "name", "uid")}
    flags = {member: owner[member] for member in ("controller", "blockOwnerDeletion") if owner.get(member) is not None}
    return {**shown, **flags}


def _invalid_struct(path: Path, value: Any, detail: str) -> FieldError:
    """A finding about a value whose members must not be sorted when it is shown."""
    return FieldError(Cause.INVALID, str(path), OMITTED, f"{govalue.struct_json(value)}: {detail}")


def validate_finalizers(finalizers: Sequence[str], path: Path) -> list[FieldError]:
    """Finalizers are qualified names; an object's dependents are either deleted first or orphaned."""
    errors: list[FieldError] = []
    for finalizer in finalizers:
        errors += [invalid(path, finalizer, problem) for problem in names.qualified_name(finalizer)]
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        detail = f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"
        errors.append(invalid(path, list(finalizers), detail))
    return errors


def validate_no_new_finalizers(new: Iterable[str], old: Iterable[str], path: Path) -> list[FieldError]:
    """An object that is being deleted gets no more finalizers."""
    extra = sorted(set(new).difference(old))
    if not extra:
        return []
    shown = ", ".join(gostring.quote(each) for each in extra)
    detail = "no new finalizers can be added if the object is being deleted, found new finalizers"
    return [forbidden(path, f"{detail} []string{{{shown}}}")]


_FINALIZERS: Final = METADATA.child("finalizers")
_STANDARD_FINALIZERS: Final = frozenset({ORPHAN, FOREGROUND, "kubernetes"})


def validate_known_finalizers(metadata: JsonObject, path: Path = _FINALIZERS) -> list[FieldError]:
    """The finalizers of a built-in kind are Kubernetes' own or have a domain."""
    problem = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid(path.index(position), finalizer, problem)
        for position, finalizer in enumerate(metadata.get("finalizers") or ())
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS
    ]


def finalizer_warnings(finalizers: Iterable[str], path: Path = _FINALIZERS) -> list[str]:
    """What to tell a client that gives a custom resource finalizers without a domain."""
    warnings: list[str] = []
    for finalizer in finalizers:
        about = f"{path}: {gostring.quote(finalizer)}"
        warnings += [f"{about}: {problem}" for problem in names.qualified_name(finalizer)]
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            hint = " including a path (/)" if "." in finalizer else ""
            warnings.append(
                f"{about}: prefer a domain-qualified finalizer name{hint} "
                "to avoid accidental conflicts with other finalizer writers"
            )
    return warnings


def validate_managed_fields(entries: Sequence[JsonObject], path: Path) -> list[FieldError]:
    """Who owns which fields, as far as it can be checked without the fields."""
    errors: list[FieldError] = []
    for position, entry in enumerate(entries):
        where = path.index(position)
        operation = entry.get("operation") or ""
        if operation not in ("Apply", "Update"):
            errors.append(invalid(where.child("operation"), operation, "must be `Apply` or `Update`"))
        fields_type = entry.get("fieldsType") or ""
        if fields_type and fields_type != "FieldsV1":
            errors.append(invalid(where.child("fieldsType"), fields_type, "must be `FieldsV1`"))
        errors += validate_field_manager(entry.get("manager") or "", where.child("manager"))
        if names.size(entry.get("subresource") or "") > _SUBRESOURCE_LIMIT:
            errors.append(too_long(where.child("subresource"), _SUBRESOURCE_LIMIT))
    return errors


def validate_field_manager(manager: str, path: Path) -> list[FieldError]:
    """The name of a field manager is short and printable."""
    if not manager or (len(manager) <= _MANAGER_LIMIT and manager.isascii() and manager.isprintable()):
        return []
    errors = [too_long(path, _MANAGER_LIMIT)] if names.size(manager) > _MANAGER_LIMIT else []
    position = 0
    for char in manager:
        if not char.isprintable():
            detail = f"invalid character U+{ord(char):04X} (at position {position})"
            errors.append(invalid(path, manager, detail))
        position += names.size(char)
    return errors
