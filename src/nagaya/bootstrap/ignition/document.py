"""The whole Ignition config: what Nagaya makes of the machine, with the user's own config behind it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import orjson

from nagaya.api.bootstrap.users import User
from nagaya.bootstrap.boot import Boot
from nagaya.bootstrap.ignition import container_linux
from nagaya.bootstrap.ignition.disks import disks, filesystems
from nagaya.bootstrap.ignition.files import generated, own_file, user_file
from nagaya.bootstrap.ignition.kubeadm import configuration, script
from nagaya.bootstrap.ignition.merge import merged
from nagaya.bootstrap.ignition.time_servers import ntp_configuration
from nagaya.bootstrap.ignition.units import units

VERSION: Final = "2.3.0"
_SSHD: Final = (
    "Subsystem sftp internal-sftp\n"
    "ClientAliveInterval 180\n"
    "UseDNS no\n"
    "UsePAM yes\n"
    "PrintLastLog no\n"
    "PrintMotd no\n"
    "\n"
    "Match User {}\n"
    "  PasswordAuthentication yes\n"
)


def render(boot: Boot) -> bytes:
    """The boot data. Raises Refused."""
    preparation = boot.preparation
    config: dict[str, Any] = {
        "ignition": {"version": VERSION},
        "passwd": _filled(users=[_account(each) for each in preparation.users]),
        "storage": _filled(
            disks=disks(preparation.disk_setup.partitions),
            filesystems=filesystems(preparation.disk_setup.filesystems),
            files=list(_files(boot)),
        ),
        "systemd": {"units": list(units(preparation))},
    }
    found = preparation.ignition.container_linux_config
    if found.additional_config:
        config = merged(config, container_linux.translated(found.additional_config, strict=bool(found.strict)))
    return orjson.dumps(_filled(**config))


def _files(boot: Boot) -> Iterator[dict[str, Any]]:
    preparation = boot.preparation
    for user in preparation.users:
        if user.sudo:
            yield generated(f"/etc/sudoers.d/{user.name}", f"{user.name} {user.sudo}\n", 0o600)
    # Flatcar's own settings refuse passwords to everyone.
    if with_password := [user.name for user in preparation.users if user.lock_password is False]:
        yield generated("/etc/ssh/sshd_config", _SSHD.format(",".join(with_password)), 0o600)
    yield from map(own_file, boot.own_files)
    for index, file in enumerate(boot.files):
        yield user_file(file, f"spec.files[{index}]")
    yield script(boot)
    yield configuration(boot)
    if preparation.ntp.enabled and preparation.ntp.servers:
        yield ntp_configuration(preparation.ntp.servers)


def _account(user: User) -> dict[str, Any]:
    return {
        "name": user.name,
        **_filled(
            gecos=user.gecos,
            groups=[group.strip() for group in user.groups.split(",") if group.strip()],
            homeDir=user.home_dir,
            shell=user.shell,
            passwordHash=user.passwd,
            primaryGroup=user.primary_group,
            sshAuthorizedKeys=list(user.ssh_authorized_keys),
        ),
    }


def _filled(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}
