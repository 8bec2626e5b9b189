"""Hosted control planes that move to another management API, and back, while their programs go on.

The embedded API of `nagaya up` and a real Kubernetes, one after the other: whoever has the folder of the tenants has
their programs, and nobody begins anything in their place.
"""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from socket import gethostname
from typing import Any, cast

import pytest

from support.controllers_process import PATIENCE, RUNNING, Controllers
from support.hosting import PROGRAMS, Hosting, Load, Tenant, end_tenants, eventually, manifests
from support.ports import loopback_network
from support.real import CONTROLLERS, RealControlPlane, installed_binaries
from support.running_server import NAGAYA, RunningServer

pytestmark = pytest.mark.long("moves running control planes to a real API server and back")

STORE = """
apiVersion: controlplane.cluster.x-k8s.io/v1alpha1
kind: DataStore
metadata: {name: files}
spec: {driver: SQLite}
"""
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


@functools.cache
def own_address() -> str:
    """Where tenants listen: at an address of this test's own, because all Nagayas choose from the same ports."""
    return f"--tenants-address={loopback_network()}.1"


class Elsewhere(Controllers):
    """A running `nagaya up --kubeconfig`."""

    command = ("up",)


@pytest.fixture
def source() -> Iterator[RunningServer]:
    installed_binaries(PROGRAMS)
    with RunningServer([own_address()], controllers=True) as server:
        try:
            yield server
        finally:
            server.kill()
            end_tenants(server.data_dir / "hosted")


@contextmanager
def taken_over(target: Path, folder: Path) -> Iterator[Elsewhere]:
    """The controllers of another API, with this folder."""
    with Elsewhere(target, own_address(), f"--data-dir={folder}") as controllers:
        controllers.says(RUNNING)
        yield controllers
        controllers.stop()


def move(source: Path, target: Path, *more: str) -> str:
    command = [NAGAYA, "move", f"--kubeconfig={source}", f"--to-kubeconfig={target}", "-A", *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def programs(hosting: Hosting, ids: dict[str, str]) -> dict[str, dict[str, int]]:
    return {name: hosting.processes(id) for name, id in ids.items()}


def is_settled(hosting: Hosting, name: str) -> bool:
    return hosting.holds(name, "ComponentsReady") and hosting.holds(name, "TenantConfigured")


def leave_a_note(tenant: Tenant) -> None:
    status, words = tenant.ask("POST", CONFIG_MAPS, {"metadata": {"name": "note"}, "data": {"by": tenant.name}})
    assert status == 201, words


def has_the_note(tenant: Tenant) -> bool:
    status, words = tenant.ask("GET", f"{CONFIG_MAPS}/note")
    return status == 200 and f'"by":"{tenant.name}"' in words


def test_programs_go_on_while_their_control_planes_move_to_a_real_kubernetes_and_back(
    source: RunningServer, tmp_path: Path
) -> None:
    folder = source.data_dir
    # Where `nagaya up` puts it by itself, so that the move sees whose folder it is in.
    kubeconfig = folder / "kubeconfig"
    kubeconfig.symlink_to(source.kubeconfig)
    at_home = Hosting(source, folder)
    at_home.apply(STORE)
    at_home.apply(manifests("one"))
    at_home.apply(manifests("two", dataStoreRef={"name": "files"}))
    with RealControlPlane(installed_binaries(), controllers=CONTROLLERS) as real:
        away = Hosting(cast("RunningServer", real), folder)
        tenants = {name: at_home.tenant(name) for name in ("one", "two")}
        for name, each in tenants.items():
            eventually(partial(is_settled, at_home, name), f"control plane {name}")
            leave_a_note(each)
        store = at_home.kubectl("get", "datastore", "default", "-o", "jsonpath={.metadata.uid}")
        ids = {**{name: each.uid for name, each in tenants.items()}, "etcd": store}
        before = programs(at_home, ids)
        assert {name: len(each) for name, each in before.items()} == {"one": 3, "two": 4, "etcd": 1}

        def as_before(hosting: Hosting) -> None:
            assert programs(hosting, ids) == before
            assert all(has_the_note(each) for each in tenants.values())

        with taken_over(real.kubeconfig, tmp_path):
            # Controllers of the target that run elsewhere find nothing of it, and begin nothing.
            said = move(kubeconfig, real.kubeconfig, "--yes")
            assert f"nagaya up --kubeconfig {real.kubeconfig} --data-dir {folder}" in " ".join(said.split())
            told = eventually(lambda: _available(away, "one", "DataElsewhere"), "that the data is elsewhere")
            assert f"They were in {folder}/hosted of {gethostname()}" in told["message"]
            assert not (tmp_path / "hosted" / "tenants").exists()
            store_told = away.kubectl("get", "datastore", "files", "-o", "jsonpath={.status.conditions[*].reason}")
            assert "DataElsewhere" in store_told
        assert away.plane("one")["spec"]["tenantID"] == ids["one"] != away.plane("one")["metadata"]["uid"]
        assert at_home.kubectl("get", "hcp,clusters,datastores,secrets", "-A", "-o", "name").strip() == ""
        as_before(away)

        with taken_over(real.kubeconfig, folder):
            # Nobody gets the folder as long as somebody has it.
            told = eventually(lambda: _available(away, "one", "FolderInUse"), "that the folder is in use")
            assert f"process {source.pid}" in told["message"]
            with Load(tenants["one"].ask) as load:
                source.stop()
                for name in tenants:
                    eventually(partial(is_settled, away, name), f"control plane {name}")
            assert load.failed == []
            assert load.succeeded > 0
            as_before(away)

            # Who only says that a tenant is its own gets nothing of it, and takes nothing with it.
            away.apply(manifests("thief", tenantID=ids["one"]))
            told = eventually(lambda: _available(away, "thief", "NotOwner"), "that it is somebody else's")
            assert "belongs to default/one" in told["message"]
            away.kubectl("delete", "cluster", "thief", "--wait=true")
            assert "thief" not in away.kubectl("get", "hcp", "-o", "name")
            as_before(away)

            away.kubectl("delete", "cluster", "two", "--wait=true")
            assert programs(away, ids)["two"] == {}
            assert not (folder / "hosted" / "tenants" / ids["two"]).exists()
            source.start()
            move(real.kubeconfig, source.kubeconfig, "--yes")
        eventually(lambda: is_settled(at_home, "one"), "control plane one, at home again")
        assert programs(at_home, ids) == {**before, "two": {}}
        assert has_the_note(tenants["one"])
        assert at_home.plane("one")["spec"]["tenantID"] == ids["one"]

        at_home.kubectl("delete", "cluster", "one", "--wait=true")
        at_home.kubectl("delete", "datastores", "--all", "--wait=true")
        assert programs(at_home, ids) == {"one": {}, "two": {}, "etcd": {}}
        assert [*(folder / "hosted" / "tenants").iterdir()] == []
        # What the move left: a store that only the second one had.
        assert {each.name for each in (folder / "hosted" / "stores").iterdir()} == {_files(away)}


def _available(hosting: Hosting, name: str, reason: str) -> dict[str, Any]:
    told = hosting.condition(name, "Available")
    return told if told.get("reason") == reason else {}


def _files(hosting: Hosting) -> str:
    return hosting.kubectl("get", "datastore", "files", "-o", "jsonpath={.spec.storeID}")
