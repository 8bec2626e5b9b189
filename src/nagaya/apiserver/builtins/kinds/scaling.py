"""The kinds that can be scaled: where each has its number of replicas, and what it selects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from nagaya.apiserver.meta import status
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.resource import Subresource
from nagaya.apiserver.registry.scale import subresource
from nagaya.apiserver.registry.strategy import Strategy
from nagaya.apiserver.selectors import label_selector
from nagaya.apiserver.selectors.labels import from_labels
from nagaya.apiserver.selectors.requirement import SelectorError

_SHOWN: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
_VERSIONS: Final[Mapping[GroupResource, str]] = {
    GroupResource("apps", "deployments"): "apps/v1",
    GroupResource("apps", "replicasets"): "apps/v1",
    GroupResource("apps", "statefulsets"): "apps/v1",
    GroupResource("", "replicationcontrollers"): "v1",
}


@dataclass(frozen=True, slots=True)
class _View:
    """A workload as a Scale. `plain` says that its selector is a map of labels."""

    plain: bool

    def show(self, obj: JsonObject) -> JsonObject:
        """The Scale of a workload."""
        spec, metadata = obj.get("spec") or {}, obj["metadata"]
        seen: JsonObject = {"replicas": (obj.get("status") or {}).get("replicas") or 0}
        if selector := self._selector(spec):
            seen["selector"] = selector
        replicas = spec.get("replicas") or 0
        return {
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": {field: metadata[field] for field in _SHOWN if field in metadata},
            "spec": {"replicas": replicas} if replicas else {},
            "status": seen,
        }

    def _selector(self, spec: JsonObject) -> str:
        if self.plain:
            return str(from_labels(spec.get("selector")))
        try:
            return str(label_selector.compiled(spec.get("selector")))
        except SelectorError as error:
            raise status.bad_request(str(error)) from None

    def apply(self, obj: JsonObject, scale: JsonObject) -> JsonObject:
        """A workload with the replicas that a Scale asks for."""
        return {**obj, "spec": {**(obj.get("spec") or {}), "replicas": (scale.get("spec") or {}).get("replicas") or 0}}


def scale_of(resource: GroupResource, strategy: Strategy) -> Subresource | None:
    """The scale subresource of a kind; None for a kind that has none."""
    version = _VERSIONS.get(resource)
    if version is None:
        return None
    return subresource(strategy, _View(not resource.group), {version: ("spec", "replicas")})
