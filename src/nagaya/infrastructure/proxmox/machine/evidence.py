"""What a guest says of its first start, for people who wonder why it takes so long.

What always holds: no secret leaves the guest. kubeadm prints tokens and keys, so whatever could be one is left out, and
no more is shown than the last lines.
"""

from __future__ import annotations

import re
from typing import Final

from nagaya.infrastructure.proxmox.client import Proxmox
from nagaya.infrastructure.proxmox.client.errors import Forbidden, ProxmoxError

OUTPUT: Final = "/var/log/cloud-init-output.log"
LINES: Final = 4
_READ: Final = 40
"""Lines of the end that are looked through for those, as some are empty."""
_LONGEST: Final = 240
_SECRETS: Final = (
    re.compile(r"\b[a-z0-9]{6}\.[a-z0-9]{16}\b"),  # a token of kubeadm
    re.compile(r"\b[0-9a-fA-F]{32,}\b"),  # a key for certificates, a digest
    re.compile(r"[A-Za-z0-9+/_=-]{40,}"),  # anything in base64
    re.compile(r"(?i)\b(token|password|passwd|secret|key)(\s*[:=]\s*|\s+)\S+"),
)


def shown(text: str) -> str:
    """Text of a guest as it may be shown: on one line, without what could be a secret."""
    for pattern in _SECRETS:
        text = pattern.sub("(left out)", text)
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    return " / ".join(line if len(line) <= _LONGEST else f"{line[:_LONGEST]} ..." for line in lines[-LINES:])


async def gather(proxmox: Proxmox, node: str, vmid: int) -> str:
    """What cloud-init says of itself, and the end of its output, in sentences. What cannot be asked is said, too."""
    try:
        status = await proxmox.agent.run(node, vmid, ["cloud-init", "status", "--long"])
        said = [f"cloud-init says: {shown(status.output or status.errors) or 'nothing'}."]
        tail = await proxmox.agent.run(node, vmid, ["tail", "-n", str(LINES), OUTPUT])
    except Forbidden:
        return await _read(proxmox, node, vmid)  # a smaller right, which credentials have more often
    except ProxmoxError as error:
        return f"What cloud-init says cannot be asked: {error.why}."
    if end := shown(tail.output):
        said.append(f"Its output ends: {end}.")
    return " ".join(said)


async def _read(proxmox: Proxmox, node: str, vmid: int) -> str:
    try:
        text = await proxmox.agent.read(node, vmid, OUTPUT)
    except Forbidden as error:
        return f"What cloud-init says cannot be asked: {error.remedy or error.why}"
    except ProxmoxError as error:
        return f"What cloud-init says cannot be asked: {error.why}."
    end = shown("\n".join(text.splitlines()[-_READ:]))
    return f"The output of cloud-init ends: {end}." if end else ""
