"""The whole config."""

from __future__ import annotations

from typing import Any, Final

from nagaya.bootstrap.ignition.container_linux.accounts import PASSWD
from nagaya.bootstrap.ignition.container_linux.fields import (
    Place,
    Table,
    every,
    integer,
    mapping,
    translate,
    unsupported,
    url,
)
from nagaya.bootstrap.ignition.container_linux.reader import read
from nagaya.bootstrap.ignition.container_linux.services import docker_unit, update_settings
from nagaya.bootstrap.ignition.container_linux.storage import STORAGE, verification
from nagaya.bootstrap.ignition.container_linux.systemd import NETWORKD, SYSTEMD
from nagaya.bootstrap.ignition.files import ROOT_FILESYSTEM
from nagaya.bootstrap.ignition.merge import merged

_REFERENCE: Final[Table] = {"source": url, "verification": verification}
_IGNITION: Final[Table] = {
    "config": mapping({"append": every(mapping(_REFERENCE)), "replace": mapping(_REFERENCE)}),
    "timeouts": mapping({"http_response_headers": integer, "http_total": integer}),
    "security": mapping({"tls": mapping({"certificate_authorities": every(mapping(_REFERENCE))})}),
}
_AS_UNITS: Final = unsupported("it is not supported as a service", "Write its units into systemd.units")


def translated(config: str, *, strict: bool) -> dict[str, Any]:
    """An Ignition config without a version, to be appended to one that has it. Raises Refused."""
    place = Place("", strict)
    said = read(config, place)
    if said is None:
        place.warn("it is empty", "Remove it")
        return {}
    found = translate(said, place, _CONFIG)
    for name in ("version", "update", "locksmith", "docker"):
        found.pop(name, None)
    if files := update_settings(said.get("update"), said.get("locksmith"), place):
        found = merged(found, {"storage": {"files": files}})
    if said.get("docker") is not None:
        found = merged(found, {"systemd": {"units": [docker_unit(said["docker"], place.at("docker"))]}})
    _check_filesystems(found.get("storage", {}), place.at("storage"))
    return found


def _version(value: Any, place: Place) -> int:
    if integer(value, place) != 0:
        raise place.refusal("it is not known", "Leave it out")
    return 0


def _elsewhere(value: Any, place: Place) -> None:
    """Translated after the rest, into parts of it."""


def _check_filesystems(storage: dict[str, Any], place: Place) -> None:
    known = {ROOT_FILESYSTEM, *(each.get("name", "") for each in storage.get("filesystems", ()))}
    for kind in ("files", "directories", "links"):
        for index, node in enumerate(storage.get(kind, ())):
            if node["filesystem"] not in known:
                at = place.at(kind).item(index).at("filesystem")
                at.warn("there is no such file system in the config", "Name one of storage.filesystems")


_CONFIG: Final[Table] = {
    "version": _version,
    "ignition": mapping(_IGNITION),
    "storage": mapping(STORAGE),
    "systemd": mapping(SYSTEMD),
    "networkd": mapping(NETWORKD),
    "passwd": mapping(PASSWD),
    "update": _elsewhere,
    "locksmith": _elsewhere,
    "docker": _elsewhere,
    "etcd": _AS_UNITS,
    "flannel": _AS_UNITS,
}
