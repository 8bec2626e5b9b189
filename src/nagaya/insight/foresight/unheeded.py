"""Fields of CAPMOX's older version that mean nothing.

That version takes any field, so that nothing of an object is lost on its way to the newer one. So one that is misspelt,
or is a field of the newer version only, is kept and does nothing, and no server says so. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from nagaya.api.catalog import PARTS
from nagaya.api.conversion.proxmox.objects import OLD_API_VERSION
from nagaya.api.conversion.proxmox.old_schema import old_schema
from nagaya.insight.foresight.doubts import Doubt, Severity
from nagaya.insight.foresight.misspelt import suggestion
from nagaya.insight.foresight.rehearsal import Manifest

_KINDS: Final = {each.kind.kind: each for each in PARTS["infrastructure-proxmox"]}
_REMEDY: Final = "Correct its name, or write the object in v1alpha2: `nagaya convert` does it."


def unheeded(manifests: Sequence[Manifest]) -> Iterator[Doubt]:
    """Each such field of the manifests."""
    for manifest in manifests:
        definition = _KINDS.get(manifest.kind) if manifest.api_version == OLD_API_VERSION else None
        if definition is None:
            continue
        schema = old_schema(definition)
        for path in _unknown(schema["properties"]["spec"], manifest.content.get("spec"), ".spec"):
            what = (
                f"{manifest.kind} {manifest.name} ({manifest.source}): v1alpha1 has no field {path}, so it would do "
                f"nothing.{suggestion(schema, path)}"
            )
            yield Doubt(Severity.WARNING, what, _REMEDY)


def _unknown(schema: Mapping[str, Any], value: object, path: str) -> Iterator[str]:
    if isinstance(value, list):
        for number, each in enumerate(value):
            yield from _unknown(schema.get("items") or {}, each, f"{path}[{number}]")
    if not isinstance(value, Mapping):
        return
    fields, others = schema.get("properties"), schema.get("additionalProperties")
    for name, each in value.items():
        if fields is not None and name not in fields:
            yield f"{path}.{name}"
        elif inner := (fields or {}).get(name) or others:
            yield from _unknown(inner, each, f"{path}.{name}")
