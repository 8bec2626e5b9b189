from __future__ import annotations

import pytest

from nagaya.controlplane.hosted.data_store.upkeep import WORTH, plan
from nagaya.wire.etcd.maintenance import StatusResponse

QUOTA = 100 * WORTH


@pytest.mark.parametrize(
    ("size", "used", "alarmed", "defragment", "disarm"),
    [
        (10 * WORTH, 9 * WORTH, False, False, False),
        (10 * WORTH, 4 * WORTH, False, True, False),
        (10 * WORTH, 5 * WORTH - 1, False, True, False),
        (10 * WORTH, 5 * WORTH, False, False, False),
        (WORTH, 1, False, False, False),
        (2 * WORTH, WORTH // 2, False, True, False),
        (QUOTA, QUOTA - 1, True, False, False),
        (QUOTA, QUOTA // 2, True, True, True),
        (QUOTA // 2, QUOTA // 2, True, False, True),
    ],
)
def test_a_member_is_stopped_only_for_what_is_worth_it(
    size: int, used: int, alarmed: bool, defragment: bool, disarm: bool
) -> None:
    status = StatusResponse(db_size=size, db_size_in_use=used, db_size_quota=QUOTA)
    upkeep = plan(status, is_alarmed=alarmed)
    assert (upkeep.defragment, upkeep.disarm) == (defragment, disarm)
    assert upkeep.sentence.endswith(".")
