"""The whole cloud-config: its parts, in the order in which Cluster API's provider has them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any, Final

from nagaya.api.bootstrap.kubeadm_config_spec import NTP
from nagaya.api.contract.bootstrap import SENTINEL
from nagaya.bootstrap import yaml_text
from nagaya.bootstrap.boot import Boot, kubeadm_command
from nagaya.bootstrap.cloud_init.disks import disk_setup, fs_setup
from nagaya.bootstrap.cloud_init.files import own_file, user_file
from nagaya.bootstrap.cloud_init.users import account
from nagaya.bootstrap.own_file import ROOT

HEADER: Final = "## template: jinja\n#cloud-config\n\n"
CONFIGURATION: Final = {"init": "/run/kubeadm/kubeadm.yaml", "join": "/run/kubeadm/kubeadm-join-config.yaml"}
"""Below /run, so that tokens are gone with the next boot."""

PLACEHOLDER: Final = "/run/cluster-api/placeholder"
_PERMISSIONS: Final = "0640"


def render(boot: Boot) -> bytes:
    """The boot data."""
    return (HEADER + yaml_text.dump(_content(boot))).encode()


def _content(boot: Boot) -> dict[str, Any]:
    preparation = boot.preparation
    parts: dict[str, Any] = {
        "write_files": list(_files(boot)),
        "bootcmd": list(preparation.boot_commands),
        "runcmd": list(_commands(boot)),
        "ntp": _ntp(preparation.ntp),
        "users": [account(each) for each in preparation.users],
        "disk_setup": disk_setup(preparation.disk_setup.partitions),
        "fs_setup": fs_setup(preparation.disk_setup.filesystems),
        "mounts": [list(each) for each in preparation.mounts],
    }
    return {name: part for name, part in parts.items() if part}


def _files(boot: Boot) -> Iterator[dict[str, Any]]:
    yield from map(own_file, boot.own_files)
    yield from map(user_file, boot.files)
    yield {
        "path": CONFIGURATION[boot.subcommand],
        "owner": ROOT,
        "permissions": _PERMISSIONS,
        "content": yaml_text.dump_all(boot.documents),
    }
    # cloud-init makes the folder of a file, on every system it runs on; so the sentinel finds its folder there.
    yield {
        "path": PLACEHOLDER,
        "owner": ROOT,
        "permissions": _PERMISSIONS,
        "content": "This file is here so that its folder is.\n",
    }


def _commands(boot: Boot) -> Iterator[str | list[str]]:
    yield from map(list, boot.own_commands)
    yield from boot.preparation.pre_kubeadm_commands
    kubeadm = shlex.join(kubeadm_command(boot, CONFIGURATION[boot.subcommand]))
    yield f"{kubeadm} && echo success > {SENTINEL}"
    yield from boot.preparation.post_kubeadm_commands


def _ntp(ntp: NTP) -> dict[str, Any]:
    enabled = {} if ntp.enabled is None else {"enabled": ntp.enabled}
    return {**enabled, "servers": list(ntp.servers)} if ntp.servers else enabled
