from __future__ import annotations

import io
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import pytest

from nagaya.binaries.download import Downloader, Patience
from nagaya.binaries.errors import (
    BinariesError,
    BinariesUnavailable,
    CacheUnusable,
    ProvidedMismatch,
    SourceFailed,
    UnknownRequest,
)
from nagaya.binaries.gobuild import GoBuild
from nagaya.binaries.installer import Installer
from nagaya.binaries.lock import exclusive
from nagaya.binaries.official import OfficialReleases
from nagaya.binaries.programs import STANDARD, Product, Program
from nagaya.binaries.progress import PlainReporter
from nagaya.binaries.releases import Platform
from nagaya.binaries.source import Source, Staged, Workplace
from nagaya.world import World
from support.fake_go import FakeGo
from support.fake_site import Site, program_telling, put_program
from support.life import alive
from support.standing_clock import StandingClock

LINUX = Platform("linux", "amd64")
VERSION = "v1.36.3"


class Given:
    """A source that gives what a test says, and counts how often it was asked for what."""

    def __init__(self, name: str, *, version: str | None = None, fails_at: str | None = None, takes: float = 0) -> None:
        self.name = name
        self.asked: list[str] = []
        self._version = version
        self._fails_at = fails_at
        self._takes = takes
        self.closed = 0
        self.planned: list[list[str]] = []

    def provide(
        self, product: Product, version: str, programs: Sequence[Program], work: Workplace
    ) -> Generator[Staged, None, None]:
        self.planned.append([program.name for *_, planned in work.planned for program in planned])
        try:
            for program in programs:
                self.asked.append(program.name)
                time.sleep(self._takes)
                if self._fails_at == program.name:
                    raise SourceFailed(f"{program.name} is out of stock")
                path = work.staging / program.name
                path.write_bytes(program_telling(self._version or version))
                yield Staged(program, path, self.name)
        finally:
            self.closed += 1


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin"}


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "nagaya"


@pytest.fixture
def installer(environment: dict[str, str], reporter: PlainReporter, clock: StandingClock) -> Callable[..., Installer]:
    def make(*sources: Source) -> Installer:
        world = World(clock=clock)
        return Installer(environment=environment, reporter=reporter, world=world, platform=LINUX, sources=sources)

    return make


Make = Callable[..., Installer]


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_programs_are_provided_with_path_version_and_origin(installer: Make, cache: Path) -> None:
    binaries = installer(Given("shop")).ensure(VERSION, ["kubelet", "etcd"])
    assert binaries.release.kubernetes == VERSION
    assert binaries.path("kubelet") == cache / "kubernetes/v1.36.3/linux-amd64/kubelet"
    assert binaries.path("etcd") == cache / "etcd/v3.7.3/linux-amd64/etcd"
    assert [(b.name, b.version, b.source) for b in binaries.programs.values()] == [
        ("etcd", "v3.7.3", "shop"),
        ("kubelet", VERSION, "shop"),
    ]
    assert subprocess.run([binaries.path("kubelet")], capture_output=True).stdout == b"Kubernetes v1.36.3\n"


def test_a_second_call_asks_no_source_takes_no_lock_and_says_nothing(
    installer: Make, cache: Path, said: io.StringIO
) -> None:
    installer(Given("shop")).ensure(VERSION, ["kubelet"])
    (cache / "install.lock").unlink()
    said.truncate(0)
    source = Given("shop")
    assert installer(source).ensure(VERSION, ["kubelet"]).path("kubelet").exists()
    assert source.asked == []
    assert said.getvalue() == ""
    assert not (cache / "install.lock").exists()


def test_only_what_is_missing_is_asked_for(installer: Make) -> None:
    installer(Given("shop")).ensure(VERSION, ["kubelet"])
    source = Given("shop")
    installer(source).ensure(VERSION, ["kubelet", "kubectl"])
    assert source.asked == ["kubectl"]


def test_versions_live_side_by_side(installer: Make, cache: Path) -> None:
    installer(Given("shop")).ensure("v1.35.4", ["kubelet"])
    installer(Given("shop")).ensure("1.36.3", ["kubelet"])
    assert {path.name for path in (cache / "kubernetes").iterdir()} == {"v1.35.4", "v1.36.3"}


