from __future__ import annotations

import hashlib
import io
import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from nagaya.binaries.download import Downloader, Patience
from nagaya.binaries.errors import SourceFailed
from nagaya.binaries.official import OfficialReleases
from nagaya.binaries.programs import Product, programs_named
from nagaya.binaries.progress import PlainReporter
from nagaya.binaries.releases import Platform
from nagaya.binaries.source import Staged, Workplace
from support.fake_site import Site, archive_of, program_telling

LINUX = Platform("linux", "amd64")
VERSION = "v1.36.3"
BIN = f"/k8s/{VERSION}/bin/linux/amd64"


@pytest.fixture
def releases(site: Site, reporter: PlainReporter) -> OfficialReleases:
    downloader = Downloader(Patience(first_answer=2, stall=2, retries=2), sleep=lambda seconds: None)
    return OfficialReleases(LINUX, reporter, f"{site.url}/k8s", f"{site.url}/etcd", downloader)


def provide(releases: OfficialReleases, work: Workplace, names: Sequence[str], version: str = VERSION) -> list[Staged]:
    programs = programs_named(names)
    product: Product = programs[0].product
    given = []
    for staged in releases.provide(product, version, programs, work):
        kept = work.staging / f"kept-{staged.program.name}"
        staged.path.rename(kept)
        given.append(Staged(staged.program, kept, staged.origin))
    return given


def test_a_kubernetes_program_comes_from_its_own_address(
    releases: OfficialReleases, site: Site, work: Workplace, publish_release: Callable[[str], None]
) -> None:
    publish_release(VERSION)
    [kubelet] = provide(releases, work, ["kubelet"])
    assert kubelet.path.read_bytes() == program_telling(VERSION)
    assert kubelet.origin == f"{site.url}{BIN}/kubelet"
    assert [path for path, _ in site.requests] == [f"{BIN}/kubelet.sha256", f"{BIN}/kubelet"]


def test_etcd_comes_out_of_its_archive(
    releases: OfficialReleases, work: Workplace, publish_release: Callable[[str], None]
) -> None:
    publish_release(VERSION)
    [etcd] = provide(releases, work, ["etcd"], "v3.7.3")
    assert b"etcd Version: 3.7.3" in etcd.path.read_bytes()
    assert os.listdir(work.downloads) == []


def test_the_end_to_end_tests_come_out_of_the_test_archive(
    releases: OfficialReleases, site: Site, work: Workplace, publish_release: Callable[[str], None]
) -> None:
    publish_release(VERSION)
    [tests] = provide(releases, work, ["e2e.test"])
    assert tests.path.read_bytes() == program_telling(VERSION)
    assert tests.origin == f"{site.url}/k8s/{VERSION}/kubernetes-test-linux-amd64.tar.gz"


def test_each_download_is_told(
    releases: OfficialReleases, work: Workplace, publish_release: Callable[[str], None], said: io.StringIO
) -> None:
    publish_release(VERSION)
    provide(releases, work, ["kubelet", "kubectl"])
    assert "Downloading kubelet v1.36.3 ..." in said.getvalue()
    assert "Downloading kubectl v1.36.3 ..." in said.getvalue()


def test_a_program_with_a_wrong_checksum_is_not_given(
    releases: OfficialReleases, site: Site, work: Workplace, publish_release: Callable[[str], None]
) -> None:
    publish_release(VERSION)
    site.files[f"{BIN}/kubelet.sha256"] = b"0" * 64
    with pytest.raises(SourceFailed, match="it was changed on its way"):
        provide(releases, work, ["kubelet"])


def test_a_version_that_was_never_released_is_told_after_one_small_request(
    releases: OfficialReleases, site: Site, work: Workplace
) -> None:
    with pytest.raises(SourceFailed, match=r"kubelet\.sha256 is not there \(404\)"):
        provide(releases, work, ["kubelet", "kubectl"])
    assert len(site.requests) == 1


