"""Which set-up the objects within a tenant are asked to have."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from nagaya.controlplane.hosted.control_plane.apply import Apply
from nagaya.controlplane.hosted.host.tenant_folder import Started
from nagaya.kube.key import Key
from support.hosted_seen import UID, Tenant
from support.setup_keeper import Keeper


async def test_nodes_get_the_version_of_the_oldest_api_server_and_the_declared_one_while_none_runs(
    tmp_path: Path,
) -> None:
    tenant, keeper, wanted = Tenant(tmp_path), Keeper(), list[Key]()
    remotes = SimpleNamespace(want=wanted.append, get=lambda _: "connected")
    observer: Any = SimpleNamespace(rt=SimpleNamespace(remotes=remotes))
    apply = Apply(observer, cast(Any, None), cast(Any, None), cast(Any, keeper))
    tenant.write_files()
    for versions in (
        {"kube-apiserver-0": "v1.36.3", "kube-apiserver-1": "v1.35.4", "kube-scheduler": "v1.34.9"},
        {"kube-apiserver-0": "v1.36.3", "kube-apiserver-1": "v1.36.3", "kube-scheduler": "v1.35.4"},
        {"kube-scheduler": "v1.35.4"},
        {},
    ):
        tenant.started = {f"{UID}.{name}": Started("", version) for name, version in versions.items()}
        await apply.set_up(tenant.seen())
    assert [setup.version for setup in keeper.asked] == ["v1.35.4", "v1.36.3", "v1.36.3", "v1.36.3"]
    assert set(wanted) == {Key("default", "one")}
