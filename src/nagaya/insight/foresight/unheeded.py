"""Fields of CAPMOX's older version that mean nothing.

That version takes any field, so that nothing of an object is lost on its way to the newer one. So one that is misspelt,
or is a field of the newer version only, is kept and does nothing, and no server says so. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from nagaya.api.catalog import PARTS
from nagaya.api.conversion.proxmox.objects import KINDS, OLD_API_VERSION, left_behind
from nagaya.api.conversion.proxmox.old_schema import old_schema
from nagaya.insight.foresight.doubts import Doubt, Severity
from nagaya.insight.foresight.misspelt import suggestion
from nagaya.insight.foresight.rehearsal import Manifest

_KINDS: Final = {each.kind.kind: each for each in PARTS["infrastructure-proxmox"] if each.kind.kind in KINDS}
_REMEDY: Final = (
    "Correct its name. If it is one of v1alpha2, let `nagaya convert` write the object in that version, and add the "
    "field there."
)


def unheeded(manifests: Sequence[Manifest]) -> Iterator[Doubt]:
    """Each such field of the manifests."""
    for manifest in manifests:
        definition = _KINDS.get(manifest.kind) if manifest.api_version == OLD_API_VERSION else None
        if definition is None:
            continue
        for path in left_behind(manifest.content):
            near = suggestion(old_schema(definition), f".{path}")
            what = f"v1alpha1 has no field {path}, so it would do nothing.{near}"
            yield Doubt(Severity.WARNING, f"{manifest.kind} {manifest.name} ({manifest.source}): {what}", _REMEDY)
