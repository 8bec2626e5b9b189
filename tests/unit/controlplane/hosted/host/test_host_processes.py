from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nagaya.controlplane.hosted.components.arguments import values
from nagaya.controlplane.hosted.control_plane.plan import Run
from nagaya.controlplane.hosted.host.processes import Tenancy, balancer_file, digest, processes
from nagaya.controlplane.hosted.host.roll import Role, Wanted
from support.hosted_seen import UID, Tenant


def tenancy(tmp_path: Path, **spec: Any) -> Tenancy:
    tenant = Tenant(tmp_path, spec)
    tenant.write_files()
    [run] = [each for each in tenant.plan().actions if isinstance(each, Run)]
    return run.tenancy


def by_name(found: list[Wanted]) -> dict[str, Wanted]:
    return {each.name.partition(".")[2]: each for each in found}


def value(wanted: Wanted, name: str) -> str:
    [found] = values(wanted.spec.command, name)
    return found


def test_one_api_server_listens_where_clients_reach_it(tmp_path: Path) -> None:
    found = by_name(processes(tenancy(tmp_path)))

    assert set(found) == {"kube-apiserver-0", "kube-controller-manager", "kube-scheduler"}
    server = found["kube-apiserver-0"]
    assert (value(server, "bind-address"), value(server, "secure-port")) == ("192.0.2.2", "16443")
    assert value(server, "etcd-prefix") == f"/{UID}"
    assert value(server, "enable-admission-plugins") == "NodeRestriction"
    assert value(found["kube-scheduler"], "leader-elect") == "false"


def test_several_are_behind_a_balancer_at_the_same_port(tmp_path: Path) -> None:
    whole = tenancy(tmp_path, replicas=3)
    found = by_name(processes(whole))

    addresses = [value(found[f"kube-apiserver-{index}"], "bind-address") for index in range(3)]
    assert addresses == ["127.64.1.2", "127.64.1.3", "127.64.1.4"]
    assert {value(found[f"kube-apiserver-{index}"], "secure-port") for index in range(3)} == {"16443"}
    assert value(found["kube-apiserver-1"], "advertise-address") == "192.0.2.2"
    assert not [*values(found["kube-apiserver-1"].spec.command, "shutdown-send-retry-after")]
    assert found["balancer"].spec.command[-3:-1] == ("192.0.2.2", "16443")
    names = [each.name for each in processes(whole)]
    assert balancer_file(whole, names).backends == tuple((each, 16443) for each in addresses)
    assert sum(each.role is Role.CONTROLLER for each in processes(whole)) == 2
    assert {each.started.listens for each in processes(whole)} == {"192.0.2.2:16443", ""}


def test_limits_of_memory_are_handed_on(tmp_path: Path) -> None:
    limits = {"resources": {"limits": {"memory": "512Mi"}}}
    found = by_name(processes(tenancy(tmp_path, scheduler=limits)))

    assert found["kube-scheduler"].spec.limits.memory == 512 << 20
    assert found["kube-scheduler"].spec.environment == {"GOMEMLIMIT": str(int((512 << 20) * 0.9))}
    assert found["kube-apiserver-0"].spec.limits.memory is None
    assert found["kube-apiserver-0"].spec.environment == {}


def test_another_version_is_another_process_even_at_the_same_path(tmp_path: Path) -> None:
    new = by_name(processes(tenancy(tmp_path)))
    old = by_name(processes(tenancy(tmp_path, version="v1.35.4")))

    assert all(new[name].spec.digest != old[name].spec.digest for name in new)


def test_no_secret_is_on_a_command_line(tmp_path: Path) -> None:
    for each in processes(tenancy(tmp_path, replicas=2)):
        assert "PRIVATE" not in " ".join(each.spec.command)


@pytest.mark.parametrize("other", [{"a": b"y"}, {"b": b"x"}, {"a": b"x", "b": b""}, {"ax": b""}])
def test_a_digest_tells_contents_apart(other: dict[str, bytes]) -> None:
    assert digest({"a": b"x"}) != digest(other)


def isolated(tmp_path: Path, **spec: Any) -> dict[str, Wanted]:
    whole = tenancy(tmp_path, **spec)
    folder = replace(whole.folder, user=200_001)
    return by_name(processes(replace(whole, folder=folder)))


def test_programs_run_as_the_user_of_their_tenant(tmp_path: Path) -> None:
    found = isolated(tmp_path, replicas=2)
    users = {name: None if (each := wanted.spec.confinement) is None else each.user for name, wanted in found.items()}
    assert set(users.values()) == {200_001}
    balancer, server = found["balancer"].spec.confinement, found["kube-apiserver-0"].spec.confinement
    assert balancer is not None
    assert server is not None
    assert tmp_path / UID / "balancer" in balancer.folders
    assert not any("pki" in each.parts or each == tmp_path / UID for each in balancer.folders)
    assert server.folders == (tmp_path / UID,)
    assert not server.low_ports


def test_only_what_is_declared_to_listen_below_1024_may(tmp_path: Path) -> None:
    whole = tenancy(tmp_path)
    facts = replace(whole.facts, serving=replace(whole.facts.serving, port=443))
    folder = replace(whole.folder, user=200_001)
    found = by_name(processes(replace(whole, facts=facts, folder=folder)))
    low = {name for name, each in found.items() if each.spec.confinement and each.spec.confinement.low_ports}
    assert low == {"kube-apiserver-0"}


def test_without_users_nothing_changes_for_programs_that_run(tmp_path: Path) -> None:
    before = by_name(processes(tenancy(tmp_path)))["kube-scheduler"].spec
    assert before.confinement is None
    assert replace(before, limits=replace(before.limits, file_size=1)).digest == before.digest
    assert isolated(tmp_path)["kube-scheduler"].spec.digest != before.digest


def test_limits_of_processors_and_files_are_handed_on(tmp_path: Path) -> None:
    scheduler = {"resources": {"limits": {"cpu": "250m"}}}
    found = by_name(processes(tenancy(tmp_path, scheduler=scheduler, apiServer={"audit": {"maxSizeMegabytes": 2000}})))
    assert found["kube-scheduler"].spec.limits.cpu == 0.25
    assert found["kube-scheduler"].spec.limits.file_size == 1 << 30
    assert found["kube-apiserver-0"].spec.limits.cpu is None
    assert found["kube-apiserver-0"].spec.limits.file_size == 2001 << 20
