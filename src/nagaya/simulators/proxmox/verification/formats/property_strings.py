"""Property strings that have a name. Most others stand in the surface itself, where they are used."""

from __future__ import annotations

import re

from nagaya.simulators.proxmox.surface.loading import routes
from nagaya.simulators.proxmox.surface.schema import Schema
from nagaya.simulators.proxmox.verification.failure import FormatError
from nagaya.simulators.proxmox.verification.formats.kinds import Properties, PropertyFormat

CPU_FLAGS = (
    "aes", "amd-no-ssb", "amd-ssbd", "hv-evmcs", "hv-tlbflush", "ibpb", "md-clear", "nested-virt", "pcid", "pdpe1gb",
    "spec-ctrl", "ssbd", "virt-ssbd",
)  # fmt: skip
CPU_LEVELS = frozenset({"x86-64-v2", "x86-64-v2-AES", "x86-64-v3", "x86-64-v4"})
_CPU_FLAG = rf"[+-](?:{'|'.join(CPU_FLAGS)})"
_CPU_FLAGS = re.compile(rf"^{_CPU_FLAG}(?:;{_CPU_FLAG})*$")
_ANY_CPU_FLAG = r"([+-])([a-zA-Z0-9\-_\.]+)"
_UUID = "[a-fA-F0-9]{8}(?:-[a-fA-F0-9]{4}){3}-[a-fA-F0-9]{12}"
_BASE64 = "[A-Za-z0-9+/]+={0,2}"
_PCI = r"(?:[a-f0-9]{4,}:)?[a-f0-9]{2}:[a-f0-9]{2}(?:\.[a-f0-9])?"
_HEX_ID = "^0x[0-9a-fA-F]{4}$"
_FINGERPRINT = "([A-Fa-f0-9]{2}:){31}[A-Fa-f0-9]{2}"
_VANISHED = "(?:(?:(?:acl|properties|entry);)*(?:acl|properties|entry))|none"

_FLAG = Schema(type="boolean", optional=True)
_ANY_INTEGER = Schema(type="integer", optional=True)
_TEXT = Schema(type="string", optional=True)


def _text(pattern: str | None = None, form: str | None = None, requires: str | None = None) -> Schema:
    return Schema(type="string", optional=True, pattern=pattern, format=form, requires=requires)


def _integer(minimum: int, maximum: int | None = None) -> Schema:
    return Schema(type="integer", optional=True, minimum=minimum, maximum=maximum)


def _choice(*values: str, bare: bool = False, optional: bool = True) -> Schema:
    return Schema(type="string", optional=optional, enum=values, default_key=bare)


def _property_string(properties: dict[str, Schema]) -> PropertyFormat:
    return PropertyFormat(Schema(properties=properties, additional=False))


def cpu_models() -> tuple[str, ...]:
    """The models of processors that QEMU knows."""
    route = routes("9.2").get("POST", "/cluster/qemu/custom-cpu-models")
    return route.parameters.properties["reported-model"].enum


def _cpu(cpu: Properties) -> Properties:
    model = cpu.get("cputype")
    if not isinstance(model, str) or model in ("", "0"):
        raise FormatError("CPU is missing cputype\n")
    if model.startswith("custom-"):
        raise FormatError(f"Custom cputype '{model.removeprefix('custom-')}' not found\n")
    if model not in CPU_LEVELS and model not in cpu_models():
        raise FormatError(f"Built-in cputype '{model}' is not defined (missing 'custom-' prefix?)\n")
    flags = cpu.get("flags")
    if isinstance(flags, str) and _CPU_FLAGS.match(flags) is None:
        raise FormatError(f"VM-specific CPU flags must be a subset of: {', '.join(CPU_FLAGS)}\n")
    if "reported-model" in cpu:
        raise FormatError("Property 'reported-model' not allowed in VM-specific CPU config.\n")
    return cpu


def _kept_backups(kept: Properties) -> Properties:
    counts = {name: value for name, value in kept.items() if name != "keep-all"}
    if not any(int(count) > 0 for count in counts.values()):
        return {"keep-all": True}
    if kept.get("keep-all"):
        raise FormatError("keep-all cannot be set together with other options.\n")
    return counts


def _cpu_properties() -> Schema:
    return Schema(
        additional=False,
        properties={
            "cputype": Schema(type="string", optional=True, default_key=True, default="kvm64"),
            "flags": _text(f"{_ANY_CPU_FLAG}(;{_ANY_CPU_FLAG})*"),
            "guest-phys-bits": _integer(32, 64),
            "hidden": _FLAG,
            "hv-vendor-id": _text("[a-zA-Z0-9]{1,12}"),
            "level": _integer(0, 4294967295),
            "phys-bits": _text(form="pve-phys-bits"),
            "reported-model": _choice(*cpu_models()),
        },
    )