def test_nothing_but_programs_and_records_is_left(installer: Make, cache: Path) -> None:
    installer(Given("shop")).ensure(VERSION, ["kubelet"])
    shelf = "kubernetes/v1.36.3/linux-amd64"
    assert files(cache) == ["install.lock", f"{shelf}/kubelet", f"{shelf}/kubelet.json"]


def test_the_next_source_is_asked_for_what_the_first_could_not_give(installer: Make, said: io.StringIO) -> None:
    first = Given("first", fails_at="kubeadm")
    second = Given("second")
    binaries = installer(first, second).ensure(VERSION, ["kubelet", "kubeadm", "kubectl"])
    assert first.asked == ["kubelet", "kubeadm"]
    assert second.asked == ["kubeadm", "kubectl"]
    assert [binary.source for binary in binaries.programs.values()] == ["first", "second", "second"]
    assert "kubernetes v1.36.3, first: kubeadm is out of stock\n" in said.getvalue()


def test_a_program_that_tells_another_version_is_not_used(installer: Make, said: io.StringIO) -> None:
    liar = Given("liar", version="v1.35.4")
    binaries = installer(liar, Given("honest")).ensure(VERSION, ["kubelet"])
    assert binaries.programs["kubelet"].source == "honest"
    assert "kubelet is v1.35.4, not v1.36.3" in said.getvalue()
    assert liar.closed == 1


def test_when_no_source_works_the_message_says_why_and_what_to_do(installer: Make, cache: Path) -> None:
    with pytest.raises(BinariesUnavailable) as caught:
        installer(Given("first", fails_at="kubelet"), Given("second", fails_at="kubelet")).ensure(VERSION, ["kubelet"])
    assert str(caught.value).splitlines() == [
        "kubelet (kubernetes v1.36.3) cannot be had:",
        "  - first: kubelet is out of stock",
        "  - second: kubelet is out of stock",
        "Do one of these and try again:",
        "  - give this machine a route to https://dl.k8s.io; HTTPS_PROXY is respected",
        "  - install Go 1.26 or newer (https://go.dev/doc/install, unpacked into /usr/local/go it is found) "
        "and give it a route to its module proxy (GOPROXY)",
        "  - put the programs into a folder and let NAGAYA_KUBERNETES_BIN name it",
    ]
    assert [attempt.source for attempt in caught.value.attempts] == ["first", "second"]
    assert [path.name for path in cache.iterdir()] == ["install.lock"]


def test_for_what_has_no_release_site_none_is_recommended(installer: Make) -> None:
    with pytest.raises(BinariesUnavailable) as caught:
        installer(Given("first", fails_at="clusterctl")).ensure(VERSION, ["clusterctl"])
    assert str(caught.value).splitlines()[0] == "clusterctl (cluster-api v1.14.0) cannot be had:"
    assert "route to https://" not in str(caught.value)
    assert "install Go 1.26 or newer" in str(caught.value)


def test_cluster_api_has_a_version_and_a_shelf_of_its_own(installer: Make, cache: Path) -> None:
    binaries = installer(Given("shop")).ensure(VERSION, ["clusterctl", "kubelet"])
    assert binaries.path("clusterctl") == cache / "cluster-api/v1.14.0/linux-amd64/clusterctl"
    assert [binary.version for binary in binaries.programs.values()] == [VERSION, "v1.14.0"]


def test_go_is_not_recommended_for_a_version_that_it_could_not_build(installer: Make) -> None:
    with pytest.raises(BinariesUnavailable) as caught:
        installer(Given("first", fails_at="kubelet")).ensure("v1.20.0", ["kubelet"])
    assert "install Go" not in str(caught.value)


