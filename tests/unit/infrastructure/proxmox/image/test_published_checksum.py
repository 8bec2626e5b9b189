from __future__ import annotations

import pytest

from nagaya.infrastructure.proxmox.image.checksum import checksum
from nagaya.infrastructure.proxmox.image.published_checksum import Fetch, Unpublished, fetch, published_checksum

URL = "https://images.example/trixie/latest/debian-13-generic-amd64.qcow2"
SHA = "ab" * 64


def web(**texts: str) -> Fetch:
    async def answer(address: str) -> str | None:
        server, _, name = address.rpartition("/")
        assert server == "https://images.example/trixie/latest"
        return texts.get(name)

    return answer


async def test_the_checksum_is_read_from_the_list_beside_the_image() -> None:
    found = await published_checksum(URL, web(SHA512SUMS=f"{SHA}  debian-13-generic-amd64.qcow2\n"))
    assert found == checksum(SHA)


async def test_the_next_list_is_tried_when_one_is_not_there() -> None:
    found = await published_checksum(URL, web(SHA256SUMS=f"{SHA[:64]} *debian-13-generic-amd64.qcow2\n"))
    assert found.algorithm == "sha256"


async def test_without_a_line_for_the_image_a_checksum_is_asked_for() -> None:
    with pytest.raises(Unpublished, match=r"SHA512SUMS has no line for .*SHA256SUMS does not exist.*--checksum"):
        await published_checksum(URL, web(SHA512SUMS=f"{SHA}  other.qcow2\n"))


async def test_a_list_that_anybody_could_change_is_not_read() -> None:
    with pytest.raises(Unpublished, match="not read by https"):
        await published_checksum(URL.replace("https", "http"), web())


async def test_a_server_that_does_not_answer_is_told_with_the_remedy() -> None:
    with pytest.raises(Unpublished, match=r"127\.0\.0\.1:1/SHA512SUMS cannot be read: .*--checksum"):
        await fetch("https://127.0.0.1:1/SHA512SUMS")
