"""The paths on which PVE gives rights: not those of its API, but names of what there is to have rights on."""

from __future__ import annotations

import re

_NAME = r"[A-Za-z0-9.\-_]+"
_FORM = re.compile(r"[A-Za-z0-9.\-_/]+")
_KNOWN = re.compile(
    rf"/|/access|/access/groups|/access/groups/{_NAME}|/access/realm|/access/realm/{_NAME}|/nodes|/nodes/{_NAME}"
    rf"|/pool|/pool/{_NAME}(?:/{_NAME}){{0,2}}|/sdn|/sdn/controllers|/sdn/controllers/{_NAME}|/sdn/dns|/sdn/dns/{_NAME}"
    rf"|/sdn/fabrics|/sdn/fabrics/{_NAME}|/sdn/ipams|/sdn/ipams/{_NAME}|/sdn/prefix-lists|/sdn/prefix-lists/{_NAME}"
    rf"|/sdn/route-maps|/sdn/route-maps/{_NAME}|/sdn/zones|/sdn/zones/{_NAME}|/sdn/zones/{_NAME}/{_NAME}"
    rf"|/sdn/zones/{_NAME}/{_NAME}/[1-9][0-9]{{0,3}}|/storage|/storage/{_NAME}|/vms|/vms/[1-9][0-9]{{2,}}"
    rf"|/mapping|/mapping/{_NAME}|/mapping/{_NAME}/{_NAME}"
)


def normalised(path: str) -> str | None:
    """A path as PVE stores it, None if it cannot be one."""
    if not path:
        return None
    path = re.sub(r"/+", "/", path)
    path = path.removesuffix("/") or "/"
    if not path.startswith("/"):
        path = "/" + path
    return path if _FORM.fullmatch(path) else None


def known(path: str) -> bool:
    """Whether PVE has something on which this would be a right."""
    return _KNOWN.fullmatch(path) is not None


def ancestors(path: str) -> list[str]:
    """A path and all above it, from the root down. To one that does not begin with a slash the root does not count."""
    names = [name for name in path.split("/") if name]
    root = ["/"] if path.startswith("/") else []
    return root + ["/" + "/".join(names[:end]) for end in range(1, len(names) + 1)]
