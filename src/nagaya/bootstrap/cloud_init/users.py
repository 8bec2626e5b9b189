"""Accounts of a machine as entries of `users`."""

from __future__ import annotations

from typing import Any, Final

from nagaya.api.bootstrap.users import User

_AT_ONCE: Final = "0"


def account(user: User) -> dict[str, Any]:
    """One account."""
    fields = {
        "name": user.name,
        "passwd": user.passwd,
        "gecos": user.gecos,
        "groups": user.groups,
        "homedir": user.home_dir,
        # cloud-init takes a number of days as text here, and passes over everything else, a true with it.
        "inactive": _AT_ONCE if user.inactive else "",
        "lock_passwd": user.lock_password,
        "shell": user.shell,
        "primary_group": user.primary_group,
        "sudo": user.sudo,
        "ssh_authorized_keys": list(user.ssh_authorized_keys),
    }
    return {name: value for name, value in fields.items() if value or value is False}
