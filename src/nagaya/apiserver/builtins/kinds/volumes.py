"""A pod's volumes: each has a name of its own and exactly one source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nagaya.apiserver.builtins.kinds.pod_rules import Rules
from nagaya.apiserver.builtins.kinds.volume_sources import CHECKS
from nagaya.apiserver.meta import gostring, names
from nagaya.apiserver.meta.field_errors import FieldError, Path, duplicate, forbidden, invalid, required
from nagaya.apiserver.meta.status import JsonObject

# What a message calls a source that is one too many, where that is not its name.
_MISSPELT = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}


def validate_volumes(
    volumes: Sequence[JsonObject], pod_name: str, path: Path, rules: Rules
) -> tuple[Mapping[str, JsonObject], list[FieldError]]:
    """What is wrong with volumes, and those that containers may use, by name. Templates have no `pod_name`."""
    errors: list[FieldError] = []
    usable: dict[str, JsonObject] = {}
    created = {f"{pod_name}-{each.get('name') or ''}" for each in volumes if "ephemeral" in each} if pod_name else ()
    for position, volume in enumerate(volumes):
        where, name = path.index(position), volume.get("name") or ""
        found = _validate_source(volume, name, pod_name, where, rules)
        if not name:
            found.append(required(where.child("name")))
        else:
            found += [invalid(where.child("name"), name, problem) for problem in names.dns_label(name)]
        if name in usable:
            found.append(duplicate(where.child("name"), name))
        if not found:
            usable[name] = volume
        errors += found
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim is not None and claim in created:
            detail = "must not reference a PVC that gets created for an ephemeral volume"
            errors.append(invalid(where.child("persistentVolumeClaim", "claimName"), claim, detail))
    return usable, errors


def _validate_source(volume: JsonObject, name: str, pod_name: str, path: Path, rules: Rules) -> list[FieldError]:
    errors: list[FieldError] = []
    found = False
    for source, check in CHECKS.items():
        if (body := volume.get(source)) is None:
            continue
        if found:
            where = path.child(_MISSPELT.get(source, source))
            errors.append(forbidden(where, "may not specify more than 1 volume type"))
        else:
            found = True
            errors += check(body, path.child("persistentDisk" if source == "gcePersistentDisk" else source), rules)
            if source == "ephemeral" and pod_name and name:
                claim = f"{pod_name}-{name}"
                errors += [
                    invalid(path.child("name"), name, f"PVC name {gostring.quote(claim)}: {problem}")
                    for problem in names.name_is_subdomain(claim)
                ]
        if source == "iscsi" and "initiatorName" in body:
            portal = body.get("targetPortal") or ""
            if names.size(f"{name}:{portal}") > 64:
                detail = (
                    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
                    "if iscsi.initiatorName is specified."
                )
                errors.append(invalid(path.child("name"), name, detail))
    if not found:
        errors.append(required(path, "must specify a volume type"))
    return errors