def test_what_came_before_a_failure_stays(
    releases: OfficialReleases, site: Site, work: Workplace, publish_release: Callable[[str], None]
) -> None:
    publish_release(VERSION)
    del site.files[f"{BIN}/kubectl"]
    stream = releases.provide("kubernetes", VERSION, programs_named(["kubelet", "kubectl"]), work)
    kubelet = next(stream)
    kubelet.path.rename(work.staging / "kept")
    with pytest.raises(SourceFailed, match=r"kubectl is not there"):
        next(stream)
    assert kubelet.program.name == "kubelet"
    assert (work.staging / "kept").read_bytes() == program_telling(VERSION)


def test_a_list_of_checksums_without_the_file_is_refused(
    releases: OfficialReleases, site: Site, work: Workplace, publish_release: Callable[[str], None]
) -> None:
    publish_release(VERSION)
    site.files["/etcd/v3.7.3/SHA256SUMS"] = f"{'0' * 64}  etcd-v3.7.3-linux-arm64.tar.gz\n".encode()
    with pytest.raises(SourceFailed, match=r"SHA256SUMS has no checksum for etcd-v3\.7\.3-linux-amd64\.tar\.gz"):
        provide(releases, work, ["etcd"], "v3.7.3")


def test_an_archive_without_the_program_is_refused(releases: OfficialReleases, site: Site, work: Workplace) -> None:
    site.publish(f"/k8s/{VERSION}/kubernetes-test-linux-amd64.tar.gz", archive_of("kubernetes/README", b"x"))
    with pytest.raises(SourceFailed, match=r"holds no kubernetes/test/bin/e2e\.test"):
        provide(releases, work, ["e2e.test"])


def test_an_archive_that_is_none_is_refused(releases: OfficialReleases, site: Site, work: Workplace) -> None:
    site.publish(f"/k8s/{VERSION}/kubernetes-test-linux-amd64.tar.gz", b"an error page")
    with pytest.raises(SourceFailed, match="cannot be unpacked"):
        provide(releases, work, ["e2e.test"])


def test_a_longer_checksum_is_as_good(releases: OfficialReleases, site: Site, work: Workplace) -> None:
    site.publish(f"{BIN}/kubelet", b"x", algorithm="sha512")
    [kubelet] = provide(releases, work, ["kubelet"])
    assert kubelet.path.read_bytes() == b"x"


@pytest.mark.parametrize("platform", [Platform("darwin", "arm64"), Platform("linux", "riscv64")])
def test_a_platform_that_nothing_is_published_for_is_told_without_a_request(
    site: Site, reporter: PlainReporter, work: Workplace, platform: Platform
) -> None:
    releases = OfficialReleases(platform, reporter, site.url, site.url)
    with pytest.raises(SourceFailed, match=f"nothing is published for {platform}"):
        provide(releases, work, ["kubelet"])
    assert site.requests == []


def test_cluster_api_which_has_no_release_site_is_told_without_a_request(
    releases: OfficialReleases, site: Site, work: Workplace
) -> None:
    with pytest.raises(SourceFailed, match="managers are published as container images only"):
        list(releases.provide("cluster-api", "v1.14.0", programs_named(["clusterctl"]), work))
    assert site.requests == []


def test_an_interrupted_download_is_continued_by_the_next_call(
    releases: OfficialReleases, site: Site, work: Workplace
) -> None:
    contents = random.Random(1).randbytes(500_000)
    site.publish(f"{BIN}/kubelet", contents)
    site.cuts[f"{BIN}/kubelet"] = [200_000, 0, 0]
    with pytest.raises(SourceFailed, match="gave up"):
        provide(releases, work, ["kubelet"])
    left: list[Path] = list(work.downloads.iterdir())
    assert [path.stat().st_size for path in left] == [200_000]
    [kubelet] = provide(releases, work, ["kubelet"])
    assert hashlib.sha256(kubelet.path.read_bytes()).digest() == hashlib.sha256(contents).digest()
    assert site.visits(f"{BIN}/kubelet")[-1] == "bytes=200000-"
