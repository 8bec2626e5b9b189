from __future__ import annotations

from urllib.parse import quote

import pytest

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.qemu.ssh_keys import check_keys

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILyBVSwYNKZOtPR7jvbDbVYFiQdBt4d9jm7jBxN3ASZf"


@pytest.mark.parametrize("keys", [KEY, f"{KEY} a@b\n{KEY}\n", f"\n \n{KEY}", f'command="x" {KEY} a', ""])
def test_keys_are_taken(keys: str) -> None:
    check_keys(quote(keys))


@pytest.mark.parametrize(
    "keys", ["garbage", f"# mine\n{KEY}", KEY.replace("ed25519", "rsa"), f"{KEY}\ngarbage", "ssh-rsa !!"]
)
def test_what_is_no_key_is_refused(keys: str) -> None:
    with pytest.raises(Failure, match="SSH public key validation error"):
        check_keys(quote(keys))