def test_a_damaged_program_is_replaced_and_that_is_said(installer: Make, said: io.StringIO) -> None:
    path = installer(Given("shop")).ensure(VERSION, ["kubelet"]).path("kubelet")
    path.write_bytes(b"garbage")
    source = Given("shop")
    installer(source).ensure(VERSION, ["kubelet"])
    assert source.asked == ["kubelet"]
    assert path.read_bytes() == program_telling(VERSION)
    assert f"{path} is not what was recorded: replacing it.\n" in said.getvalue()


def test_damage_that_keeps_size_and_date_is_found_by_a_thorough_call(installer: Make) -> None:
    path = installer(Given("shop")).ensure(VERSION, ["kubelet"]).path("kubelet")
    state = path.stat()
    path.write_bytes(b"x" * state.st_size)
    os.utime(path, ns=(state.st_mtime_ns, state.st_mtime_ns))
    source = Given("shop")
    installer(source).ensure(VERSION, ["kubelet"])
    assert source.asked == []
    installer(source).ensure(VERSION, ["kubelet"], thorough=True)
    assert source.asked == ["kubelet"]


def test_a_restored_cache_is_hashed_and_not_fetched_again(installer: Make) -> None:
    path = installer(Given("shop")).ensure(VERSION, ["kubelet"]).path("kubelet")
    os.utime(path)
    source = Given("shop")
    installer(source).ensure(VERSION, ["kubelet"])
    assert source.asked == []


def test_finding_looks_but_never_fetches(installer: Make, cache: Path) -> None:
    source = Given("shop")
    binaries, missing = installer(source).find(VERSION, ["kubelet", "kubectl"])
    assert (dict(binaries.programs), missing) == ({}, ["kubelet", "kubectl"])
    installer(source).ensure(VERSION, ["kubelet"])
    binaries, missing = installer(source).find(VERSION, ["kubelet", "kubectl"])
    assert (list(binaries.programs), missing) == (["kubelet"], ["kubectl"])
    assert source.asked == ["kubelet"]


def test_the_users_folder_wins_over_the_cache(
    installer: Make, environment: dict[str, str], tmp_path: Path, said: io.StringIO
) -> None:
    installer(Given("shop")).ensure(VERSION, ["kubelet"])
    mine = put_program(tmp_path / "mine" / "kubelet", program_telling(VERSION))
    environment["NAGAYA_KUBERNETES_BIN"] = str(tmp_path / "mine")
    source = Given("shop")
    binaries = installer(source).ensure(VERSION, ["kubelet", "kubectl"])
    assert binaries.path("kubelet") == mine
    assert source.asked == ["kubectl"]
    assert f"{tmp_path / 'mine'} has no kubectl: looking elsewhere.\n" in said.getvalue()


def test_a_users_program_of_another_version_is_an_error(
    installer: Make, environment: dict[str, str], tmp_path: Path
) -> None:
    put_program(tmp_path / "mine" / "kubelet", program_telling("v1.35.4"))
    environment["NAGAYA_KUBERNETES_BIN"] = str(tmp_path / "mine")
    with pytest.raises(ProvidedMismatch, match=r"kubelet is v1\.35\.4, not v1\.36\.3"):
        installer(Given("shop")).ensure(VERSION, ["kubelet"])


def test_nonsense_is_refused_before_anything_is_done(installer: Make, cache: Path) -> None:
    with pytest.raises(UnknownRequest):
        installer(Given("shop")).ensure("latest")
    with pytest.raises(UnknownRequest):
        installer(Given("shop")).ensure(VERSION, ["kubelett"])
    assert not cache.exists()


def test_a_cache_that_cannot_be_written_is_told(environment: dict[str, str], tmp_path: Path, installer: Make) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(CacheUnusable, match="Let XDG_CACHE_HOME name a folder of yours"):
        installer(Given("shop")).ensure(VERSION, ["kubelet"])


