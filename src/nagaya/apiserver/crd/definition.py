"""What a CustomResourceDefinition may say: all its rules, in the real server's words and order.

The real server keeps definitions in an older internal form, in which everything that is the same in all versions
stands once at the top. Its messages name places in that form (`spec.validation.openAPIV3Schema...`), so the form is
made here too, as `_Spec`. Definitions handed in have been decoded and defaulted (`preparation`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from nagaya.apiserver.crd import conversion_rules, internal_form, name_rules, schema_rules, version_rules
from nagaya.apiserver.crd.rules import RuleCompiler
from nagaya.apiserver.crd.same_schema import canonical
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid, not_supported, required
from nagaya.apiserver.meta.object_meta import IMMUTABLE
from nagaya.apiserver.meta.status import JsonObject

SCOPES: Final = ("Cluster", "Namespaced")
_SPEC: Final = Path("spec")
_STATUS: Final = Path("status")
_STORED: Final = _STATUS.child("storedVersions")


def name_problems(name: str, definition: JsonObject, *, prefix: bool = False) -> list[str]:
    """What is wrong with the name of a definition, which is given by what it defines."""
    spec = definition.get("spec") or {}
    problems = names.name_is_subdomain(name, prefix)
    plural = (spec.get("names") or {}).get("plural") or ""
    if name != f"{plural}.{spec.get('group') or ''}":
        problems.append('must be spec.names.plural+"."+spec.group')
    return problems


def validate(definition: JsonObject, compile_rules: RuleCompiler | None) -> list[FieldError]:
    """What is wrong with a new definition, apart from the general rules for metadata."""
    return [
        *_check_spec(_Spec(definition), compile_rules),
        *_check_status(definition),
        *_check_stored_versions(definition),
        *name_rules.check_approval(definition, None),
        *_check_preserving(definition, None),
    ]


def validate_update(new: JsonObject, old: JsonObject, compile_rules: RuleCompiler | None) -> list[FieldError]:
    """What is wrong with a changed definition, apart from the general rules for metadata."""
    return [
        *_check_spec(_Spec(new), compile_rules, old=old),
        *_check_immutable(new, old),
        *_check_status(new),
        *_check_stored_versions(new),
        *name_rules.check_approval(new, old),
        *_check_preserving(new, old),
    ]


def validate_status_update(new: JsonObject) -> list[FieldError]:
    """What is wrong with the status that somebody wrote."""
    return list(_check_status(new))


def is_established(definition: JsonObject) -> bool:
    """Whether the kind has been served."""
    return has_condition(definition, "Established")


def has_condition(definition: JsonObject, kind: str) -> bool:
    """Whether a condition is there and true."""
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == kind and each.get("status") == "True" for each in conditions)


class _Spec:
    """A spec in the form that messages speak of: `shared` holds what is the same in all versions."""

    def __init__(self, definition: JsonObject) -> None:
        self.raw: JsonObject = definition.get("spec") or {}
        self.names: JsonObject = self.raw.get("names") or {}
        originals: list[JsonObject] = self.raw.get("versions") or []
        self.shared: JsonObject = {}
        shared = [member for member in _SHAREABLE if originals and _is_shared(originals, member)]
        for member in shared:
            self.shared[member] = originals[0].get(member)
        self.versions = [{key: value for key, value in each.items() if key not in shared} for each in originals]

    @property
    def any_status(self) -> bool:
        """Whether any version has a status subresource."""
        return _has_status(self.shared) or any(_has_status(each) for each in self.versions)


_SHAREABLE: Final = ("subresources", "schema", "additionalPrinterColumns", "selectableFields")


def _is_shared(versions: Sequence[JsonObject], member: str) -> bool:
    first = canonical(versions[0].get(member), member)
    return all(canonical(each.get(member), member) == first for each in versions[1:])


def _has_status(version: JsonObject) -> bool:
    return (version.get("subresources") or {}).get("status") is not None


def _schema_of(version: JsonObject) -> JsonObject | None:
    schema: JsonObject | None = (version.get("schema") or {}).get("openAPIV3Schema")
    return schema


def _check_spec(spec: _Spec, compile_rules: RuleCompiler | None, old: JsonObject | None = None) -> Iterator[FieldError]:
    yield from _check_group(spec.raw.get("group") or "")
    scope = spec.raw.get("scope") or ""
    if not scope:
        yield required(_SPEC.child("scope"))
    elif scope not in SCOPES:
        yield not_supported(_SPEC.child("scope"), scope, SCOPES)
    if _schema_of(spec.shared) is None:
        for position, version in enumerate(spec.versions):
            if _schema_of(version) is None:
                yield required(_SPEC.child("versions").index(position).child("schema", "openAPIV3Schema"))
    known = _known_schemas(old)
    yield from _check_versions(spec, known, compile_rules)
    yield from name_rules.check_required(spec.names, _SPEC.child("names"))
    yield from name_rules.check(spec.names, _SPEC.child("names"))
    shared = {**spec.shared, "name": (spec.versions[0].get("name") or "") if spec.versions else ""}
    yield from _check_version(shared, _SPEC, "validation", spec.any_status, known, compile_rules)
    if (conversion := spec.raw.get("conversion")) is not None:
        yield from _check_conversion(conversion, old)


def _known_schemas(old: JsonObject | None) -> dict[str, Any]:
    """The schemas that a definition had before, by the name of their version."""
    versions = ((old or {}).get("spec") or {}).get("versions") or ()
    return {str(each.get("name") or ""): canonical(_schema_of(each)) for each in versions}


def _check_group(group: str) -> Iterator[FieldError]:
    where = _SPEC.child("group")
    if not group:
        yield required(where)
    elif problems := names.dns_subdomain(group):
        yield invalid(where, group, ",".join(problems))
    elif "." not in group:
        yield invalid(where, group, "should be a domain with at least one dot")


def _check_versions(spec: _Spec, known: Mapping[str, Any], compile_rules: RuleCompiler | None) -> Iterator[FieldError]:
    where = _SPEC.child("versions")
    given = [str(version.get("name") or "") for version in spec.versions]
    for position, version in enumerate(spec.versions):
        at = where.index(position)
        if problems := names.dns1035_label(given[position]):
            yield invalid(at.child("name"), given[position], ",".join(problems))
        yield from version_rules.check_deprecation(version, at)
        status = _has_status(version) or _has_status(spec.shared)
        yield from _check_version(version, at, "schema", status, known, compile_rules)
    if len(set(given)) != len(given):
        yield invalid(where, internal_form.versions(spec.versions), "must contain unique version names")
    if sum(bool(version.get("storage")) for version in spec.versions) != 1:
        detail = "must have exactly one version marked as storage version"
        yield invalid(
            where, internal_form.versions(spec.versions) if spec.raw.get("versions") is not None else None, detail
        )
    if given and given[0] and (problems := names.dns1035_label(given[0])):
        yield invalid(_SPEC.child("version"), given[0], ",".join(problems))


def _check_version(
    version: JsonObject,
    path: Path,
    schema_member: str,
    status: bool,
    known: Mapping[str, Any],
    compile_rules: RuleCompiler | None,
) -> Iterator[FieldError]:
    """A version, or what all versions share: both have the same parts."""
    schema = _schema_of(version)
    if schema is not None:
        where = path.child(schema_member, "openAPIV3Schema")
        name = version.get("name") or ""
        unchanged = name in known and known[name] == canonical(schema)
        yield from schema_rules.check(schema, where, status=status, compile_rules=compile_rules, known=unchanged)
    yield from version_rules.check_subresources(version.get("subresources"), path.child("subresources"))
    columns = version.get("additionalPrinterColumns") or ()
    yield from version_rules.check_columns(columns, path.child("additionalPrinterColumns"))
    fields = version.get("selectableFields") or ()
    yield from version_rules.check_selectable(fields, schema, path.child("selectableFields"))


def _check_conversion(conversion: JsonObject, old: JsonObject | None) -> Iterator[FieldError]:
    known, readable = True, False
    if old is not None:
        before = (old.get("spec") or {}).get("conversion")
        known = before is None or conversion_rules.has_known_review_version(before)
        bundle = (((before or {}).get("webhook") or {}).get("clientConfig") or {}).get("caBundle")
        readable = is_established(old) and (not bundle or not conversion_rules.ca_problem(bundle))
    where = _SPEC.child("conversion")
    yield from conversion_rules.check(conversion, where, known_review_version=known, readable_ca=readable)


def _check_immutable(new: JsonObject, old: JsonObject) -> Iterator[FieldError]:
    """The group and the names decide where objects are stored and found."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    fixed: list[tuple[str, ...]] = [("group",), ("names", "plural")]
    if is_established(old):
        fixed = [("scope",), ("names", "kind"), *fixed]
    for member in fixed:
        value = _get(spec, member)
        if value != _get(before, member):
            yield invalid(_SPEC.child(*member), value, IMMUTABLE)