def _ide() -> Schema:
    """The option `cdrom` is an old name of ide2, and is verified as a drive that exists already."""
    drive = routes("9.2").get("GET", "/nodes/{node}/qemu/{vmid}/config").returns.properties["ide0"].format
    if not isinstance(drive, Schema):
        raise TypeError("a drive is a property string")
    return drive


def formats() -> dict[str, PropertyFormat]:
    """All of them by name."""
    counts = ("keep-last", "keep-hourly", "keep-daily", "keep-weekly", "keep-monthly", "keep-yearly")
    pruning = Schema(properties={"keep-all": _FLAG} | dict.fromkeys(counts, _integer(0)), additional=False)
    return {
        "backup-fleecing": _property_string(
            {
                "enabled": Schema(type="boolean", optional=True, default_key=True),
                "storage": _text(form="pve-storage-id"),
            }
        ),
        "backup-performance": _property_string({"max-workers": _integer(1, 256), "pbs-entries-max": _integer(1)}),
        "proxmox-remote": _property_string(
            {
                "host": Schema(type="string"),
                "port": _ANY_INTEGER,
                "apitoken": Schema(type="string"),
                "fingerprint": _text(_FINGERPRINT),
            }
        ),
        "prune-backups": PropertyFormat(pruning, _kept_backups),
        "pve-qemu-sev-fmt": _property_string(
            {
                "type": Schema(type="string", default_key=True, enum=("std", "es", "snp"), max_length=3),
                "no-debug": _FLAG,
                "no-key-sharing": _FLAG,
                "allow-smt": _FLAG,
                "kernel-hashes": _FLAG,
            }
        ),
        "pve-qemu-tdx-fmt": _property_string(
            {
                "type": _choice("tdx", bare=True, optional=False),
                "attestation": Schema(type="boolean"),
                "vsock-cid": _integer(2),
                "vsock-port": _integer(0),
            }
        ),
        "pve-qm-boot": _property_string(
            {
                "legacy": Schema(type="string", optional=True, default_key=True, pattern="[acdn]{1,4}"),
                "order": _text(form="pve-qm-bootdev-list"),
            }
        ),
        "pve-qm-cicustom": _property_string(
            dict.fromkeys(("meta", "network", "user", "vendor"), _text(form="pve-volume-id"))
        ),
        "pve-qm-hostpci": _property_string(
            {
                "host": Schema(type="string", optional=True, default_key=True, pattern=f"{_PCI}(;{_PCI})*"),
                "driver": _choice("vfio", "keep"),
                "mapping": _text(form="pve-configid"),
                "rombar": _FLAG,
                "romfile": _text("[^,;]+"),
                "pcie": _FLAG,
                "x-vga": _FLAG,
                "legacy-igd": _FLAG,
                "mdev": _text(r"[^/\.:]+"),
                "vendor-id": _text(_HEX_ID),
                "device-id": _text(_HEX_ID),
                "sub-vendor-id": _text(_HEX_ID),
                "sub-device-id": _text(_HEX_ID),
            }
        ),
        "pve-qm-ide": PropertyFormat(_ide()),
        "pve-qm-ipconfig": _property_string(
            {
                "ip": _text(form="pve-ipv4-config"),
                "gw": _text(form="ipv4", requires="ip"),
                "ip6": _text(form="pve-ipv6-config"),
                "gw6": _text(form="ipv6", requires="ip6"),
            }
        ),
        "pve-qm-rng": _property_string(
            {
                "source": _choice("/dev/urandom", "/dev/random", "/dev/hwrng", bare=True, optional=False),
                "max_bytes": _ANY_INTEGER,
                "period": _ANY_INTEGER,
            }
        ),
        "pve-qm-smbios1": _property_string(
            {"uuid": _text(_UUID), "base64": _FLAG}
            | dict.fromkeys(("version", "serial", "manufacturer", "product", "sku", "family"), _text(_BASE64))
        ),
        "pve-qm-watchdog": _property_string(
            {
                "model": _choice("i6300esb", "ib700", bare=True),
                "action": _choice("reset", "shutdown", "poweroff", "pause", "debug", "none"),
            }
        ),
        "pve-sdn-dhcp-range": _property_string(
            {"start-address": Schema(type="string", format="ip"), "end-address": Schema(type="string", format="ip")}
        ),
        "pve-tfa-config": _property_string(
            {
                "type": _choice("yubico", "oath", optional=False),
                "id": _TEXT,
                "key": _TEXT,
                "url": _TEXT,
                "digits": _integer(6, 8),
                "step": _integer(10),
            }
        ),
        "pve-vm-cpu-conf": PropertyFormat(_cpu_properties(), _cpu),
        "realm-sync-options": _property_string(
            {
                "scope": _choice("users", "groups", "both"),
                "remove-vanished": _text(_VANISHED),
                "full": _FLAG,
                "enable-new": _FLAG,
                "purge": _FLAG,
            }
        ),
    }