def test_callers_at_the_same_time_make_it_once(installer: Make) -> None:
    source = Given("shop", takes=0.05)
    paths: list[Path] = []

    def ensure() -> None:
        paths.append(installer(source).ensure(VERSION, ["kubelet", "kubectl"]).path("kubelet"))

    threads = [threading.Thread(target=ensure) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert source.asked == ["kubelet", "kubectl"]
    assert len(paths) == 4
    assert len(set(paths)) == 1


def test_an_interrupt_keeps_what_is_finished_and_leaves_nothing_half(
    installer: Make, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(Given):
        def provide(
            self, product: Product, version: str, programs: Sequence[Program], work: Workplace
        ) -> Generator[Staged, None, None]:
            yield from super().provide(product, version, programs[:1], work)
            (work.staging / "kubectl").write_bytes(b"half a prog")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        installer(Interrupted("shop")).ensure(VERSION, ["kubelet", "kubectl"])
    shelf = "kubernetes/v1.36.3/linux-amd64"
    assert files(cache) == ["install.lock", f"{shelf}/kubelet", f"{shelf}/kubelet.json"]
    source = Given("shop")
    installer(source).ensure(VERSION, ["kubelet", "kubectl"])
    assert source.asked == ["kubectl"]


def test_what_a_killed_process_left_lying_is_removed(installer: Make, cache: Path) -> None:
    half = cache / "scratch" / "tmpabc" / "kubelet"
    half.parent.mkdir(parents=True)
    half.write_bytes(b"half a prog")
    installer(Given("shop")).ensure(VERSION, ["kubelet"])
    assert not half.exists()


def test_a_side_job_of_a_killed_process_that_still_writes_there_disturbs_nobody(installer: Make, cache: Path) -> None:
    orphan = cache / "scratch" / "tmpabc" / "go-build"
    orphan.mkdir(parents=True)
    text = f"while mkdir -p {orphan}; do true > {orphan}/$((i += 1)); done 2> /dev/null"
    with subprocess.Popen(["/bin/sh", "-c", text]) as process:
        try:
            while not (orphan / "1").exists():
                time.sleep(0.01)
            assert installer(Given("shop")).ensure(VERSION, ["kubelet"]).path("kubelet").exists()
        finally:
            process.kill()


KILLED = """
import sys
from nagaya.binaries.gobuild import GoBuild
from nagaya.binaries.installer import Installer
from nagaya.binaries.progress import Silent
from nagaya.binaries.releases import Platform
import os
platform = Platform("linux", "amd64")
build = GoBuild(platform, Silent(), dict(os.environ))
Installer(platform=platform, sources=[build]).ensure("v1.36.3", ["kubelet"])
"""


def test_a_second_build_waits_for_one_whose_parent_was_killed(fake_go: FakeGo, reporter: PlainReporter) -> None:
    environment = {**fake_go.environment, "FAKE_GO_SLEEP": "1.5"}
    with subprocess.Popen([sys.executable, "-c", KILLED], env=environment) as process:
        while not fake_go.pid_file.exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    build = GoBuild(LINUX, reporter, fake_go.environment)
    installer = Installer(environment=fake_go.environment, reporter=reporter, platform=LINUX, sources=[build])
    orphan = int(fake_go.pid_file.read_text())
    assert installer.ensure(VERSION, ["kubelet"]).path("kubelet").exists()
    assert not alive(orphan)


def test_a_whole_release_is_downloaded_from_the_site(
    site: Site,
    environment: dict[str, str],
    reporter: PlainReporter,
    publish_release: Callable[[str], None],
    cache: Path,
) -> None:
    publish_release(VERSION)
    releases = OfficialReleases(LINUX, reporter, f"{site.url}/k8s", f"{site.url}/etcd")
    installer = Installer(environment=environment, reporter=reporter, platform=LINUX, sources=[releases])
    binaries = installer.ensure(VERSION, [*STANDARD, "e2e.test"])
    assert set(binaries.programs) == {*STANDARD, "e2e.test"}
    assert all(os.access(binary.path, os.X_OK) for binary in binaries.programs.values())
    assert not (cache / "downloads").exists()


def test_a_download_that_broke_off_is_continued_by_the_next_call_if_nobody_else_could_help(
    site: Site, environment: dict[str, str], reporter: PlainReporter, publish_release: Callable[[str], None]
) -> None:
    publish_release(VERSION)
    kubelet = f"/k8s/{VERSION}/bin/linux/amd64/kubelet"
    site.cuts[kubelet] = [5]
    site.statuses[kubelet] = [200, 403]
    releases = OfficialReleases(LINUX, reporter, f"{site.url}/k8s", f"{site.url}/etcd")
    installer = Installer(environment=environment, reporter=reporter, platform=LINUX, sources=[releases])
    with pytest.raises(BinariesUnavailable, match="403"):
        installer.ensure(VERSION, ["kubelet"])
    assert installer.ensure(VERSION, ["kubelet"]).path("kubelet").exists()
    assert site.visits(kubelet) == [None, "bytes=5-", "bytes=5-"]


def test_when_the_site_cannot_be_reached_it_is_built(
    site: Site, fake_go: FakeGo, reporter: PlainReporter, said: io.StringIO
) -> None:
    patient = Downloader(Patience(first_answer=0.3))
    site.hang.set()
    sources = (
        OfficialReleases(LINUX, reporter, f"{site.url}/k8s", f"{site.url}/etcd", patient),
        GoBuild(LINUX, reporter, fake_go.environment),
    )
    installer = Installer(environment=fake_go.environment, reporter=reporter, platform=LINUX, sources=sources)
    binaries = installer.ensure(VERSION)
    assert {binary.source.split(" from ")[0] for binary in binaries.programs.values()} == {"built by go1.26.8"}
    assert len(site.requests) == 2
    assert said.getvalue().count("official release site: ") == 2


def test_a_product_that_cannot_be_provided_does_not_keep_others_from_being_provided(
    installer: Make, cache: Path
) -> None:
    with pytest.raises(BinariesUnavailable, match=r"etcd \(etcd v3\.7\.3\) cannot be had"):
        installer(Given("shop", fails_at="etcd")).ensure(VERSION, ["kubelet", "etcd"])
    assert (cache / "kubernetes/v1.36.3/linux-amd64/kubelet").exists()


def test_a_source_plans_only_for_what_those_before_it_could_not_give(installer: Make) -> None:
    first = Given("first", fails_at="etcd")
    second = Given("second", fails_at="etcd")
    last = Given("last")
    installer(first, second, last).ensure(VERSION, ["etcd", "kubelet", "kine"])
    assert first.planned == [["etcd", "kubelet", "kine"]] * 3
    assert second.planned == last.planned == [["etcd"]]


def test_several_products_that_cannot_be_provided_are_one_error(installer: Make) -> None:
    class Closed(Given):
        def provide(self, *_: object) -> Generator[Staged, None, None]:
            raise SourceFailed("closed today")
            yield

    with pytest.raises(BinariesUnavailable) as caught:
        installer(Closed("shop")).ensure(VERSION, ["kubelet", "etcd"])
    text = str(caught.value)
    assert text.startswith("etcd (etcd v3.7.3); kubelet (kubernetes v1.36.3) cannot be had:")
    assert text.count("closed today") == 1
    assert text.count("put the programs into a folder") == 1


def test_without_building_go_is_not_asked(
    environment: dict[str, str], fake_go: FakeGo, reporter: PlainReporter
) -> None:
    installer = Installer(environment={**environment, **fake_go.environment}, reporter=reporter, build=False)
    with pytest.raises(BinariesUnavailable, match="allow a build with Go: leave out --no-build") as caught:
        installer.ensure(VERSION, ["kine"])
    assert "C compiler" not in str(caught.value)
    assert not fake_go.calls


def test_without_building_nobody_waits_for_another_process_that_builds(
    environment: dict[str, str],
    cache: Path,
    reporter: PlainReporter,
    clock: StandingClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clock, "monotonic", itertools.count(0.0, 2.0).__next__)
    source = Given("shop")
    installer = Installer(
        environment=environment, reporter=reporter, world=World(clock=clock), sources=[source], build=False
    )
    held = exclusive(cache / "install.lock", "installing Kubernetes v1.35.4", reporter, clock)
    with held, pytest.raises(BinariesError, match=r"installing Kubernetes v1\.35\.4, since 2026"):
        installer.ensure(VERSION, ["kubelet"])
    assert source.asked == []
