"""What is shown of a guest is what it says of its first start, and holds no secret."""

from __future__ import annotations

import base64
import secrets

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.infrastructure.proxmox.machine.evidence import OUTPUT, gather, shown
from support.virtual_run import run
from unit.infrastructure.proxmox.machine.booted import NODE, VMID, booted


@pytest.mark.parametrize(
    "secret",
    [
        "abcdef.0123456789abcdef",
        "sha256:8cb2de97839780a412b93877f8507ad6c94f73add17d5d7058e91741c9d5ec78",
        "f8902e114ef118304e561c3ecd4d0b543adc226b7a07f675f56564185ffe0c07",
        base64.b64encode(bytes(range(48))).decode(),
    ],
    ids=["token", "digest", "certificate-key", "base64"],
)
def test_what_kubeadm_prints_is_left_out(secret: str) -> None:
    said = shown(f"kubeadm join 10.0.0.5:6443 --token {secret} --more\nerror: no answer from 10.0.0.5")
    assert secret.removeprefix("sha256:") not in said
    assert "no answer from 10.0.0.5" in said


@given(st.binary(min_size=32, max_size=200))
def test_nothing_encoded_is_shown(data: bytes) -> None:
    for text in (base64.b64encode(data).decode(), data.hex(), base64.urlsafe_b64encode(data).decode()):
        assert text not in shown(f"value {text} end")


@pytest.mark.parametrize("line", ["password: hunter2", "token=hunter2", "--certificate-key hunter2", "SECRET hunter2"])
def test_what_is_called_a_secret_is_left_out(line: str) -> None:
    assert "hunter2" not in shown(line)


def test_only_the_last_lines_are_shown_on_one_line() -> None:
    said = shown("\n".join(f"line   {number}" for number in range(50)) + "\n\n")
    assert said == "line 46 / line 47 / line 48 / line 49"
    assert len(shown("x " * 1000)) < 250
    assert secrets.token_hex(16) not in said


@pytest.mark.parametrize(
    ("output", "end"),
    [
        (
            b"one\ntwo\nthree\nfour\nfailed: token: hunter2\n",
            " Its output ends: two / three / four / failed: (left out).",
        ),
        (b"\n\n", ""),
        (None, ""),
    ],
    ids=["output", "empty output", "no output"],
)
def test_what_cloud_init_says_is_told_with_the_end_of_its_output_if_there_is_any(
    output: bytes | None, end: str
) -> None:
    async def main() -> str:
        async with booted() as vm:
            if output is not None:
                vm.files[OUTPUT] = output
            return await gather(vm.proxmox, NODE, VMID)

    said = run(main())
    assert said.startswith("cloud-init says: status: done / ")
    assert said.partition("].")[2] == end
