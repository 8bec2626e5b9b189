"""What a restore would do, and what it refuses."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from nagaya.api.cluster.annotations import PAUSED
from nagaya.controlplane.hosted.archive.found import Found, Mark
from nagaya.controlplane.hosted.archive.objects import RESTORING, Names
from nagaya.controlplane.hosted.archive.plan import Asked, Plan, Way, plan
from support.tenant_archives import (
    NAMES,
    OTHER_UID,
    cluster,
    contents,
    control_plane,
    data_store,
    found,
    head,
    secret,
)

FORK = Names("team", "trial", "trial")


def asked(names: Names = NAMES, **options: Any) -> Asked:
    return Asked(names, **options)


def marked(archive: str, replicas: int = 2, *, paused: bool = True) -> dict[str, str]:
    mark = msgspec.json.encode(Mark(archive, replicas)).decode()
    return {RESTORING: mark, **({PAUSED: ""} if paused else {})}


def test_a_lost_tenant_is_made_anew() -> None:
    planned = plan(contents(), asked(), found())

    assert planned.way is Way.MAKE
    assert planned.refused == ""
    assert planned.cluster is not None
    assert planned.control_plane is not None
    assert set(planned.secrets) == {"shop-ca", "shop-proxy", "shop-sa"}
    assert planned.replicas == 2
    assert planned.warnings == ()
    assert planned.steps == (
        "Make HostedControlPlane team/shop-plane, paused, so that nothing is started before its data is there.",
        "Put 3 keys of revision 41, taken 2030-01-02T03:04:05+00:00 from team/shop, into DataStore default.",
        "Make Secret team/shop-ca.",
        "Make Secret team/shop-proxy.",
        "Make Secret team/shop-sa.",
        "Make Cluster team/shop.",
        "Let HostedControlPlane team/shop-plane go on, with 2 replicas.",
    )


def test_what_is_left_of_a_lost_tenant_is_used() -> None:
    planned = plan(contents(), asked(), found(owner=cluster(), secrets=[secret("shop-ca")]))

    assert planned.cluster is None
    assert set(planned.secrets) == {"shop-proxy", "shop-sa"}


def test_another_name_gives_a_tenant_of_its_own() -> None:
    planned = plan(contents(), asked(FORK), found(FORK))

    assert planned.cluster is not None
    assert planned.cluster["metadata"]["name"] == "trial"
    assert set(planned.secrets) == {"trial-ca", "trial-proxy", "trial-sa"}
    [warning] = planned.warnings
    assert "shares the authorities of team/shop" in warning


def test_a_tenant_that_is_there_is_replaced_only_by_force() -> None:
    there = found(plane=control_plane(uid=OTHER_UID), owner=cluster(), secrets=[secret("shop-ca", "Qg==")])
    assert "say --force" in plan(contents(), asked(), there).refused

    planned = plan(contents(), asked(force=True), there)
    assert planned.way is Way.REPLACE
    assert planned.control_plane is None
    assert planned.cluster is None
    assert planned.steps[:3] == (
        "Stop all programs of HostedControlPlane team/shop-plane, and pause it. Its API is away until the end.",
        "Copy the data that it has now into an archive beside this one.",
        "Put 3 keys of revision 41, taken 2030-01-02T03:04:05+00:00 from team/shop, into DataStore default, in place "
        "of what is there.",
    )
    assert "Replace Secret team/shop-ca." in planned.steps


def test_a_restore_that_was_interrupted_goes_on_without_force() -> None:
    there = found(plane=control_plane(annotations=marked("abc", 3), replicas=0), secrets=[secret("shop-ca", "Qg==")])
    planned = plan(contents(), asked(), there)

    assert planned.refused == ""
    assert planned.way is Way.CONTINUE
    assert planned.replicas == 3
    assert planned.cluster is not None


def test_a_restore_of_another_archive_is_not_taken_for_this_one() -> None:
    there = found(plane=control_plane(annotations=marked("another", 3), replicas=0), owner=cluster())

    assert "say --force" in plan(contents(), asked(), there).refused
    planned = plan(contents(), asked(force=True), there)
    assert planned.way is Way.REPLACE
    assert planned.replicas == 3


def test_an_annotation_that_says_nothing_is_not_believed() -> None:
    there = found(plane=control_plane(annotations={RESTORING: "?"}))
    assert there.mark == Mark("", 1)
    assert plan(contents(), asked(), there).way is Way.REPLACE


def _deleting(content: dict[str, Any]) -> dict[str, Any]:
    content["metadata"]["deletionTimestamp"] = "2030-01-01T00:00:00Z"
    return content


@pytest.mark.parametrize(
    ("there", "options", "sentence"),
    [
        (
            found(plane=_deleting(control_plane())),
            {"force": True},
            "HostedControlPlane team/shop-plane is being deleted",
        ),
        (found(owner=_deleting(cluster())), {}, "Cluster team/shop is being deleted"),
        (
            found(owner=cluster(controlPlaneRef={"kind": "KubeadmControlPlane", "name": "x"})),
            {},
            "KubeadmControlPlane x",
        ),
        (found(plane=control_plane()), {"force": True, "data_store": "second"}, "that cannot change"),
        (found(plane=control_plane(annotations={PAUSED: ""})), {"force": True}, "is paused"),
        (found(plane=control_plane(), owner=cluster(paused=True)), {"force": True}, "is paused"),
        (found(plane=control_plane(tenantID=OTHER_UID)), {"force": True}, "nobody has taken over its programs"),
        (found(plane=control_plane(version="v1.35.4")), {"force": True}, "Upgrade it first"),
        (found(secrets=[secret("shop-ca", "Qg==")]), {}, "holds another authority"),
        (Found(NAMES), {"data_store": "second"}, "There is no DataStore second"),
    ],
)
def test_what_would_do_harm_is_refused_with_the_reason(there: Found, options: dict[str, Any], sentence: str) -> None:
    assert sentence in plan(contents(), asked(**options), there).refused


def test_the_default_store_is_made_where_there_is_none() -> None:
    planned = plan(contents(), asked(), Found(NAMES))
    assert planned.refused == ""
    assert "Make DataStore default, an etcd that Nagaya starts itself." in planned.steps


def test_a_users_secret_is_never_replaced() -> None:
    named = {"encryption": {"configSecretRef": {"name": "encryption"}}}
    archive = contents(secrets=("shop-ca", "encryption"), control_plane=control_plane(apiServer=named))
    there = found(secrets=[secret("encryption", "Qg==")])
    assert "Secret team/encryption is another than in the archive" in plan(archive, asked(force=True), there).refused


@pytest.mark.parametrize(
    ("archived", "driver", "uid", "warned"),
    [
        ("etcd", "etcd", OTHER_UID, True),
        ("etcd", "etcd", "", False),
        ("etcd", "SQLite", OTHER_UID, True),
        ("SQLite", "PostgreSQL", OTHER_UID, False),
        ("SQLite", "etcd", OTHER_UID, True),
    ],
)
def test_encrypted_data_under_other_keys_is_warned_about(archived: str, driver: str, uid: str, warned: bool) -> None:
    archive = contents(head=head(encrypted=True, driver=archived))
    plane = control_plane(uid=uid) if uid else control_plane()
    planned: Plan = plan(archive, asked(force=True), found(plane=plane, store=data_store(driver=driver)))
    assert any("aesgcm" in each for each in planned.warnings) is warned


def test_what_the_cluster_refers_to_is_named() -> None:
    group = "infrastructure.cluster.x-k8s.io"
    archive = contents(
        cluster=cluster(infrastructureRef={"apiGroup": group, "kind": "SimulatedCluster", "name": "shop"})
    )
    [warning] = plan(archive, asked(), found()).warnings
    assert "SimulatedCluster shop, which is not in the archive" in warning
