"""Leases."""

from nagaya.apiserver.builtins.kinds.lease import LeaseStrategy
from support.core_kinds import CoreKinds

LEASES = "leases.coordination.k8s.io"


async def test_a_lease_lasts_a_while() -> None:
    found = await CoreKinds().refused(LEASES, {"spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1}})
    assert found == [
        "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
        "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
    ]


async def test_members_of_coordinated_election_are_not_kept() -> None:
    made = await CoreKinds().create(LEASES, {"spec": {"holderIdentity": "a", "strategy": "x", "preferredHolder": "y"}})
    assert made["spec"] == {"holderIdentity": "a"}


async def test_a_finalizer_needs_no_domain() -> None:
    made = await CoreKinds().create(LEASES, {"metadata": {"finalizers": ["plain"]}})
    assert made["metadata"]["finalizers"] == ["plain"]


def test_a_lease_may_be_created_by_an_update_but_never_changed_blindly() -> None:
    assert LeaseStrategy.allow_create_on_update
    assert not LeaseStrategy.allow_unconditional_update
