from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.controlplane.kubeadm.workload.image import Image, as_tag


@pytest.mark.parametrize(
    ("text", "image"),
    [
        ("registry.k8s.io/kube-proxy:v1.36.2", Image("registry.k8s.io", "kube-proxy", "v1.36.2")),
        ("localhost:5000/a/b/c:v1", Image("localhost:5000/a/b", "c", "v1")),
        ("coredns", Image("", "coredns")),
        ("a/b@sha256:00", Image("a", "b", "", "sha256:00")),
        ("a/b:v1@sha256:00", Image("a", "b", "v1", "sha256:00")),
    ],
)
def test_the_parts_of_a_name(text: str, image: Image) -> None:
    assert Image.parse(text) == image
    assert str(image) == text


def test_a_name_is_needed() -> None:
    with pytest.raises(ValueError, match="not the name of an image"):
        Image.parse("registry.k8s.io/:v1")


def test_a_version_becomes_a_tag() -> None:
    assert str(Image.parse("a/b:v1").tagged("v1.36.3+build.1")) == "a/b:v1.36.3_build.1"


def test_a_pinned_image_has_no_other_version() -> None:
    with pytest.raises(ValueError, match="pinned by a digest"):
        Image.parse("a/b@sha256:00").tagged("v2")


def test_it_can_come_from_elsewhere() -> None:
    assert str(Image.parse("a/b:v1").at("c.example.com/d/")) == "c.example.com/d/b:v1"
    assert str(Image.parse("a/b:v1").at("")) == "a/b:v1"


@given(st.text(min_size=1))
def test_tags_hold_only_what_tags_can(version: str) -> None:
    assert as_tag(as_tag(version)) == as_tag(version)
    assert all(each.isascii() and (each.isalnum() or each in "-_.") for each in as_tag(version))
