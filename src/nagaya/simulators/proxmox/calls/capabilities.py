"""What a host can give to machines: processors and types of machine."""

from __future__ import annotations

from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.failure import Failure

handlers = Handlers()
_VENDORS = {
    "default": "host kvm32 kvm64 max qemu32 qemu64 x86-64-v2 x86-64-v2-AES x86-64-v3 x86-64-v4",
    "GenuineIntel": "486 Broadwell Broadwell-IBRS Broadwell-noTSX Broadwell-noTSX-IBRS Cascadelake-Server "
    "Cascadelake-Server-noTSX Cascadelake-Server-v2 Cascadelake-Server-v4 Cascadelake-Server-v5 ClearwaterForest "
    "Conroe Cooperlake Cooperlake-v2 coreduo core2duo GraniteRapids GraniteRapids-v2 Haswell Haswell-IBRS "
    "Haswell-noTSX Haswell-noTSX-IBRS Icelake-Client Icelake-Client-noTSX Icelake-Server Icelake-Server-noTSX "
    "Icelake-Server-v3 Icelake-Server-v4 Icelake-Server-v5 Icelake-Server-v6 Icelake-Server-v7 IvyBridge "
    "IvyBridge-IBRS KnightsMill Nehalem Nehalem-IBRS Penryn pentium pentium2 pentium3 SandyBridge SandyBridge-IBRS "
    "SapphireRapids SapphireRapids-v2 SapphireRapids-v3 SierraForest SierraForest-v2 Skylake-Client "
    "Skylake-Client-IBRS Skylake-Client-noTSX-IBRS Skylake-Client-v4 Skylake-Server Skylake-Server-IBRS "
    "Skylake-Server-noTSX-IBRS Skylake-Server-v4 Skylake-Server-v5 Westmere Westmere-IBRS",
    "AuthenticAMD": "athlon EPYC EPYC-Genoa EPYC-Genoa-v2 EPYC-IBPB EPYC-Milan EPYC-Milan-v2 EPYC-Milan-v3 EPYC-Rome "
    "EPYC-Rome-v2 EPYC-Rome-v3 EPYC-Rome-v4 EPYC-Rome-v5 EPYC-Turin EPYC-v3 EPYC-v4 EPYC-v5 Opteron_G1 Opteron_G2 "
    "Opteron_G3 Opteron_G4 Opteron_G5 phenom",
}
_MACHINES = ("10.1", "10.0", "9.2", "9.1", "9.0", "8.2", "8.1", "8.0", "7.2", "7.1", "7.0", "6.2", "6.1", "6.0")


@handlers("GET", "/nodes/{node}/capabilities/qemu/cpu")
async def processors(call: Call) -> Json:
    """Models of processors."""
    return [
        {"name": name, "vendor": vendor, "custom": 0} for vendor, names in _VENDORS.items() for name in names.split()
    ]


@handlers("GET", "/nodes/{node}/capabilities/qemu/machines")
async def machines(call: Call) -> Json:
    """Types of machine. A host without PVE's own QEMU cannot tell."""
    if not call.node.kvm:
        path = "/usr/share/kvm/machine-versions-x86_64.json"
        why = f"can't open '{path}' - No such file or directory"
        raise Failure(f"could not load supported machine versions - {why}\n\n")
    return [
        {"id": f"{prefix}-{version}", "type": kind, "version": version}
        for kind, prefix in (("i440fx", "pc-i440fx"), ("q35", "pc-q35"))
        for version in _MACHINES
    ]


@handlers("GET", "/nodes/{node}/capabilities/qemu/migration")
async def migration(call: Call) -> Json:
    """What a migration can take along. Unlike elsewhere, PVE says true here and not 1."""
    return {"has-dbus-vmstate": True}
