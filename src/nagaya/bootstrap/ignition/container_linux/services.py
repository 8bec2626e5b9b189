"""Short ways to say what the system's own services do: updates, reboots for them, and Docker."""

from __future__ import annotations

import json
from typing import Any, Final

from nagaya.bootstrap.ignition.container_linux.fields import Place, Table, text, texts, translate, url
from nagaya.bootstrap.ignition.files import generated

UPDATE_PATH: Final = "/etc/coreos/update.conf"
_UPDATE: Final[Table] = {
    "group": text,
    "server": url,
    "pcr_policy_server": text,
    "download_user": text,
    "download_password": text,
    "machine_alias": text,
}
_LOCKSMITH: Final = {
    "reboot_strategy": "REBOOT_STRATEGY",
    "window_start": "LOCKSMITHD_REBOOT_WINDOW_START",
    "window_length": "LOCKSMITHD_REBOOT_WINDOW_LENGTH",
    "group": "LOCKSMITHD_GROUP",
    "etcd_endpoints": "LOCKSMITHD_ENDPOINT",
    "etcd_cafile": "LOCKSMITHD_ETCD_CAFILE",
    "etcd_certfile": "LOCKSMITHD_ETCD_CERTFILE",
    "etcd_keyfile": "LOCKSMITHD_ETCD_KEYFILE",
}


def update_settings(update: Any, locksmith: Any, place: Place) -> list[dict[str, Any]]:
    """The file that says when the system updates itself and reboots for it, if anything is said about that."""
    lines: list[str] = []
    if update is not None:
        translate(update, place.at("update"), _UPDATE)
        said = {name: update[name] for name in _UPDATE if update.get(name)}
        lines += [f"{name.upper()}={value.lower() if name == 'group' else value}" for name, value in said.items()]
    if locksmith is not None:
        at = place.at("locksmith")
        translate(locksmith, at, dict.fromkeys(_LOCKSMITH, text))
        if bool(locksmith.get("window_start")) != bool(locksmith.get("window_length")):
            raise at.refusal("window_start and window_length belong together", "Give both or none")
        lines += [
            f"{name}={json.dumps(locksmith[key], ensure_ascii=False)}"
            for key, name in _LOCKSMITH.items()
            if locksmith.get(key) is not None
        ]
    return [generated(UPDATE_PATH, "\n".join(lines), 0o644)] if lines else []


def docker_unit(docker: Any, place: Place) -> dict[str, Any]:
    """Docker's unit with the arguments that are asked for."""
    flags = translate(docker, place, {"flags": texts}).get("flags", [])
    setting = f'[Service]\nEnvironment="DOCKER_OPTS={" ".join(flags)}"'
    return {
        "name": "docker.service",
        "enable": True,
        "dropins": [{"name": "20-clct-docker.conf", "contents": setting}],
    }
