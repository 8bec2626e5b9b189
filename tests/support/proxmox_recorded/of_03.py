"""What happened unseen in the file on parameters: VM 200 was changed and put right again many times."""

from __future__ import annotations

from support.proxmox_recorded.unseen import Before, asked, both

CONFIG = "/nodes/pve1/qemu/200/config"
_KEY = "ssh-ed25519%20AAAAC3NzaC1lZDI1NTE5AAAAILyBVSwYNKZOtPR7jvbDbVYFiQdBt4d9jm7jBxN3ASZf%20user%40host%0A"


def _set(**options: object) -> Before:
    return asked("PUT", CONFIG, options)


BEFORE: dict[str, Before] = {
    "03.58": both(_set(scsi1="store:1"), _set(delete="scsi1"), _set(memory="current=64")),
    "03.83": _set(tags="blue;red", name="plain", delete="ipconfig0"),
    "03.89": _set(sshkeys=_KEY),
    "03.91": _set(cipassword="secret"),
    "03.133": _set(delete="description,sshkeys,ciuser,cipassword", tags="a;b", boot="cdn", agent="true"),
    "03.151": _set(memory=65),
}
