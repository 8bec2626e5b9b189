"""Annotations of pods that mean something to the server: they were fields once, or never became one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import orjson

from nagaya.apiserver.builtins.kinds.pod_rules import DELETION_COST, Rules, deletion_cost_problem
from nagaya.apiserver.builtins.kinds.pod_scheduling import validate_tolerations
from nagaya.apiserver.builtins.kinds.pod_windows import containers_with_paths
from nagaya.apiserver.builtins.kinds.volume_paths import validate_descending
from nagaya.apiserver.meta import gostring
from nagaya.apiserver.meta.field_errors import FieldError, Path, forbidden, invalid
from nagaya.apiserver.meta.status import JsonObject

MIRROR: Final = "kubernetes.io/config.mirror"
SECCOMP: Final = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_TOLERATIONS: Final = "scheduler.alpha.kubernetes.io/tolerations"
_LOCAL: Final = "localhost/"
_UNLIKE: Final = "in annotation and field must match"


def validate_annotations(metadata: JsonObject, spec: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
    """The meaningful ones among a pod's annotations."""
    annotations: JsonObject | None = metadata.get("annotations")
    if not annotations:
        return
    if MIRROR in annotations and not spec.get("nodeName"):
        detail = "must set spec.nodeName if mirror pod annotation is set"
        yield invalid(path.key(MIRROR), annotations[MIRROR], detail)
    if text := annotations.get(_TOLERATIONS):
        yield from _validate_tolerations(text, path, rules)
    if not rules.any_deletion_cost and deletion_cost_problem(annotations):
        yield invalid(path.key(DELETION_COST), annotations[DELETION_COST], "must be a 32bit integer")
    for key, value in annotations.items():
        if key == SECCOMP or key.startswith(SECCOMP_CONTAINER):
            yield from _validate_seccomp(value, path.child(key))
    for key, value in annotations.items():
        if key.startswith(APP_ARMOR):
            yield from _validate_app_armor(key, value, spec, path.key(key))


def _validate_tolerations(text: str, path: Path, rules: Rules) -> Iterator[FieldError]:
    try:
        tolerations = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        yield invalid(path, _TOLERATIONS, str(error))
        return
    if isinstance(tolerations, list):
        yield from validate_tolerations(tolerations, path.child(_TOLERATIONS), rules)


def _validate_seccomp(profile: str, path: Path) -> Iterator[FieldError]:
    if profile in ("runtime/default", "docker/default", "unconfined"):
        return
    if profile.startswith(_LOCAL):
        yield from validate_descending(profile.removeprefix(_LOCAL), path)
    else:
        yield invalid(path, profile, "must be a valid seccomp profile")


def _validate_app_armor(key: str, profile: str, spec: JsonObject, path: Path) -> Iterator[FieldError]:
    name = key.removeprefix(APP_ARMOR)
    if all(container.get("name") != name for container, _ in containers_with_paths(spec, Path())):
        yield invalid(path, name, "container not found")
    if profile not in ("", "runtime/default", "unconfined") and not profile.startswith(_LOCAL):
        yield invalid(path, profile, f"invalid AppArmor profile name: {gostring.quote(profile)}")


def validate_agreement(metadata: JsonObject, spec: JsonObject, path: Path) -> Iterator[FieldError]:
    """Where a profile is given as a field and as an annotation, both must say the same."""
    annotations: JsonObject | None = metadata.get("annotations")
    if not annotations:
        return
    security = spec.get("securityContext") or {}
    yield from _agree(annotations.get(SECCOMP), security.get("seccompProfile"), path, "seccomp")
    containers = list(containers_with_paths(spec, path))
    for container, where in containers:
        own = container.get("securityContext") or {}
        key = f"{SECCOMP_CONTAINER}{container.get('name')}"
        yield from _agree(annotations.get(key), own.get("seccompProfile"), where, "seccomp")
    if (spec.get("os") or {}).get("name") == "windows":
        return
    for container, where in containers:
        own = container.get("securityContext") or {}
        profile = own.get("appArmorProfile") or security.get("appArmorProfile")
        yield from _agree(annotations.get(f"{APP_ARMOR}{container.get('name')}"), profile, where, "apparmor")


def _agree(annotation: str | None, profile: JsonObject | None, path: Path, what: str) -> Iterator[FieldError]:
    if annotation is None or profile is None:
        return
    where = path.child("securityContext", "seccompProfile" if what == "seccomp" else "appArmorProfile")
    kind = profile.get("type")
    default = ("runtime/default", "docker/default") if what == "seccomp" else ("runtime/default",)
    if kind == "Localhost" and annotation.startswith(_LOCAL):
        if annotation.removeprefix(_LOCAL) != profile.get("localhostProfile"):
            yield forbidden(where.child("localhostProfile"), f"{what} profile {_UNLIKE}")
    elif (
        (kind == "Unconfined" and annotation != "unconfined")
        or (kind == "RuntimeDefault" and annotation not in default)
        or kind == "Localhost"
    ):
        yield forbidden(where.child("type"), f"{what} type {_UNLIKE}")


def validate_annotation_changes(
    new: JsonObject, old: JsonObject, spec: JsonObject, path: Path, rules: Rules
) -> Iterator[FieldError]:
    """Which annotations of a pod never change. `new` and `old` are metadata."""
    after, before = new.get("annotations") or {}, old.get("annotations") or {}
    for key, value in before.items():
        if after.get(key) == value:
            continue
        if key.startswith(APP_ARMOR):
            yield forbidden(path.key(key), "may not remove or update AppArmor annotations")
        if key == MIRROR:
            yield forbidden(path.key(key), "may not remove or update mirror pod annotation")
    for key in after:
        if key in before:
            continue
        if key.startswith(APP_ARMOR):
            yield forbidden(path.key(key), "may not add AppArmor annotations")
        if key == MIRROR:
            yield forbidden(path.key(key), "may not add mirror pod annotation")
    yield from validate_annotations(new, spec, path, rules)
