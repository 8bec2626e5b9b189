from __future__ import annotations

import pytest

from nagaya.binaries.errors import UnknownRequest
from nagaya.binaries.programs import CONTROL_PLANE, EXTRAS, STANDARD, names_of, programs_named


def test_the_standard_programs_are_those_of_a_control_plane_and_its_nodes() -> None:
    assert set(STANDARD) == {
        *("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"),
        *("kubelet", "kubeadm", "kube-proxy", "kubectl"),
    }


def test_what_only_tests_need_is_provided_on_request() -> None:
    assert EXTRAS["e2e"] == ("e2e.test",)
    parts = ("core", "bootstrap-kubeadm", "controlplane-kubeadm", "infrastructure-docker")
    managers = [f"cluster-api-{part}" for part in parts]
    assert set(EXTRAS["cluster-api"]) == {"clusterctl", *managers, *(f"{name}.yaml" for name in managers)}


def test_a_manager_is_asked_for_its_version_without_a_cluster() -> None:
    [manager] = programs_named(["cluster-api-core"])
    assert manager.version_arguments == ("--kubeconfig=/dev/null",)


def test_a_program_that_is_asked_for_twice_is_provided_once() -> None:
    assert [program.name for program in programs_named(["kubelet", "etcd", "kubelet"])] == ["etcd", "kubelet"]


def test_the_end_to_end_tests_come_last_because_they_take_longest() -> None:
    assert programs_named(["e2e.test", *STANDARD])[-1].name == "e2e.test"


def test_an_unknown_program_is_refused_with_the_names_that_exist() -> None:
    with pytest.raises(UnknownRequest, match=r"no such program: kubelett\. There are: .*kubelet"):
        programs_named(["etcd", "kubelett"])


def test_words_of_a_command_line_are_programs_or_groups_of_them_with_commas_between() -> None:
    assert names_of(["kine,konnectivity", "e2e"]) == ["kine", "konnectivity-server", "konnectivity-agent", "e2e.test"]
    assert names_of(["control-plane, etcd"]) == [*CONTROL_PLANE, "etcd"]
    assert names_of([]) == names_of([","]) == []


def test_a_word_that_names_nothing_is_refused_with_those_that_do() -> None:
    with pytest.raises(UnknownRequest, match=r"nothing is called kino\. There are: control-plane, .*kine"):
        names_of(["kino,kine"])
