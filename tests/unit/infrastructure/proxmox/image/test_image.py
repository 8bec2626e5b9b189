from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.api.proxmox.formats import TAG
from nagaya.infrastructure.proxmox.image.checksum import checksum
from nagaya.infrastructure.proxmox.image.distributions import DISTRIBUTIONS
from nagaya.infrastructure.proxmox.image.image import BadImage, Image, image
from nagaya.infrastructure.proxmox.image.marker import PREFIX, Marker, described, marker_of, read
from nagaya.infrastructure.proxmox.virtual_machine import marker as machine_marker

SHA = checksum("ab" * 64)
URL = "https://images.example/debian-13-generic-amd64.qcow2"


def test_names_and_tags_come_from_the_image_alone() -> None:
    made = image(URL, SHA, origin="debian-13", kubernetes="1.36.3")
    assert made.name == "debian-13-k8s-v1-36-3"
    assert made.tags == ("debian-13", "kubernetes-v1.36.3")
    assert made.file == "nagaya-debian-13-abababababab.qcow2"


def test_a_plain_image_has_only_its_origin_as_a_tag() -> None:
    made = image("https://x.example/ubuntu-24.04-server-cloudimg-amd64.img", SHA, origin="ubuntu-24.04")
    assert (made.name, made.tags, made.format) == ("ubuntu-24-04", ("ubuntu-24.04",), "qcow2")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("https://x.example/a.qcow2.xz", "does not unpack"),
        ("https://x.example/a.ova", "its disk"),
        ("https://x.example/a", "--format"),
        ("ftp://x.example/a.qcow2", "no address of a file"),
        ("https://x.example/", "no address of a file"),
    ],
)
def test_what_cannot_be_imported_is_refused_with_the_remedy(url: str, words: str) -> None:
    with pytest.raises(BadImage, match=words):
        image(url, SHA)


@pytest.mark.parametrize("given_as", [{"origin": "Ümlaut"}, {"kubernetes": "1.36"}, {"kubernetes": "latest"}])
def test_names_that_proxmox_does_not_take_are_refused(given_as: dict[str, str]) -> None:
    with pytest.raises(BadImage):
        image(URL, SHA, **given_as)


def test_secrets_in_an_address_are_shown_to_nobody() -> None:
    made = image("https://me:word@x.example/a.qcow2?token=hidden", SHA, origin="a")
    shown = described(made, marker_of(made, 9000, "2030"))
    assert "word" not in shown
    assert "hidden" not in shown
    assert made.shown_url == "https://x.example/a.qcow2"


def test_the_images_of_distributions_have_a_list_beside_them() -> None:
    assert set(DISTRIBUTIONS) == {"debian-13", "debian-12", "ubuntu-26.04", "ubuntu-24.04"}
    for name, each in DISTRIBUTIONS.items():
        made = image(each.url, SHA, origin=name)
        assert each.url.startswith("https://")
        assert each.sums in ("SHA512SUMS", "SHA256SUMS")
        assert made.tags == (name,)


def test_a_marker_is_read_as_it_was_written_and_only_on_its_own_machine() -> None:
    made = image(URL, SHA, origin="debian-13")
    marker = marker_of(made, 9000, "2030-01-02T03:04:05Z", "nagaya")
    text = described(made, marker)
    assert read(text, 9000) == marker
    assert read(text, 9001) is None


def test_the_marker_of_an_image_is_none_of_a_machine() -> None:
    made = image(URL, SHA, origin="debian-13")
    assert machine_marker.read(described(made, marker_of(made, 9000, ""))) is None


@pytest.mark.parametrize(
    "text", ["", "nagaya-image:", f"{PREFIX}{{", f"{PREFIX}[]", f'{PREFIX}{{"vmid":9000}}', f"{PREFIX}3"]
)
def test_a_marker_that_cannot_be_read_is_none(text: str) -> None:
    assert read(text, 9000) is None


@given(st.builds(Marker, st.just(9000), *[st.text(st.characters(codec="utf-8"))] * 2, checksum=st.just(str(SHA))))
def test_no_text_in_a_marker_ends_it_early(marker: Marker) -> None:
    assert read(f"something\n\n{marker.line()}", 9000) == marker


@given(st.from_regex(r"[a-z0-9][a-z0-9.-]{0,20}", fullmatch=True))
def test_every_origin_makes_names_that_proxmox_takes(origin: str) -> None:
    made = Image(origin, URL, SHA, kubernetes="v1.36.3+build.1")
    assert all(re.match(TAG, each) for each in made.tags)
    assert re.fullmatch(r"[a-zA-Z0-9\-.+=_]+\.qcow2", made.file)
    assert re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", made.name)
