"""Claims on storage, as pods and StatefulSets write them: the spec of a PersistentVolumeClaim."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.builtins.kinds.core_resources import validate_amount
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, Path, forbidden, invalid, not_supported, required
from nagaya.apiserver.meta.object_meta import validate_annotations, validate_labels
from nagaya.apiserver.meta.quantity import parse
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.selectors import label_selector

_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES: Final = ("Block", "Filesystem")


def validate_template(template: JsonObject, path: Path) -> Iterator[FieldError]:
    """A claim that is made for each pod: only labels and annotations can be told about it."""
    metadata = template.get("metadata") or {}
    where = path.child("metadata")
    yield from validate_annotations(metadata.get("annotations") or {}, where.child("annotations"))
    yield from validate_labels(metadata.get("labels") or {}, where.child("labels"))
    for name, value in metadata.items():
        if name not in ("labels", "annotations") and value:
            yield forbidden(where.child("uID" if name == "uid" else name), "cannot be set")
    yield from validate_spec(template.get("spec") or {}, path.child("spec"))


def validate_spec(spec: JsonObject, path: Path) -> Iterator[FieldError]:
    """The claim itself."""
    modes = spec.get("accessModes") or ()
    if not modes:
        yield required(path.child("accessModes"), "at least 1 access mode is required")
    yield from label_selector.validate(spec.get("selector"), path.child("selector"))
    for mode in modes:
        if mode not in _ACCESS_MODES:
            yield not_supported(path.child("accessModes"), mode, _ACCESS_MODES)
    if "ReadWriteOncePod" in modes and any(mode in _ACCESS_MODES[:3] for mode in modes):
        yield forbidden(path.child("accessModes"), "may not use ReadWriteOncePod with other access modes")
    yield from _validate_storage(spec, path.child("resources").key("storage"))
    yield from _validate_class(spec.get("storageClassName"), path.child("storageClassName"))
    mode = spec.get("volumeMode")
    if mode is not None and mode not in _VOLUME_MODES:
        yield not_supported(path.child("volumeMode"), mode, _VOLUME_MODES)
    yield from _validate_sources(spec, path)
    yield from _validate_class(spec.get("volumeAttributesClassName"), path.child("volumeAttributesClassName"))


def _validate_storage(spec: JsonObject, path: Path) -> Iterator[FieldError]:
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if size is None:
        yield required(path)
    elif parse(size).sign <= 0:
        yield invalid(path, size, "must be greater than zero")
    else:
        yield from validate_amount("storage", size, path)


def _validate_class(name: str | None, path: Path) -> Iterator[FieldError]:
    if name:
        yield from (invalid(path, name, problem) for problem in names.name_is_subdomain(name))


def _validate_sources(spec: JsonObject, path: Path) -> Iterator[FieldError]:
    for field in ("dataSource", "dataSourceRef"):
        if (source := spec.get(field)) is not None:
            yield from _validate_source(source, path.child(field))
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is None or reference is None:
        return
    # The value of these messages is a path as Go shows one, which has no public part.
    if reference.get("namespace"):
        yield invalid(path, {}, "may not be specified when dataSourceRef.namespace is specified")
    elif {**source} != {name: each for name, each in reference.items() if name != "namespace"}:
        yield invalid(path, {}, "must match dataSourceRef")


def _validate_source(source: JsonObject, path: Path) -> Iterator[FieldError]:
    for field in ("name", "kind"):
        if not source.get(field):
            yield required(path.child(field))
    group, kind = source.get("apiGroup") or "", source.get("kind") or ""
    if not group and kind != "PersistentVolumeClaim":
        yield invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup")
    if group:
        yield from (invalid(path.child("apiGroup"), group, problem) for problem in names.dns_subdomain(group))
    if namespace := source.get("namespace"):
        yield from (invalid(path.child("namespace"), namespace, each) for each in names.name_is_label(namespace))
