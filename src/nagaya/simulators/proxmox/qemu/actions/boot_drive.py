"""The drive with boot data: PVE fills it from the options of the machine at every start, and when asked to."""

from __future__ import annotations

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.guests.iso9660 import write_image
from nagaya.simulators.proxmox.qemu import options
from nagaya.simulators.proxmox.qemu.actions.host import Host
from nagaya.simulators.proxmox.qemu.cloud_init import BootData, Resolver, boot_data
from nagaya.simulators.proxmox.qemu.configuration import Configuration
from nagaya.simulators.proxmox.qemu.drives import CLOUDINIT_SIZE, Drive
from nagaya.simulators.proxmox.storages.volume_name import split_id
from nagaya.simulators.proxmox.tasks.runner import Log

LARGEST = 3 << 20
LARGEST_SNIPPET = 1 << 20


def resolver(host: Host) -> Resolver:
    """How the host looks up names."""
    given = host.emulator.datacenter.nodes[host.node].options
    servers = tuple(str(given[key]) for key in ("dns1", "dns2", "dns3") if given.get(key))
    return Resolver(str(given.get("search", "")), servers)


async def generate(host: Host, configuration: Configuration, log: Log) -> bool:
    """Fill the drive; say whether it lagged behind the options, which it no longer does then."""
    lagged = bool(configuration.cloudinit)
    for drive in configuration.drives():
        parts = split_id(drive.file)
        if parts is not None and f"vm-{configuration.vmid}-cloudinit" in parts[1]:
            await _fill(host, configuration, drive, log)
    configuration.cloudinit = {}
    return lagged


async def _fill(host: Host, configuration: Configuration, drive: Drive, log: Log) -> None:
    data = boot_data(configuration.options, configuration.vmid, resolver(host), _custom(host, configuration))
    if sum(len(part) for part in (data.user, data.network, data.meta, data.vendor)) > LARGEST:
        raise Failure("Cloud-Init sum of snippets too big (> 3 MiB)\n")
    volume = host.volumes.find(drive.file)
    if volume is None:
        storage, name = host.volumes.parse(drive.file)
        volume = await host.volumes.allocate(
            log, storage.name, configuration.vmid, name.format, CLOUDINIT_SIZE, name.name
        )
    else:
        host.volumes.active(volume.storage)
    log.say("generating cloud-init ISO")
    volume.data = write_image(data.label, _files(data))


def _files(data: BootData) -> dict[str, bytes]:
    if data.label == "cidata":
        parts = {
            "user-data": data.user,
            "network-config": data.network,
            "meta-data": data.meta,
            "vendor-data": data.vendor,
        }
    else:
        parts = {
            "openstack/latest/user_data": data.user,
            "openstack/content/0000": data.network,
            "openstack/latest/meta_data.json": data.meta,
            "openstack/latest/vendor_data.json": data.vendor,
        }
    return {name: text.encode() for name, text in parts.items()}


def _custom(host: Host, configuration: Configuration) -> dict[str, str]:
    """The parts that a user keeps in snippets."""
    given = configuration.options.get("cicustom")
    if not given:
        return {}
    found: dict[str, str] = {}
    for part, volume_id in options.parts("cicustom", str(given)).items():
        storage, name = host.volumes.parse(str(volume_id))
        if name.content != "snippets":
            raise Failure(f"{volume_id} is not in the snippets directory\n")
        host.volumes.active(storage.name)
        if (volume := host.volumes.find(str(volume_id))) is None:
            raise Failure(f"volume '{volume_id}' does not exist\n")
        found[part] = (volume.data or b"")[:LARGEST_SNIPPET].decode("utf-8", "replace")
    return found
