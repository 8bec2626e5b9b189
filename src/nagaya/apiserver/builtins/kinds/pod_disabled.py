"""Fields of pod specs that this version knows and has switched off: they are dropped unless they were in use before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.builtins.kinds.pod_defaults import all_containers
from nagaya.apiserver.meta.status import JsonObject

_PROJECTIONS: Final = ("clusterTrustBundle", "podCertificate")


def drop_disabled(spec: JsonObject, old: JsonObject | None) -> None:
    """Drop them, in place."""
    before = old or {}
    for kind in _PROJECTIONS:
        if not any(kind in source for source in _sources(before)):
            for source in _sources(spec):
                source.pop(kind, None)
    if "schedulingGroup" not in before:
        spec.pop("schedulingGroup", None)
    if not any("stopSignal" in (each.get("lifecycle") or {}) for each in all_containers(before)):
        for container in all_containers(spec):
            lifecycle = container.get("lifecycle")
            if lifecycle and lifecycle.pop("stopSignal", None) is not None and not lifecycle:
                del container["lifecycle"]


def drop_disabled_in_template(template: JsonObject | None, old: JsonObject | None) -> None:
    """The same for a template."""
    if template is not None:
        drop_disabled(template.get("spec") or {}, (old or {}).get("spec"))


def _sources(spec: JsonObject) -> Iterator[JsonObject]:
    for volume in spec.get("volumes") or ():
        yield from (volume.get("projected") or {}).get("sources") or ()
