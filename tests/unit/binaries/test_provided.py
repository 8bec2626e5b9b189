from __future__ import annotations

from pathlib import Path

import pytest

from nagaya.binaries.errors import ProvidedMismatch
from nagaya.binaries.programs import STANDARD, programs_named
from nagaya.binaries.provided import provided_programs
from nagaya.binaries.releases import Release
from support.fake_site import program_telling, put_program, script

RELEASE = Release.parse("v1.36.3")
PROGRAMS = programs_named(STANDARD)


def test_programs_in_the_folder_are_found_with_their_versions(tmp_path: Path) -> None:
    put_program(tmp_path / "kubelet", program_telling("v1.36.3"))
    put_program(tmp_path / "etcd", script("echo etcd Version: 3.6.8"))
    assert provided_programs(tmp_path, RELEASE, PROGRAMS) == {
        "kubelet": (tmp_path / "kubelet", "v1.36.3"),
        "etcd": (tmp_path / "etcd", "v3.6.8"),
    }


def test_each_product_is_held_to_its_own_version(tmp_path: Path) -> None:
    put_program(tmp_path / "clusterctl", script("echo v1.14.0"))
    programs = programs_named(["clusterctl"])
    assert provided_programs(tmp_path, RELEASE, programs) == {"clusterctl": (tmp_path / "clusterctl", "v1.14.0")}
    put_program(tmp_path / "clusterctl", script("echo v1.36.3"))
    with pytest.raises(ProvidedMismatch, match=r"clusterctl is v1\.36\.3, not v1\.14\.0"):
        provided_programs(tmp_path, RELEASE, programs)


def test_build_metadata_of_a_distribution_does_not_matter(tmp_path: Path) -> None:
    put_program(tmp_path / "kubelet", program_telling("v1.36.3+k3s1"))
    assert provided_programs(tmp_path, RELEASE, PROGRAMS)["kubelet"][1] == "v1.36.3"


def test_every_program_that_does_not_fit_is_named_with_what_to_do(tmp_path: Path) -> None:
    put_program(tmp_path / "kubelet", program_telling("v1.35.4"))
    put_program(tmp_path / "kubectl", script("exit 1"))
    put_program(tmp_path / "kubeadm", program_telling("v1.36.3"))
    put_program(tmp_path / "etcd", script("echo etcd Version: 3.5.1"))
    with pytest.raises(ProvidedMismatch) as caught:
        provided_programs(tmp_path, RELEASE, PROGRAMS)
    message = str(caught.value)
    assert f"NAGAYA_KUBERNETES_BIN names {tmp_path}" in message
    assert "kubelet is v1.35.4, not v1.36.3" in message
    assert "kubectl ended with code 1" in message
    assert "etcd is v3.5.1, older than v3.5.24, which Kubernetes needs" in message
    assert "kubeadm" not in message
    assert "unset NAGAYA_KUBERNETES_BIN" in message


def test_a_folder_that_is_none_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ProvidedMismatch, match="which is not a folder"):
        provided_programs(tmp_path / "missing", RELEASE, PROGRAMS)


def test_a_program_that_may_not_be_run_is_told(tmp_path: Path) -> None:
    (tmp_path / "kubelet").write_bytes(program_telling("v1.36.3"))
    with pytest.raises(ProvidedMismatch, match="kubelet does not run: Permission denied"):
        provided_programs(tmp_path, RELEASE, PROGRAMS)
