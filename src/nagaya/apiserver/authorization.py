"""Authorisation that is always up to date: the store's news of roles and bindings is read before each decision."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.authz import node_graph
from nagaya.apiserver.authz.attributes import Attributes
from nagaya.apiserver.authz.authorizer import (
    Authorizer,
    Decision,
    PrivilegedGroup,
    RuleResolver,
    Rules,
    RuleUnion,
    Union,
)
from nagaya.apiserver.authz.node_authorizer import NodeAuthorizer
from nagaya.apiserver.authz.node_graph import NodeGraph
from nagaya.apiserver.authz.rbac import GROUP, RbacIndex
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.storage import Compacted, Store, Watch

_ROLES: Final = {name: f"{GROUP}/{name}" for name in ("clusterroles", "clusterrolebindings", "roles", "rolebindings")}


_NODE_TABLES: Final = {
    node_graph.PODS: "pods",
    node_graph.VOLUMES: "persistentvolumes",
    node_graph.ATTACHMENTS: "storage.k8s.io/volumeattachments",
    node_graph.SLICES: "resource.k8s.io/resourceslices",
}


class Index(Protocol):
    """Knows the objects of some resources."""

    def replace(self, resource: str, objects: Iterable[JsonObject]) -> None:
        """Forget all objects of a resource and take these."""
        ...

    def upsert(self, resource: str, obj: JsonObject) -> None:
        """Take a new or changed object."""
        ...

    def delete(self, resource: str, namespace: str, name: str) -> None:
        """Forget an object."""
        ...


class _Follower:
    """Keeps an index equal to a table."""

    __slots__ = ("_index", "_resource", "_store", "_table", "_watch")

    def __init__(self, store: Store, table: str, resource: str, index: Index) -> None:
        self._store = store
        self._table = table
        self._resource = resource
        self._index = index
        self._watch: Watch | None = None

    def _load(self) -> Watch:
        self._index.replace(self._resource, (record.object() for record in self._store.list(self._table).records))
        return self._store.watch(self._table, self._store.revision)

    def catch_up(self) -> None:
        """Take in what has happened since the last time; everything, the first time."""
        if self._watch is None:
            self._watch = self._load()
            return
        try:
            while events := self._watch.poll():
                for event in events:
                    if event.record is not None:
                        self._index.upsert(self._resource, event.record.object())
                    else:
                        namespace, _, name = event.key.rpartition("/")
                        self._index.delete(self._resource, namespace, name)
        except Compacted:
            # Nobody has asked for longer than the history reaches back.
            self._watch = self._load()


class Authorization:
    """Who may do what in one server. What a client was told is stored counts from then on.

    With `nodes`, kubelets may do what they need for the pods that are bound to their node. Whoever may do everything is
    let through before anything is read, so that a server that only its administrator asks never indexes its roles.
    """

    def __init__(self, store: Store, *, nodes: bool = False) -> None:
        self.index = RbacIndex()
        self._followers = [_Follower(store, table, name, self.index) for name, table in _ROLES.items()]
        self._privileged = PrivilegedGroup()
        authorizers: list[Authorizer] = [self.index]
        resolvers: list[RuleResolver] = [self.index]
        if nodes:
            graph = NodeGraph()
            self._followers += [_Follower(store, table, name, graph) for name, table in _NODE_TABLES.items()]
            node = NodeAuthorizer(graph)
            authorizers.insert(0, node)
            resolvers.insert(0, node)
        self._union = Union(authorizers)
        self._rules = RuleUnion(resolvers)

    def _catch_up(self) -> None:
        for each in self._followers:
            each.catch_up()

    def authorize(self, attributes: Attributes) -> Decision:
        """Whether this may be done."""
        if (decision := self._privileged.authorize(attributes)).allowed:
            return decision
        self._catch_up()
        return self._union.authorize(attributes)

    def rules_for(self, user: User, namespace: str) -> Rules:
        """What a user may do."""
        self._catch_up()
        return self._rules.rules_for(user, namespace)
