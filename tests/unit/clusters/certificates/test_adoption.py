from __future__ import annotations

import msgspec

from nagaya.api.cluster.secrets import TYPE
from nagaya.api.meta import OwnerReference
from nagaya.clusters.certificates.adoption import adopted, manages
from support.certificates import CONTROL_PLANE

CONFIG = OwnerReference(
    api_version="bootstrap.cluster.x-k8s.io/v1beta2", kind="KubeadmConfig", name="a", uid="1", controller=True
)
CLUSTER = OwnerReference(api_version="cluster.x-k8s.io/v1beta2", kind="Cluster", name="harbour", uid="2")
MOVED = msgspec.structs.replace(CONTROL_PLANE, uid="another", api_version="controlplane.cluster.x-k8s.io/v1beta1")


def test_what_a_controller_made_gets_the_control_plane_as_its_manager() -> None:
    assert adopted(TYPE, (), CONTROL_PLANE) == (CONTROL_PLANE,)
    assert adopted(TYPE, (CLUSTER,), CONTROL_PLANE) == (CLUSTER, CONTROL_PLANE)
    assert adopted(TYPE, (CONFIG, CLUSTER), CONTROL_PLANE) == (CLUSTER, CONTROL_PLANE)


def test_what_is_right_stays_the_very_same() -> None:
    for owners in ((CONTROL_PLANE,), (CONTROL_PLANE, CLUSTER)):
        assert adopted(TYPE, owners, CONTROL_PLANE) is owners
        assert adopted("Opaque", owners, CONTROL_PLANE) is owners


def test_a_users_secret_gets_no_owner() -> None:
    for owners in ((), (CLUSTER,), (CONFIG,)):
        assert adopted("Opaque", owners, CONTROL_PLANE) is owners
        assert not manages(CONTROL_PLANE, owners)


def test_a_reference_to_the_same_control_plane_is_brought_up_to_date_everywhere() -> None:
    assert adopted(TYPE, (MOVED, CLUSTER), CONTROL_PLANE) == (CONTROL_PLANE, CLUSTER)
    assert adopted("Opaque", (MOVED,), CONTROL_PLANE) == (CONTROL_PLANE,)
    assert manages(CONTROL_PLANE, (MOVED,))


def test_an_owner_that_does_not_manage_becomes_the_manager() -> None:
    plain = msgspec.structs.replace(CONTROL_PLANE, controller=None)
    assert adopted(TYPE, (plain,), CONTROL_PLANE) == (CONTROL_PLANE,)
