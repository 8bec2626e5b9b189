from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from nagaya.binaries.errors import SourceFailed
from nagaya.binaries.programs import programs_named
from nagaya.binaries.version_check import expect_version, version_of
from support.fake_site import program_telling, put_program, script

[KUBELET] = programs_named(["kubelet"])
[KUBECTL] = programs_named(["kubectl"])
[SERVER] = programs_named(["konnectivity-server"])
[MANAGER, MANIFEST] = programs_named(["cluster-api-core", "cluster-api-core.yaml"])


def test_a_program_tells_its_version(tmp_path: Path) -> None:
    path = put_program(tmp_path / "kubelet", program_telling("v1.36.3"))
    assert version_of(KUBELET, path) == "v1.36.3"
    expect_version(KUBELET, path, "v1.36.3")


def test_each_program_is_asked_in_the_way_it_understands(tmp_path: Path) -> None:
    path = put_program(tmp_path / "kubectl", script('[ "$*" = "version --client" ] && echo Client Version: v1.36.3'))
    assert version_of(KUBECTL, path) == "v1.36.3"


def test_a_broken_kubeconfig_of_the_user_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/does/not/exist")
    path = put_program(tmp_path / "kubectl", script('[ "$KUBECONFIG" = /dev/null ] && echo v1.36.3'))
    assert version_of(KUBECTL, path) == "v1.36.3"


def test_a_manager_tells_its_version_as_it_starts_and_then_stops(tmp_path: Path) -> None:
    words = script(
        """[ "$*" = "--kubeconfig=/dev/null" ] || exit 9
        echo 'I1116 main.go:99] "FLAG: --bind=10.0.0.1"' >&2
        echo 'I1116 main.go:328] "setup: Version: v1.14.0 (git commit: )"' >&2
        echo 'E1116 main.go:330] "Unable to get kubeconfig" v9.9.9' >&2
        exit 1"""
    )
    assert version_of(MANAGER, put_program(tmp_path / "cluster-api-core", words)) == "v1.14.0"


def test_a_manager_that_does_not_get_so_far_is_refused(tmp_path: Path) -> None:
    path = put_program(tmp_path / "cluster-api-core", script("echo panic: 1.2.3 >&2; exit 2"))
    with pytest.raises(SourceFailed, match="told no version"):
        version_of(MANAGER, path)


@pytest.mark.parametrize("word", ["dep", "mod"])
def test_a_program_that_tells_nothing_is_known_by_what_it_was_built_from(tmp_path: Path, word: str) -> None:
    record = f"dep\tk8s.io/api\tv0.36.1\th1:x=\n{word}\tsigs.k8s.io/apiserver-network-proxy\tv0.36.0\th1:y=\n"
    words = script(f'[ "$*" = --help ] && exit 0\nexit 2\n#\n{record}')
    assert version_of(SERVER, put_program(tmp_path / "konnectivity-server", words)) == "v0.36.0"


@pytest.mark.parametrize(
    "words",
    [
        "exit 0",
        "exit 0\n#\ndep\tk8s.io/api\tv0.36.1\n",
        "exit 0\n#\nmod\tsigs.k8s.io/apiserver-network-proxy\t(devel)\t\n",
    ],
)
def test_one_that_was_built_from_nobody_knows_what_is_refused(tmp_path: Path, words: str) -> None:
    with pytest.raises(SourceFailed, match="told no version"):
        version_of(SERVER, put_program(tmp_path / "konnectivity-server", script(words)))


def test_a_manifest_tells_its_version_in_its_first_line(tmp_path: Path) -> None:
    path = tmp_path / "cluster-api-core.yaml"
    path.write_text("# sigs.k8s.io/cluster-api/core v1.14.0\n---\nkind: CustomResourceDefinition\n")
    assert version_of(MANIFEST, path) == "v1.14.0"


@pytest.mark.parametrize("contents", ["", "---\n# v1.14.0\n", "apiVersion: v1.14.0\n"])
def test_a_manifest_that_tells_no_version_is_refused(tmp_path: Path, contents: str) -> None:
    path = tmp_path / "cluster-api-core.yaml"
    path.write_text(contents)
    with pytest.raises(SourceFailed, match="tells no version in its first line"):
        version_of(MANIFEST, path)


def test_a_manifest_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceFailed, match="cannot be read: No such file"):
        version_of(MANIFEST, tmp_path / "cluster-api-core.yaml")


def test_another_version_is_refused(tmp_path: Path) -> None:
    path = put_program(tmp_path / "kubelet", program_telling("v1.35.4"))
    with pytest.raises(SourceFailed, match=r"kubelet is v1\.35\.4, not v1\.36\.3"):
        expect_version(KUBELET, path, "v1.36.3")


def test_a_file_that_does_not_run_is_refused(tmp_path: Path) -> None:
    path = put_program(tmp_path / "kubelet", b"\x7fELF but not really")
    with pytest.raises(SourceFailed, match="does not run: Exec format error"):
        version_of(KUBELET, path)


def test_a_program_that_fails_is_quoted(tmp_path: Path) -> None:
    path = put_program(tmp_path / "kubelet", script("echo starting >&2; echo missing library >&2; exit 3"))
    with pytest.raises(SourceFailed, match="ended with code 3 when asked for its version: missing library"):
        version_of(KUBELET, path)


def test_a_program_that_tells_no_version_is_refused(tmp_path: Path) -> None:
    path = put_program(tmp_path / "kubelet", script("echo hello"))
    with pytest.raises(SourceFailed, match="told no version but 'hello'"):
        version_of(KUBELET, path)


def test_a_program_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nagaya.binaries.version_check._PATIENCE", 0.1)
    path = put_program(tmp_path / "kubelet", script("exec sleep 60"))
    with pytest.raises(SourceFailed, match="did not tell its version within"):
        version_of(KUBELET, path)
    assert subprocess.run(["pgrep", "-f", str(path)], capture_output=True).stdout == b""
