from __future__ import annotations

import io
import shutil
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from nagaya.binaries.errors import SourceFailed
from nagaya.binaries.gobuild import GoBuild
from nagaya.binaries.programs import programs_named
from nagaya.binaries.progress import PlainReporter
from nagaya.binaries.releases import Platform
from nagaya.binaries.source import Staged, Workplace
from nagaya.binaries.version_check import version_of
from support.fake_go import FakeGo
from support.fake_site import put_program, script
from support.standing_clock import StandingClock
from support.waiting import eventually

LINUX = Platform("linux", "amd64")


@pytest.fixture
def build(fake_go: FakeGo, reporter: PlainReporter) -> GoBuild:
    return GoBuild(LINUX, reporter, fake_go.environment, usual_place=Path("/does/not/exist"))


def provide(build: GoBuild, work: Workplace, names: Sequence[str], version: str = "v1.36.3") -> list[Staged]:
    programs = programs_named(names)
    return list(build.provide(programs[0].product, version, programs, work))


def test_a_program_is_built_and_stamped_with_its_version(build: GoBuild, work: Workplace, fake_go: FakeGo) -> None:
    [kubelet] = provide(build, work, ["kubelet"])
    assert version_of(kubelet.program, kubelet.path) == "v1.36.3"
    assert kubelet.origin == "built by go1.26.8 from k8s.io/kubernetes/cmd/kubelet@v1.36.3"
    call = fake_go.calls[-1]
    for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"):
        for stamp in ("gitVersion=v1.36.3", "gitMajor=1", "gitMinor=36", "gitTreeState=clean", "gitCommit= "):
            assert f"-X {package}.{stamp}" in call
        assert f"-X {package}.buildDate=2026-07-22T18:07:38Z" in call
    assert call.endswith(f"-o {kubelet.path.parent}/ k8s.io/kubernetes/cmd/kubelet")
    assert kubelet.path.is_relative_to(work.staging)


def test_etcd_has_no_stamps(build: GoBuild, work: Workplace, fake_go: FakeGo) -> None:
    [etcd] = provide(build, work, ["etcd"], "v3.7.3")
    assert version_of(etcd.program, etcd.path) == "v3.7.3"
    assert "-ldflags=-s -w -o" in fake_go.calls[-1]


def test_kine_is_built_with_a_c_compiler_and_what_it_needs_of_sqlite(
    build: GoBuild, work: Workplace, fake_go: FakeGo
) -> None:
    put_program(Path(fake_go.environment["PATH"].partition(":")[0]) / "gcc", script("exit 1"))
    [kine] = provide(build, work, ["kine"], "v0.14.10")
    assert kine.origin == "built by go1.26.8 from github.com/k3s-io/kine@v0.14.10"
    assert "-X github.com/k3s-io/kine/pkg/version.Version=v0.14.10 -o" in fake_go.calls[-1]
    seen = fake_go.saw.splitlines()
    assert {"CGO_ENABLED=1", "CGO_CFLAGS=-O2 -DSQLITE_ENABLE_DBSTAT_VTAB=1"} <= set(seen)


@pytest.mark.parametrize(
    ("processors", "available", "cgroups", "expected"),
    [
        (2, 22_000, {}, {"GOGC=off", "GOMEMLIMIT=1536MiB"}),
        (2, None, {}, {"GOGC=off", "GOMEMLIMIT=1536MiB"}),
        (64, 260_000, {}, {"GOGC=off", "GOMEMLIMIT=1536MiB"}),
        (63, 64_000, {}, {"GOGC=off", "GOMEMLIMIT=750MiB"}),
        (64, 32_000, {}, set()),
        (2, 2_000, {}, set()),
        (2, 22_000, {"memory.max": "max", "a/b/memory.max": "max"}, {"GOGC=off", "GOMEMLIMIT=1536MiB"}),
        (2, 22_000, {"a/b/memory.max": f"{4000 << 20}"}, {"GOGC=off", "GOMEMLIMIT=1000MiB"}),
        (2, 22_000, {"a/memory.max": f"{4000 << 20}", "a/b/memory.max": "max"}, {"GOGC=off", "GOMEMLIMIT=1000MiB"}),
        (2, 22_000, {"memory.max": f"{1000 << 20}"}, set()),
        (2, 22_000, {"memory/c/memory.limit_in_bytes": f"{4000 << 20}"}, {"GOGC=off", "GOMEMLIMIT=1000MiB"}),
        (2, 22_000, {"other/memory.max": "1", "a/b/c/memory.max": "1"}, {"GOGC=off", "GOMEMLIMIT=1536MiB"}),
    ],
)
def test_compilers_collect_no_garbage_as_far_as_all_of_them_together_have_the_memory(
    build: GoBuild,
    work: Workplace,
    fake_go: FakeGo,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    processors: int,
    available: int | None,
    cgroups: dict[str, str],
    expected: set[str],
) -> None:
    monkeypatch.setattr("nagaya.binaries.gobuild._PROCESSORS", processors)
    build.machine = tmp_path / "machine"
    told = {f"sys/fs/cgroup/{path}": f"{text}\n" for path, text in cgroups.items()}
    if available is not None:
        told["proc/meminfo"] = f"MemTotal: 999 kB\nMemAvailable:   {available << 10} kB\n"
        told["proc/self/cgroup"] = "9:name=systemd:/other\n4:memory:/c\n3:cpu:/\n0::/a/b\n"
    for path, text in told.items():
        (build.machine / path).parent.mkdir(parents=True, exist_ok=True)
        (build.machine / path).write_text(text)
    provide(build, work, ["kubelet"])
    assert {line for line in fake_go.saw.splitlines() if line.startswith(("GOGC=", "GOMEMLIMIT="))} == expected


