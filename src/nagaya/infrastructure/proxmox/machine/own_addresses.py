"""Which addresses of a guest are the machine's own. Pure.

A machine of the control plane may hold the address of the API for a while, beside its own and on the same interface. It
must not be told as the machine's: whoever goes by it would reach another machine later (CAPMOX #607).
"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address, ip_interface

from nagaya.infrastructure.proxmox.machine.seen import Guest


def without_endpoint(guest: Guest | None, endpoint: str) -> Guest | None:
    """What the guest says, without the address of the API. That may be a name, which no interface has."""
    try:
        held = ip_address(endpoint)
    except ValueError:
        return guest
    if guest is None:
        return None
    return replace(
        guest,
        interfaces=tuple(
            replace(each, addresses=tuple(text for text in each.addresses if ip_interface(text).ip != held))
            for each in guest.interfaces
        ),
    )
