from __future__ import annotations

import pytest

from nagaya.api.bootstrap.annotations import INSTALL, MIRROR
from nagaya.bootstrap.installation import FromImage, FromPackages, requested
from nagaya.bootstrap.refusal import Refused
from support.subtest_cases import subtest_cases


def test_the_image_has_everything_unless_asked_otherwise() -> None:
    assert requested({}) == FromImage()
    assert requested({"other": "x"}) == FromImage()
    assert requested({INSTALL: "image"}) == FromImage()


def test_packages_come_from_kubernetes_or_from_a_mirror() -> None:
    assert requested({INSTALL: "packages"}) == FromPackages("https://pkgs.k8s.io")
    for mirror in ("https://mirror.test/k8s", "https://mirror.test:8443/k8s/"):
        assert requested({INSTALL: "packages", MIRROR: mirror}) == FromPackages(mirror.rstrip("/"))


@pytest.mark.parametrize("value", ["", "package", "Packages", "yes"])
def test_another_way_is_refused_with_those_that_there_are(value: str) -> None:
    with pytest.raises(
        Refused, match=r"annotations\[bootstrap\.nagaya\.dev/install\].*Set it to packages, or to image"
    ):
        requested({INSTALL: value})


@subtest_cases(
    "mirror",
    [
        "",
        "mirror.test",
        "http://mirror.test",
        "ftp://mirror.test",
        "https://",
        "https://user:secret@mirror.test/",
        "https://mirror.test/?a=b",
        "https://mirror.test/#a",
        "https://mirror.test/a b",
        "https://mirror.test/a\nb",
        "https://mirror.test/a]",
        "https://mirror.test/$(reboot)",
        "https://mirror.test/{{ a }}",
        "https://mirror.test//a",
    ],
)
def test_a_mirror_that_is_no_plain_https_url_is_refused_without_being_repeated(mirror: str) -> None:
    with pytest.raises(Refused, match=r"annotations\[bootstrap\.nagaya\.dev/package-mirror\]") as refused:
        requested({INSTALL: "packages", MIRROR: mirror})
    assert "secret" not in str(refused.value)


def test_a_mirror_for_nothing_is_refused() -> None:
    with pytest.raises(Refused, match="Add that annotation"):
        requested({MIRROR: "https://mirror.test"})
