"""Why a DataStore gets nothing of the files that it names, in words. Pure."""

from __future__ import annotations

from pathlib import Path

from nagaya.api.controlplane.data_store_conditions import DataStoreReason
from nagaya.controlplane.hosted.data_store.driver import Health
from nagaya.controlplane.hosted.host.ownership import Claim, Standing


def refusal(claim: Claim, folder: Path) -> Health:
    """What is told of a store whose claim is refused."""
    if claim.standing is Standing.FOREIGN:
        message = f"Store {claim.why} Nothing of it is used. Delete this DataStore: nothing of that store goes with it."
        return Health(DataStoreReason.NOT_OWNER, message)
    message = (
        f"It was moved, and its data is not in {folder} of this machine. Nothing is begun in its place. Run the "
        "controllers of this management API where it is, with the folder that it is in (`nagaya up --kubeconfig FILE "
        "--data-dir FOLDER`), or copy its tenants with `nagaya tenant backup` there and `nagaya tenant restore` here."
    )
    return Health(DataStoreReason.DATA_ELSEWHERE, message)