def test_a_user_can_limit_the_memory_of_compilers(build: GoBuild, work: Workplace, fake_go: FakeGo) -> None:
    fake_go.environment |= {"GOGC": "100", "GOMEMLIMIT": "512MiB"}
    provide(build, work, ["kubelet"])
    assert {"GOGC=100", "GOMEMLIMIT=512MiB"} <= set(fake_go.saw.splitlines())


@pytest.mark.parametrize(
    ("processors", "user", "expected"),
    [
        (2, {}, {"GOMAXPROCS=1", "GOFLAGS=-p=2"}),
        (2, {"GOMAXPROCS": "2"}, {"GOMAXPROCS=2", "GOFLAGS="}),
        (8, {}, {"GOFLAGS="}),
    ],
)
def test_compilers_have_one_thread_each_on_a_small_machine_unless_the_user_decides(
    build: GoBuild,
    work: Workplace,
    fake_go: FakeGo,
    monkeypatch: pytest.MonkeyPatch,
    processors: int,
    user: dict[str, str],
    expected: set[str],
) -> None:
    monkeypatch.setattr("nagaya.binaries.gobuild._PROCESSORS", processors)
    fake_go.environment.update(user)
    provide(build, work, ["kubelet"])
    seen = {line for line in fake_go.saw.splitlines() if line.startswith(("GOMAXPROCS=", "GOFLAGS="))}
    assert seen == expected


def test_kine_without_a_c_compiler_says_which_package_has_one(build: GoBuild, work: Workplace, fake_go: FakeGo) -> None:
    fake_go.environment["CC"] = "no-such-compiler"
    with pytest.raises(
        SourceFailed, match=r"partly C, and there is no no-such-compiler in PATH \(Debian: apt install gcc"
    ):
        provide(build, work, ["kine"], "v0.14.10")
    assert not fake_go.calls


def test_a_manager_of_cluster_api_is_stamped_where_it_looks(build: GoBuild, work: Workplace, fake_go: FakeGo) -> None:
    [clusterctl] = provide(build, work, ["clusterctl"], "v1.14.0")
    assert version_of(clusterctl.program, clusterctl.path) == "v1.14.0"
    call = fake_go.calls[-1]
    assert "-X sigs.k8s.io/cluster-api/version.gitVersion=v1.14.0" in call
    assert "-X sigs.k8s.io/cluster-api/version.buildDate=2026-07-30T16:27:41Z" in call
    assert "component-base" not in call


def test_a_manifest_is_copied_out_of_the_module_into_one_file(build: GoBuild, work: Workplace, fake_go: FakeGo) -> None:
    fake_go.put("config/crd/bases/b.yaml", "---\nkind: B\n")
    fake_go.put("config/crd/bases/a.yaml", "kind: A")
    fake_go.put("config/webhook/manifests.yaml", "---\nkind: X\n---\nkind: Y\n")
    [manifest] = provide(build, work, ["cluster-api-core.yaml"], "v1.14.0")
    assert version_of(manifest.program, manifest.path) == "v1.14.0"
    assert manifest.origin == "copied from sigs.k8s.io/cluster-api/core@v1.14.0"
    assert list(yaml.safe_load_all(manifest.path.read_text())) == [{"kind": kind} for kind in ("A", "B", "X", "Y")]
    assert [call.split()[0] for call in fake_go.calls] == ["env", "list"]


