"""The rbac group. Roles themselves have the default table."""

from __future__ import annotations

from datetime import datetime

from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.table.builtin.parts import age, name
from nagaya.apiserver.table.columns import AGE, NAME, Cells, shape, text, wide


@shape(
    NAME,
    text("Role", "The role that is granted."),
    AGE,
    wide("Users", "The users it is granted to."),
    wide("Groups", "The groups it is granted to."),
    wide("ServiceAccounts", "The service accounts it is granted to."),
)
def BINDINGS(obj: JsonObject, now: datetime) -> Cells:
    role: JsonObject = obj.get("roleRef") or {}
    subjects: list[JsonObject] = obj.get("subjects") or []
    names = {
        kind: ", ".join(each.get("name") or "" for each in subjects if each.get("kind") == kind)
        for kind in ("User", "Group")
    }
    accounts = ", ".join(
        f"{each.get('namespace') or ''}/{each.get('name') or ''}"
        for each in subjects
        if each.get("kind") == "ServiceAccount"
    )
    granted = f"{role.get('kind') or ''}/{role.get('name') or ''}"
    return [name(obj), granted, age(obj, now), names["User"], names["Group"], accounts]
