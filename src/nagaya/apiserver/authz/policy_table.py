"""Roles and bindings written as tables, so that a few hundred rules can be read and compared.

A role starts at the left margin with its name; `> x` means that it is aggregated into the role x, `< x` that it is put
together from all roles that are aggregated into x. Each rule below it reads `verbs | API groups | resources | names`,
the last column only where a rule is for certain names; deeper indented lines continue a rule. `core` is the group
without a name, `paths` instead of groups makes the third column a list of URL paths, `read` and `write` are the usual
verbs, and `record events` is the rule by which a program may record events.

A binding reads `name: kind subject, kind subject`, or `name = role: ...` where the role is called otherwise. Everything
gets the label and the annotation by which Kubernetes recognises its defaults. Every call makes new objects, which
belong to the caller.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.authz.rbac import GROUP
from nagaya.apiserver.meta.status import JsonObject

AUTO_UPDATE: Final = "rbac.authorization.kubernetes.io/autoupdate"
_LABELS: Final = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_AGGREGATE: Final = f"{GROUP}/aggregate-to-"

_READ: Final = ("get", "list", "watch")
_WRITE: Final = ("create", "delete", "deletecollection", "patch", "update")
_VERBS: Final = {"read": _READ, "write": _WRITE, "read+write": _READ + _WRITE}
_RECORD_EVENTS: Final = "create,patch,update | core,events.k8s.io | events"


def roles(table: str, namespace: str = "") -> Iterator[JsonObject]:
    """The Roles of a namespace, or the ClusterRoles, of a table."""
    role: JsonObject | None = None
    for line in _lines(table):
        if not line.startswith(" "):
            if role is not None:
                yield role
            role = _role(line, namespace)
        elif role is not None:
            role["rules"].append(_rule(line.strip()))
    if role is not None:
        yield role


def bindings(table: str, namespace: str = "") -> Iterator[JsonObject]:
    """The RoleBindings of a namespace, or the ClusterRoleBindings, of a table."""
    for line in _lines(table):
        # Names hold colons themselves, but no colon that ends a word.
        head, _, subjects = f"{line} ".partition(": ")
        name, _, role = head.partition(" = ")
        yield binding(name, role or name, subjects.strip(), namespace)


def binding(name: str, role: str, subjects: str, namespace: str = "") -> JsonObject:
    """One binding, to the ClusterRole or (in a namespace) the Role of that name."""
    obj = _object("RoleBinding" if namespace else "ClusterRoleBinding", name, namespace)
    listed = [_subject(subject) for subject in subjects.split(", ") if subject]
    if listed:
        obj["subjects"] = listed
    obj["roleRef"] = {"apiGroup": GROUP, "kind": "Role" if namespace else "ClusterRole", "name": role}
    return obj


def _lines(table: str) -> Iterator[str]:
    """The lines with their continuations."""
    whole = ""
    for line in table.splitlines():
        if line.startswith("      "):
            whole = f"{whole} {line.strip()}"
        else:
            if whole:
                yield whole
            whole = line
    if whole:
        yield whole


def _object(kind: str, name: str, namespace: str) -> JsonObject:
    metadata: JsonObject = {"name": name, "labels": dict(_LABELS), "annotations": {AUTO_UPDATE: "true"}}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata}


def _role(line: str, namespace: str) -> JsonObject:
    name, *marks = line.split()
    role = _object("Role" if namespace else "ClusterRole", name, namespace)
    role["rules"] = []
    for mark, target in zip(marks[::2], marks[1::2], strict=True):
        label = {f"{_AGGREGATE}{target}": "true"}
        if mark == ">":
            role["metadata"]["labels"] |= label
        else:
            role["rules"] = None
            role["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": label}]}
    return role


def _rule(line: str) -> JsonObject:
    text = _RECORD_EVENTS if line == "record events" else line
    verbs, groups, things, *names = (column.strip() for column in text.split("|"))
    rule: JsonObject = {"verbs": sorted(_VERBS.get(verbs) or verbs.split(","))}
    if groups == "paths":
        rule["nonResourceURLs"] = things.split()
        return rule
    rule["apiGroups"] = ["" if group == "core" else group for group in groups.split(",")]
    rule["resources"] = things.split()
    if names:
        rule["resourceNames"] = names[0].split()
    return rule


def _subject(text: str) -> JsonObject:
    kind, _, name = text.partition(" ")
    if kind != "ServiceAccount":
        return {"kind": kind, "apiGroup": GROUP, "name": name}
    namespace, _, name = name.partition("/")
    return {"kind": kind, "name": name, "namespace": namespace}
