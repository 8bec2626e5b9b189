"""Objects live in namespaces that exist and are not on their way out; the namespaces of the system stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from nagaya.apiserver.admission.chain import Plugin
from nagaya.apiserver.meta import status
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.storage import Store

if TYPE_CHECKING:
    from nagaya.apiserver.admission.attributes import Attributes

IMMORTAL: Final = frozenset({"default", "kube-system", "kube-public"})
_NAMESPACES: Final = GroupResource("", "namespaces")
_REVIEWS: Final = frozenset(
    {
        GroupResource("authorization.k8s.io", "localsubjectaccessreviews"),
        GroupResource("authorization.k8s.io", "subjectaccessreviews"),
        GroupResource("authorization.k8s.io", "selfsubjectaccessreviews"),
    }
)


class NamespaceLifecycle(Plugin):
    """Refuses new content where there is no namespace for it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def mutate(self, write: Attributes) -> None:
        """Check the namespace of a write."""
        is_namespace = write.kind.kind == "Namespace" and not write.kind.group
        if write.operation == "DELETE":
            if is_namespace and write.name in IMMORTAL:
                raise status.forbidden(_NAMESPACES, write.name, "this namespace may not be deleted")
            return
        if is_namespace or not write.namespace:
            return
        record = self._store.get("namespaces", write.namespace)
        if record is None:
            if write.resource.group_resource in _REVIEWS:
                return
            raise status.not_found(_NAMESPACES, write.namespace)
        if write.operation != "CREATE" or b'"deletionTimestamp"' not in record.value:
            return
        if (record.object().get("status") or {}).get("phase") != "Terminating":
            return
        if write.resource.group_resource in _REVIEWS:
            return
        why = f"unable to create new content in namespace {write.namespace} because it is being terminated"
        error = write.forbidden(why)
        assert error.details is not None
        error.details["causes"] = [
            {
                "reason": "NamespaceTerminating",
                "message": f"namespace {write.namespace} is being terminated",
                "field": "metadata.namespace",
            }
        ]
        raise error
