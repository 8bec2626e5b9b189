"""Which writes a webhook or policy is meant for, by labels: of the object, and of the namespace it is in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nagaya.apiserver.meta import status
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.apiserver.selectors import label_selector
from nagaya.apiserver.selectors.labels import LabelSelector
from nagaya.apiserver.selectors.requirement import SelectorError
from nagaya.apiserver.storage import Store

if TYPE_CHECKING:
    from nagaya.apiserver.admission.attributes import Attributes


class Selectors:
    """The `namespaceSelector` and `objectSelector` of a webhook or policy, compiled. One left out selects all."""

    __slots__ = ("_namespaces", "_objects", "_problem")

    def __init__(self, spec: JsonObject) -> None:
        self._problem = ""
        self._namespaces: LabelSelector | None = self._compiled(spec.get("namespaceSelector"))
        self._objects: LabelSelector | None = self._compiled(spec.get("objectSelector"))

    def _compiled(self, selector: JsonObject | None) -> LabelSelector | None:
        try:
            made = label_selector.compiled(selector or {})
        except SelectorError as error:
            self._problem = str(error)
            return None
        return None if made.selects_everything else made

    def match(self, write: Attributes, store: Store) -> bool:
        """Whether a write is selected. Raises 404 if that depends on a namespace that does not exist."""
        if self._problem:
            raise status.internal(self._problem)
        selected = self._objects
        if selected is not None and not any(
            selected.matches(each.get("metadata", {}).get("labels") or {})
            for each in (write.object, write.old)
            if each is not None
        ):
            return False
        return self._namespaces is None or self._match_namespace(self._namespaces, write, store)

    def _match_namespace(self, selector: LabelSelector, write: Attributes, store: Store) -> bool:
        is_namespace = write.resource.gvr.resource == "namespaces"
        if not write.namespace and not is_namespace:
            return True
        if is_namespace and not write.subresource and write.operation in ("CREATE", "UPDATE"):
            return selector.matches((write.object or {}).get("metadata", {}).get("labels") or {})
        record = store.get("namespaces", write.namespace)
        if record is None:
            raise namespace_not_found(write.namespace)
        return selector.matches(record.labels)


def namespace_not_found(name: str) -> ApiError:
    """The namespace that a decision depends on is not there."""
    return status.not_found(GroupResource("", "namespaces"), name)