def _get(value: Any, path: Sequence[str]) -> Any:
    for name in path:
        value = (value or {}).get(name)
    return value or ""


def _check_status(definition: JsonObject) -> Iterator[FieldError]:
    accepted = (definition.get("status") or {}).get("acceptedNames") or {}
    yield from name_rules.check(accepted, _STATUS.child("acceptedNames"))


def _check_stored_versions(definition: JsonObject) -> Iterator[FieldError]:
    """Objects may be stored in any of these versions, so none of them may disappear."""
    stored: list[str] | None = (definition.get("status") or {}).get("storedVersions")
    if not stored:
        yield invalid(_STORED, stored, "must have at least one stored version")
        return
    left = {name: position for position, name in enumerate(stored)}
    for version in (definition.get("spec") or {}).get("versions") or ():
        name = version.get("name") or ""
        if left.pop(name, None) is None and version.get("storage"):
            yield invalid(_STORED, stored, f"must have the storage version {name}")
    for name, position in left.items():
        detail = (
            f"missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions "
            f"until a storage migration ensures no data remains persisted in {name} and removes {name} "
            "from status.storedVersions"
        )
        yield invalid(_STORED.index(position), name, detail)


def _check_preserving(new: JsonObject, old: JsonObject | None) -> Iterator[FieldError]:
    preserves = (new.get("spec") or {}).get("preserveUnknownFields") is True
    preserved = ((old or {}).get("spec") or {}).get("preserveUnknownFields") is True
    if preserves and not preserved:
        detail = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        )
        yield invalid(_SPEC.child("preserveUnknownFields"), True, detail)