def test_a_module_without_the_files_of_a_manifest_is_told(build: GoBuild, work: Workplace, fake_go: FakeGo) -> None:
    fake_go.put("config/crd/bases/a.yaml", "kind: A")
    with pytest.raises(SourceFailed, match=r"cluster-api/core@v1\.14\.0 has no config/webhook/manifests\.yaml"):
        provide(build, work, ["cluster-api-core.yaml"], "v1.14.0")


def test_nothing_but_what_is_pinned_is_built_and_nothing_of_the_user_changes_the_result(
    build: GoBuild, work: Workplace, fake_go: FakeGo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nagaya.binaries.gobuild._PROCESSORS", 8)  # on a small machine GOFLAGS has a number
    fake_go.environment |= {
        "GOFLAGS": "-mod=vendor",
        "GOWORK": "/somewhere/go.work",
        "GOOS": "plan9",
        "GOPROXY": "https://mine",
    }
    provide(build, work, ["kubelet"])
    assert all("-mod=readonly -trimpath -buildvcs=false" in call for call in fake_go.calls[1:])
    seen = fake_go.saw.splitlines()
    expected = {"CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOOS=linux", "GOARCH=amd64", "GOPROXY=https://mine"}
    assert expected <= set(seen)
    assert f"GOTMPDIR={work.staging}" in seen
    assert f"GOCACHE={work.build_cache}" in seen
    assert "require k8s.io/kubernetes v1.36.3" in seen


def test_the_end_to_end_tests_are_a_test_binary_whose_packages_are_compiled_before(
    build: GoBuild, work: Workplace, fake_go: FakeGo
) -> None:
    [tests] = provide(build, work, ["e2e.test"])
    assert version_of(tests.program, tests.path) == "v1.36.3"
    listing, compiling, linking = fake_go.calls[1:]
    assert "-test k8s.io/kubernetes/test/e2e" in listing
    assert compiling.startswith("build -v ")
    assert compiling.endswith("k8s.io/kubernetes/test/e2e fmt k8s.io/api/core/v1")
    assert linking.startswith("test -c ")
    assert linking.endswith("k8s.io/kubernetes/test/e2e")


def test_what_the_module_does_not_name_is_compiled_along_and_never_named_to_go(
    build: GoBuild, work: Workplace, fake_go: FakeGo
) -> None:
    provide(build, work, ["e2e.test"])
    assert not any("goleak" in call for call in fake_go.calls)


def test_all_programs_of_a_module_come_from_one_build(build: GoBuild, work: Workplace, fake_go: FakeGo) -> None:
    given = provide(build, work, ["kubelet", "kubectl", "kubeadm"])
    assert [staged.program.name for staged in given] == ["kubelet", "kubeadm", "kubectl"]
    assert [call.split()[0] for call in fake_go.calls] == ["env", "list", "build"]
    packages = [f"k8s.io/kubernetes/cmd/{name}" for name in ("kubelet", "kubeadm", "kubectl")]
    assert fake_go.calls[-1].split()[-3:] == packages


def test_programs_that_go_would_give_the_same_name_are_built_one_after_the_other(
    build: GoBuild, work: Workplace, fake_go: FakeGo
) -> None:
    names = ["cluster-api-core", "cluster-api-bootstrap-kubeadm", "cluster-api-controlplane-kubeadm"]
    given = provide(build, work, names, "v1.14.0")
    assert {staged.program.name: staged.path.name for staged in given} == dict(
        zip(names, ("core", "kubeadm", "kubeadm"), strict=True)
    )
    assert len({staged.path for staged in given}) == 3
    assert [call.split()[-1] for call in fake_go.calls if call.startswith("build")] == [
        "sigs.k8s.io/cluster-api/bootstrap/kubeadm",
        "sigs.k8s.io/cluster-api/controlplane/kubeadm",
    ]


def test_progress_counts_the_packages_that_are_compiled(
    build: GoBuild, work: Workplace, said: io.StringIO, clock: StandingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "monotonic", iter(range(0, 100_000, 20)).__next__)
    provide(build, work, ["kubelet"])
    lines = said.getvalue().splitlines()
    assert lines[0] == "Building kubernetes v1.36.3 with go1.26.8 ..."
    assert any("downloading k8s.io/api v0.36.3" in line for line in lines)
    assert any(": 1 of 2 packages (50%), kubelet," in line for line in lines)
    assert any(": 2 of 2 packages (100%), linking," in line for line in lines)
    assert ": 2 packages in" in lines[-1]


async def test_the_next_product_is_fetched_and_compiled_during_a_build(
    build: GoBuild, work: Workplace, fake_go: FakeGo
) -> None:
    etcd, kubelet = programs_named(["etcd"]), programs_named(["kubelet", "e2e.test"])
    plan = replace(work, planned=[("etcd", "v3.7.3", etcd), ("kubernetes", "v1.36.3", kubelet)])
    with closing(build.provide("etcd", "v3.7.3", etcd, plan)) as stream:
        next(stream)
        await eventually(
            lambda: any(call.startswith("list -export") and "cmd/kubelet" in call for call in fake_go.calls)
        )
    fetched = len(fake_go.calls)
    list(build.provide("kubernetes", "v1.36.3", kubelet[:1], plan))
    assert [call.split()[0] for call in fake_go.calls[fetched:]] == [
        "env",
        "list",
        "build",
    ]  # and nothing after the last


async def test_a_failed_fetch_of_the_next_product_fails_no_build(
    build: GoBuild, work: Workplace, fake_go: FakeGo
) -> None:
    etcd, kine = programs_named(["etcd"]), programs_named(["kine"])
    fake_go.environment["CC"] = "no-such-compiler"
    for following in (("kine", "v0.14.10", kine), ("kine", "v0.0.1", kine)):
        assert list(build.provide("etcd", "v3.7.3", etcd, replace(work, planned=[("etcd", "v3.7.3", etcd), following])))


def test_a_machine_without_go_is_told(reporter: PlainReporter, work: Workplace, tmp_path: Path) -> None:
    build = GoBuild(LINUX, reporter, {"PATH": str(tmp_path)}, usual_place=tmp_path / "go")
    with pytest.raises(SourceFailed, match="Go is not installed: no `go` in PATH"):
        provide(build, work, ["kubelet"])


def test_go_is_found_in_its_usual_place_too(
    fake_go: FakeGo, reporter: PlainReporter, work: Workplace, tmp_path: Path
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("cat", "chmod", "env", "sed"):
        found = shutil.which(name)
        assert found is not None
        (tools / name).symlink_to(found)
    environment = {**fake_go.environment, "PATH": str(tools)}
    build = GoBuild(LINUX, reporter, environment, usual_place=tmp_path / "bin" / "go")
    assert [staged.program.name for staged in provide(build, work, ["kubelet"])] == ["kubelet"]


def test_an_old_go_is_quoted(build: GoBuild, work: Workplace, fake_go: FakeGo) -> None:
    fake_go.environment["FAKE_GO_TOO_OLD"] = "1"
    with pytest.raises(SourceFailed, match=r"cannot build it: go: go\.mod requires go >= 1\.26\.0 \(running"):
        provide(build, work, ["kubelet"])


def test_a_proxy_that_cannot_be_reached_is_quoted(build: GoBuild, work: Workplace, fake_go: FakeGo) -> None:
    fake_go.environment["FAKE_GO_NO_PROXY"] = "1"
    with pytest.raises(SourceFailed, match=r"`go list` failed: go: k8s\.io/api: dial tcp: no such host"):
        provide(build, work, ["kubelet"])


def test_a_failed_build_is_quoted_and_its_words_are_kept(build: GoBuild, work: Workplace, fake_go: FakeGo) -> None:
    fake_go.environment["FAKE_GO_BROKEN"] = "1"
    log = work.logs / "kubernetes-v1.36.3-build.log"
    with pytest.raises(SourceFailed, match=rf"`go build` failed: types\.go:1:1: syntax error \(all of it: {log}\)"):
        provide(build, work, ["kubelet"])
    assert "# k8s.io/api/core/v1" in log.read_text()


def test_a_version_that_is_not_pinned_is_told_with_those_that_are(build: GoBuild, work: Workplace) -> None:
    with pytest.raises(SourceFailed, match=r"v1\.20\.0 is not among .* \(v1\.35\.4, v1\.36\.3, v1\.37\.1\)"):
        provide(build, work, ["kubelet"], "v1.20.0")


def test_an_interrupt_ends_the_build(
    build: GoBuild, work: Workplace, fake_go: FakeGo, clock: StandingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_go.environment["FAKE_GO_SLEEP"] = "60"

    def interrupt() -> float:
        if fake_go.pid_file.exists() and fake_go.pid_file.read_text():
            raise KeyboardInterrupt
        return 0.0

    monkeypatch.setattr(clock, "monotonic", interrupt)
    monkeypatch.setattr("nagaya.binaries.child._TICK", 0.02)
    with pytest.raises(KeyboardInterrupt):
        provide(build, work, ["kubelet"])
    pid = int(fake_go.pid_file.read_text())
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        threading.Event().wait(0.01)
    assert not Path(f"/proc/{pid}").exists()
    assert not list(work.staging.rglob("kubelet"))
