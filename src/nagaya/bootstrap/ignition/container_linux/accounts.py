"""Users and groups."""

from __future__ import annotations

from typing import Any, Final

from nagaya.bootstrap.ignition.container_linux.fields import (
    Place,
    Table,
    boolean,
    every,
    integer,
    mapping,
    text,
    texts,
    translate,
)

_CREATION: Final[Table] = {
    "uid": integer,
    "gecos": text,
    "home_dir": text,
    "no_create_home": boolean,
    "primary_group": text,
    "groups": texts,
    "no_user_group": boolean,
    "system": boolean,
    "no_log_init": boolean,
    "shell": text,
}
_USER: Final[Table] = {
    "name": text,
    "password_hash": text,
    "ssh_authorized_keys": texts,
    "create": mapping(_CREATION),
    **_CREATION,
}
_GROUP: Final[Table] = {"name": text, "gid": integer, "password_hash": text, "system": boolean}


def _user(value: Any, place: Place) -> dict[str, Any]:
    found = translate(value, place, _USER)
    if "create" in found:
        if set(found) - {"create", "name", "passwordHash", "sshAuthorizedKeys"}:
            raise place.at("create").refusal("it excludes the same fields beside it", "Use those alone")
        place.at("create").warn("it is deprecated", "Write its fields beside it")
    return found


PASSWD: Final[Table] = {"users": every(_user), "groups": every(mapping(_GROUP))}
