"""Authorisation that is always up to date: the store's news of roles and bindings is read before each decision."""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.authz.attributes import Attributes
from nagaya.apiserver.authz.authorizer import Decision, PrivilegedGroup, Rules, Union
from nagaya.apiserver.authz.rbac import GROUP, RbacIndex
from nagaya.apiserver.storage import Compacted, Store, Watch

_RESOURCES: Final = ("clusterroles", "clusterrolebindings", "roles", "rolebindings")


class Rbac:
    """RBAC over the roles and bindings in a store. What a client was told is stored counts from then on."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._index = RbacIndex()
        self._watches: dict[str, Watch] = {}
        for resource in _RESOURCES:
            self._load(resource)
        self._union = Union([PrivilegedGroup(), self._index])

    def _load(self, resource: str) -> None:
        table = f"{GROUP}/{resource}"
        self._index.replace(resource, (record.object() for record in self._store.list(table).records))
        self._watches[resource] = self._store.watch(table, self._store.revision)

    @property
    def index(self) -> RbacIndex:
        """The roles and bindings as they are now."""
        for resource in _RESOURCES:
            try:
                while events := self._watches[resource].poll():
                    for event in events:
                        if event.record is not None:
                            self._index.upsert(resource, event.record.object())
                        else:
                            namespace, _, name = event.key.rpartition("/")
                            self._index.delete(resource, namespace, name)
            except Compacted:
                # Nobody has asked for longer than the history reaches back.
                self._load(resource)
        return self._index

    def authorize(self, attributes: Attributes) -> Decision:
        """Whether this may be done."""
        _ = self.index
        return self._union.authorize(attributes)

    def rules_for(self, user: User, namespace: str) -> Rules:
        """What a user may do."""
        return self.index.rules_for(user, namespace)
