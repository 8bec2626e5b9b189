"""Which kinds an API serves because definitions add them to it, and in which versions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped

DEFINITIONS: Final = Kind(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", Untyped, namespaced=False
)


def missing(
    kinds: Iterable[Kind[Any]], definitions: Mapping[str, Untyped], convertible: Collection[Kind[Any]] = ()
) -> list[str]:
    """The kinds, by plural and group, that definitions do not make the API serve in the version that is needed."""
    absent = []
    for kind in kinds:
        name = f"{kind.plural}.{kind.group}"
        definition = definitions.get(name)
        if definition is None:
            absent.append(name)
        elif not _is_served(definition, None if kind in convertible else kind.version):
            absent.append(f"{name} in {kind.version}")
    return sorted(absent)


def _is_served(definition: Untyped, version: str | None) -> bool:
    """Whether a version is served; any version without one."""
    versions = definition.at("spec", "versions") or ()
    served = any(each.get("name") == (version or each.get("name")) and each.get("served") for each in versions)
    conditions = definition.at("status", "conditions") or ()
    established = any(each.get("type") == "Established" and each.get("status") == "True" for each in conditions)
    return served and established
