from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.infrastructure.proxmox.image.checksum import BadChecksum, Checksum, checksum, published

SHA256, SHA512 = "a" * 64, "b" * 128


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SHA256, Checksum("sha256", SHA256)),
        (SHA512.upper(), Checksum("sha512", SHA512)),
        (f" sha512:{SHA512}\n", Checksum("sha512", SHA512)),
        (f"SHA256:{SHA256}", Checksum("sha256", SHA256)),
    ],
    ids=["digits", "capitals", "named", "named-in-capitals"],
)
def test_the_number_of_digits_tells_the_algorithm(text: str, expected: Checksum) -> None:
    assert checksum(text) == expected


@pytest.mark.parametrize("text", ["", "sha512:", "xyz", SHA256[:-1], f"sha512:{SHA256}", f"md5:{'a' * 32}", "a" * 40])
def test_what_is_no_checksum_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(BadChecksum, match="write sha256:"):
        checksum(text)


@pytest.mark.parametrize(
    "line",
    [
        f"{SHA512}  debian.qcow2",
        f"{SHA512} *debian.qcow2",
        f"{SHA512}  ./debian.qcow2",
        f"SHA512 (debian.qcow2) = {SHA512}",
        f"{SHA256}  debian.qcow2\n{SHA512}  debian.qcow2",
    ],
    ids=["text", "binary", "folder", "bsd", "both"],
)
def test_lists_of_all_forms_are_read(line: str) -> None:
    text = f"# made today\n{SHA256}  other-debian.qcow2\n{line}\n{SHA512}  debian.qcow2.xz\n"
    assert published(text, "debian.qcow2") == Checksum("sha512", SHA512)


def test_a_list_without_the_file_has_none() -> None:
    assert published(f"{SHA512}  other.qcow2\nnonsense\n", "debian.qcow2") is None


@given(st.text(), st.text())
def test_no_list_makes_the_reader_stumble(text: str, file: str) -> None:
    found = published(text, file)
    assert found is None or checksum(str(found)) == found
