"""What the server does to a definition before it is checked and stored: defaults, and what no client decides.

Functions that give back a definition leave their argument alone.
"""

from __future__ import annotations

from typing import Any

from nagaya.apiserver.crd import formats
from nagaya.apiserver.crd.same_schema import canonical
from nagaya.apiserver.crd.schema import SchemaTooDeepError, read
from nagaya.apiserver.meta.status import JsonObject


def default(definition: JsonObject) -> JsonObject:
    """A definition with what its author may leave out."""
    spec: JsonObject = definition.get("spec") or {}
    given: JsonObject = spec.get("names") or {}
    filled = dict(given)
    kind = given.get("kind") or ""
    if not given.get("singular") and kind:
        filled["singular"] = kind.lower()
    if not given.get("listKind") and kind:
        filled["listKind"] = f"{kind}List"
    spec = {**spec, "names": filled, "conversion": _default_conversion(spec.get("conversion"))}
    return _with_stored_version({**definition, "spec": spec}, only_if_none=True)


def _default_conversion(conversion: JsonObject | None) -> JsonObject:
    if conversion is None:
        return {"strategy": "None"}
    webhook = conversion.get("webhook") or {}
    client = webhook.get("clientConfig") or {}
    service = client.get("service")
    if service is None or service.get("port") is not None:
        return conversion
    client = {**client, "service": {**service, "port": 443}}
    return {**conversion, "webhook": {**webhook, "clientConfig": client}}


def prepare_create(definition: JsonObject) -> JsonObject:
    """A new definition: nothing is accepted yet, and objects will be stored in one version."""
    status = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": None}
    metadata = {**(definition.get("metadata") or {}), "generation": 1}
    return _with_stored_version({**definition, "metadata": metadata, "status": status})


def prepare_update(new: JsonObject, old: JsonObject) -> JsonObject:
    """A changed definition: the status stays, apart from a new storage version; the generation counts changes."""
    prepared = {**new, "status": old.get("status") or {}}
    if canonical(new.get("spec")) != canonical(old.get("spec")):
        generation = ((old.get("metadata") or {}).get("generation") or 0) + 1
        prepared["metadata"] = {**(new.get("metadata") or {}), "generation": generation}
    return _with_stored_version(prepared)


def prepare_status_update(new: JsonObject, old: JsonObject) -> JsonObject:
    """A changed status: the spec stays."""
    return {**new, "spec": old.get("spec") or {}}


def _with_stored_version(definition: JsonObject, *, only_if_none: bool = False) -> JsonObject:
    status: JsonObject = definition.get("status") or {}
    stored: list[str] = status.get("storedVersions") or []
    name = storage_version(definition)
    if not name or name in stored or (only_if_none and stored):
        return definition
    return {**definition, "status": {**status, "storedVersions": [*stored, name]}}


def storage_version(definition: JsonObject) -> str:
    """The version in which objects are stored, empty if the definition does not say."""
    for version in (definition.get("spec") or {}).get("versions") or ():
        if version.get("storage"):
            return str(version.get("name") or "")
    return ""


def format_warnings(new: JsonObject, old: JsonObject | None = None) -> list[str]:
    """What to tell the author about formats that mean nothing. On an update, only about new ones."""
    known = set(_strange_formats(old)) if old is not None else set()
    return [f'unrecognized format "{each}"' for each in _strange_formats(new) if each not in known]


def _strange_formats(definition: JsonObject) -> list[str]:
    found: list[str] = []
    seen: list[Any] = []
    for version in (definition.get("spec") or {}).get("versions") or ():
        raw = (version.get("schema") or {}).get("openAPIV3Schema")
        if raw is None or raw in seen:
            continue
        seen.append(raw)
        try:
            nodes = list(read(raw).walk())
        except SchemaTooDeepError:
            continue
        found += [each.format for each in nodes if each.format and not formats.means_something(each.format, each.type)]
    return found
