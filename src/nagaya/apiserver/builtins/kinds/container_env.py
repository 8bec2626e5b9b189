"""Where a container's environment comes from."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from nagaya.apiserver.builtins.kinds import volume_paths
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid, not_supported, required
from nagaya.apiserver.meta.quantity import parse
from nagaya.apiserver.meta.status import JsonObject

ENVIRONMENT_FIELDS: Final = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
FILE_FIELDS: Final = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
_POD_FIELDS: Final = {
    *ENVIRONMENT_FIELDS,
    *FILE_FIELDS,
    "spec.restartPolicy",
    "spec.schedulerName",
    "status.phase",
}
_RESOURCES: Final = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_HUGE_PAGES: Final = ("requests.hugepages-", "limits.hugepages-")
_BYTE_DIVISORS: Final = ("1", *(f"1{each}" for each in "kMGTPE"), *(f"1{each}i" for each in "KMGTPE"))
_subscripted = re.compile(r"(.+?)\['(.*)'\]", re.DOTALL).fullmatch


def validate_env(variables: Sequence[JsonObject], path: Path) -> Iterator[FieldError]:
    """Single variables."""
    for position, variable in enumerate(variables):
        where, name = path.index(position), variable.get("name") or ""
        if not name:
            yield required(where.child("name"))
        else:
            problems = names.environment_name_relaxed(name)
            yield from (invalid(where.child("name"), name, problem) for problem in problems)
        if (source := variable.get("valueFrom")) is not None:
            yield from _validate_source(source, variable.get("value") or "", where.child("valueFrom"))


def _validate_source(source: JsonObject, value: str, path: Path) -> Iterator[FieldError]:
    if (field := source.get("fieldRef")) is not None:
        yield from validate_field_reference(field, ENVIRONMENT_FIELDS, path.child("fieldRef"))
    if (resource := source.get("resourceFieldRef")) is not None:
        yield from validate_resource_reference(resource, path.child("resourceFieldRef"), in_file=False)
    for kind in ("configMapKeyRef", "secretKeyRef"):
        if (key := source.get(kind)) is not None:
            yield from _validate_key(key, path.child(kind))
    if (file := source.get("fileKeyRef")) is not None:
        yield from _validate_file(file, path.child("fileKeyRef"))
    if not source:
        kinds = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        yield invalid(path, "", f"must specify one of: {kinds}")
    elif value:
        yield invalid(path, "", "may not be specified when `value` is not empty")
    elif len(source) > 1:
        yield invalid(path, "", "may not have more than one field specified at a time")


def validate_field_reference(reference: JsonObject, known: Collection[str], path: Path) -> Iterator[FieldError]:
    """A field of the pod itself, `known` ones or a single label or annotation."""
    version, field = reference.get("apiVersion") or "", reference.get("fieldPath") or ""
    if not version:
        yield required(path.child("apiVersion"))
        return
    if not field:
        yield required(path.child("fieldPath"))
        return
    found = _subscripted(field)
    problem = ""
    if version != "v1":
        problem = f"unsupported pod version: {version}"
    elif found is not None and found[1] not in ("metadata.annotations", "metadata.labels"):
        problem = f"field label does not support subscript: {field}"
    elif found is None and field not in _POD_FIELDS and field != "spec.host":
        problem = f"field label not supported: {field}"
    if problem:
        yield invalid(path.child("fieldPath"), field, f"error converting fieldPath: {problem}")
    elif found is not None:
        key = found[2].lower() if found[1] == "metadata.annotations" else found[2]
        yield from (invalid(path, key, each) for each in names.qualified_name(key))
    else:
        field = "spec.nodeName" if field == "spec.host" else field
        if field not in known:
            yield not_supported(path.child("fieldPath"), field, sorted(known))


def validate_resource_reference(reference: JsonObject, path: Path, *, in_file: bool) -> Iterator[FieldError]:
    """An amount that a container asks for. A file has to say which container."""
    resource = reference.get("resource") or ""
    if in_file and not reference.get("containerName"):
        yield required(path.child("containerName"))
    elif not resource:
        yield required(path.child("resource"))
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        yield not_supported(path.child("resource"), resource, _RESOURCES)
    divisor = reference.get("divisor") or "0"
    if parse(divisor).sign:
        yield from _validate_divisor(resource, divisor, path.child("divisor"))


def _validate_divisor(resource: str, divisor: str, path: Path) -> Iterator[FieldError]:
    what = resource.partition(".")[2]
    if resource in ("limits.cpu", "requests.cpu"):
        if divisor not in ("1m", "1"):
            yield invalid(path, resource, "only divisor's values 1m and 1 are supported with the cpu resource")
        return
    title = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}.get(what)
    if resource.startswith(_HUGE_PAGES):
        title = "hugepages"
    elif resource not in _RESOURCES:
        return
    if divisor not in _BYTE_DIVISORS:
        values = ", ".join(_BYTE_DIVISORS)
        yield invalid(path, resource, f"only divisor's values {values} are supported with the {title} resource")


def _validate_key(reference: JsonObject, path: Path) -> Iterator[FieldError]:
    name, key = reference.get("name") or "", reference.get("key") or ""
    yield from (invalid(path.child("name"), name, problem) for problem in names.name_is_subdomain(name))
    if not key:
        yield required(path.child("key"))
    else:
        yield from (invalid(path.child("key"), key, problem) for problem in names.config_key(key))


def _validate_file(reference: JsonObject, path: Path) -> Iterator[FieldError]:
    key, volume, file = (reference.get(name) or "" for name in ("key", "volumeName", "path"))
    if not key:
        yield required(path.child("key"))
    else:
        yield from (invalid(path.child("key"), key, each) for each in names.environment_name_relaxed(key))
    if not volume:
        yield required(path.child("volumeName"))
    else:
        yield from (invalid(path.child("volumeName"), volume, each) for each in names.dns_label(volume))
    if not file:
        yield required(path.child("path"))
    else:
        yield from volume_paths.validate_no_backsteps(file, path.child("path"))


def validate_env_from(sources: Sequence[JsonObject], path: Path) -> Iterator[FieldError]:
    """Whole objects that become variables."""
    for position, source in enumerate(sources):
        where = path.index(position)
        if prefix := source.get("prefix"):
            yield from (invalid(where.child("prefix"), prefix, p) for p in names.environment_name_relaxed(prefix))
        kinds = [kind for kind in ("configMapRef", "secretRef") if source.get(kind) is not None]
        for kind in kinds:
            name, place = source[kind].get("name") or "", where.child(kind, "name")
            if not name:
                yield required(place)
            else:
                yield from (invalid(place, name, problem) for problem in names.name_is_subdomain(name, True))
        if not kinds:
            yield invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(kinds) > 1:
            yield invalid(path, "", "may not have more than one field specified at a time")
