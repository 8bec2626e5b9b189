"""What every namespace has: the ServiceAccount `default`, and the ConfigMap with the certificate authority to trust."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.internal import Internal
from nagaya.apiserver.storage import Event

_NAMESPACES: Final = GroupResource("", "namespaces")
_SERVICE_ACCOUNTS: Final = GroupResource("", "serviceaccounts")
_CONFIG_MAPS: Final = GroupResource("", "configmaps")
ROOT_CA: Final = "kube-root-ca.crt"
_EXPLAINS: Final = "kubernetes.io/description"
_EXPLANATION: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)


class NamespaceDefaults:
    """Creates and repairs what every namespace has."""

    name = "namespace defaults"
    tables = ("namespaces", "serviceaccounts", "configmaps")

    def __init__(self, backend: Backend, root_ca: str) -> None:
        self._backend = backend
        self._api = Internal(backend, "kube-controller-manager")
        self._root_ca = root_ca

    def start(self) -> Iterator[str]:
        """All namespaces."""
        for record in self._backend.store.list("namespaces").records:
            yield record.key

    def on_event(self, event: Event) -> Iterator[str]:
        """A namespace came, or one of its defaults changed or went."""
        if event.table == "namespaces" and event.record is not None:
            yield event.key
        elif event.table in ("serviceaccounts", "configmaps"):
            namespace, _, name = event.key.rpartition("/")
            if (event.table, name) in (("serviceaccounts", "default"), ("configmaps", ROOT_CA)):
                yield namespace

    async def sync(self, key: object) -> float | None:
        """Put the defaults of one namespace in place."""
        assert isinstance(key, str)
        namespace = self._api.get(_NAMESPACES, "", key)
        if namespace is None or namespace["metadata"].get("deletionTimestamp"):
            return None
        try:
            account: JsonObject = {"metadata": {"name": "default", "namespace": key}}
            await self._api.create_missing(_SERVICE_ACCOUNTS, account)
            await self._api.create_missing(_CONFIG_MAPS, self._config_map(key))
            await self._api.change(_CONFIG_MAPS, key, ROOT_CA, self._repair)
        except ApiError as error:
            # The namespace may have begun to go since it was read; then there is nothing to do in it.
            if error.code not in (403, 404):
                raise
        return None

    def _config_map(self, namespace: str) -> JsonObject:
        metadata = {"name": ROOT_CA, "namespace": namespace, "annotations": {_EXPLAINS: _EXPLANATION}}
        return {"metadata": metadata, "data": {"ca.crt": self._root_ca}}

    def _repair(self, obj: JsonObject) -> JsonObject | None:
        if obj.get("data") == {"ca.crt": self._root_ca}:
            return None
        obj["data"] = {"ca.crt": self._root_ca}
        return obj
