"""The roles and bindings that every Kubernetes API server makes sure of when it starts (those of version 1.36).

They are facts about Kubernetes: tools and people count on these names. All of them are there, also the roles of
controllers that do not run beside this server, because a real controller manager may be pointed at it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.authz import (
    bootstrap_component_roles,
    bootstrap_controller_roles,
    bootstrap_namespace_roles,
    bootstrap_user_roles,
    policy_table,
    rbac,
)
from nagaya.apiserver.meta.status import JsonObject

_CONTROLLER: Final = "system:controller:"
_ROLE_TABLES: Final = (
    bootstrap_user_roles.CLUSTER_ROLES,
    bootstrap_component_roles.CLUSTER_ROLES,
    bootstrap_controller_roles.CLUSTER_ROLES,
)
_BINDING_TABLES: Final = (
    bootstrap_user_roles.CLUSTER_ROLE_BINDINGS,
    bootstrap_component_roles.CLUSTER_ROLE_BINDINGS,
)


def cluster_roles() -> Iterator[JsonObject]:
    """The default ClusterRoles."""
    for table in _ROLE_TABLES:
        yield from policy_table.roles(table)


def cluster_role_bindings() -> Iterator[JsonObject]:
    """The default ClusterRoleBindings."""
    for table in _BINDING_TABLES:
        yield from policy_table.bindings(table)
    for role in policy_table.roles(bootstrap_controller_roles.CLUSTER_ROLES):
        name = role["metadata"]["name"]
        account = f"ServiceAccount kube-system/{name.removeprefix(_CONTROLLER)}"
        yield policy_table.binding(name, name, account)


def namespace_roles() -> Iterator[JsonObject]:
    """The default Roles."""
    for namespace, table in bootstrap_namespace_roles.ROLES.items():
        yield from policy_table.roles(table, namespace)


def namespace_role_bindings() -> Iterator[JsonObject]:
    """The default RoleBindings."""
    for namespace, table in bootstrap_namespace_roles.ROLE_BINDINGS.items():
        yield from policy_table.bindings(table, namespace)


def everything() -> Iterator[tuple[str, JsonObject]]:
    """All defaults with their resources, in the order in which they are made."""
    for resource, objects in (
        (rbac.CLUSTER_ROLES, cluster_roles()),
        (rbac.CLUSTER_ROLE_BINDINGS, cluster_role_bindings()),
        (rbac.ROLES, namespace_roles()),
        (rbac.ROLE_BINDINGS, namespace_role_bindings()),
    ):
        for obj in objects:
            yield resource, obj


def node_rules() -> list[JsonObject]:
    """What a node may do besides what concerns it alone: the rules of `system:node`."""
    for role in policy_table.roles(bootstrap_component_roles.CLUSTER_ROLES):
        if role["metadata"]["name"] == "system:node":
            rules: list[JsonObject] = role["rules"]
            return rules
    raise AssertionError("the table of component roles has no system:node")
