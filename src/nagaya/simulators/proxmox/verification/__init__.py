"""What PVE does with the parameters of a call before its code sees them, to the letter of each refusal.

A client reads these messages: the name of a parameter and why it was refused is often all that it learns. So the rules,
their order and their words are those of PVE, and the recorded answers of PVE 9.2 are the test of it.
"""

from nagaya.simulators.proxmox.verification.checking import check_format, parse
from nagaya.simulators.proxmox.verification.failure import FormatError
from nagaya.simulators.proxmox.verification.formats.kinds import Properties
from nagaya.simulators.proxmox.verification.rendering import render
from nagaya.simulators.proxmox.verification.sizes import format_size, parse_size
from nagaya.simulators.proxmox.verification.values import Value, split_list, text_of
from nagaya.simulators.proxmox.verification.verify import accept, verify

__all__ = [
    "FormatError",
    "Properties",
    "Value",
    "accept",
    "check_format",
    "format_size",
    "parse",
    "parse_size",
    "render",
    "split_list",
    "text_of",
    "verify",
]
