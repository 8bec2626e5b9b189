"""What the sources of programs are tried on: a site on loopback, a Go that is a script, a clock that stands still."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nagaya.binaries.progress import PlainReporter
from nagaya.binaries.source import Workplace
from support.fake_go import FakeGo
from support.fake_site import Site, archive_of, program_telling, script
from support.standing_clock import StandingClock


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test asks of loopback must not go through the proxy that a user has set."""
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.close()


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


@pytest.fixture
def said() -> io.StringIO:
    """What the reporter wrote."""
    return io.StringIO()


@pytest.fixture
def reporter(said: io.StringIO, clock: StandingClock) -> PlainReporter:
    return PlainReporter(said, clock)


@pytest.fixture
def work(tmp_path: Path) -> Iterator[Workplace]:
    """Folders for a source, and a descriptor in the place of the lock."""
    staging, downloads, logs = (tmp_path / name for name in ("staging", "downloads", "logs"))
    for folder in (staging, downloads):
        folder.mkdir()
    descriptor = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    yield Workplace(staging, downloads, logs, build_cache=tmp_path / "go-build", lock=descriptor)
    os.close(descriptor)


@pytest.fixture
def fake_go(tmp_path: Path) -> FakeGo:
    return FakeGo(tmp_path)


@pytest.fixture
def publish_release(site: Site) -> Callable[[str], None]:
    """Puts a whole release of programs that tell their version on the site."""

    def publish(version: str) -> None:
        for name in (
            *("kube-apiserver", "kube-controller-manager", "kube-scheduler"),
            *("kubelet", "kubeadm", "kube-proxy", "kubectl"),
        ):
            site.publish(f"/k8s/{version}/bin/linux/amd64/{name}", program_telling(version))
        test_archive = archive_of("kubernetes/test/bin/e2e.test", program_telling(version))
        site.publish(f"/k8s/{version}/kubernetes-test-linux-amd64.tar.gz", test_archive)
        name = "etcd-v3.7.3-linux-amd64"
        site.files[f"/etcd/v3.7.3/{name}.tar.gz"] = archive_of(f"{name}/etcd", script("echo etcd Version: 3.7.3"))
        digest = hashlib.sha256(site.files[f"/etcd/v3.7.3/{name}.tar.gz"]).hexdigest()
        site.files["/etcd/v3.7.3/SHA256SUMS"] = f"{'0' * 64}  other.zip\n{digest}  {name}.tar.gz\n".encode()

    return publish
