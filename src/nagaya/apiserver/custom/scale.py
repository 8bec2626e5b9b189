"""The scale subresource of custom resources: the definition says where the numbers are."""

from __future__ import annotations

from collections.abc import Mapping

from nagaya.apiserver.crd import scale
from nagaya.apiserver.crd.resource import CustomResource
from nagaya.apiserver.crd.scale import ScalePaths
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.resource import Subresource
from nagaya.apiserver.registry.scale import subresource
from nagaya.apiserver.registry.strategy import Strategy


class _View:
    def __init__(self, paths: ScalePaths) -> None:
        self._paths = paths

    def show(self, obj: JsonObject) -> JsonObject:
        return scale.show(obj, self._paths)

    def apply(self, obj: JsonObject, wanted: JsonObject) -> JsonObject:
        return scale.apply(obj, wanted, self._paths)


def scale_subresource(strategy: Strategy, paths: ScalePaths, versions: Mapping[str, CustomResource]) -> Subresource:
    """The scale subresource of one version. `versions` are all of the definition's, by apiVersion."""
    fields = {name: each.scale.replicas_fields if each.scale else None for name, each in versions.items()}
    return subresource(strategy, _View(paths), fields)
