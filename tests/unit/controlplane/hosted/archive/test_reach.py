"""Whose data a command reaches: not that of a tenant that a control plane only names."""

from __future__ import annotations

from pathlib import Path

import pytest

from nagaya.controlplane.hosted.archive.errors import Refused
from nagaya.controlplane.hosted.archive.reach import expect_own
from nagaya.controlplane.hosted.host import ownership
from nagaya.controlplane.hosted.host.ownership import Owner
from support.hosted_seen import plane_of

OTHER = "9f1c2d3e-0000-4000-8000-000000000002"
MOVED = {"tenantID": OTHER}


def test_a_control_plane_that_began_its_tenant_or_whose_controller_has_looked_is_believed(tmp_path: Path) -> None:
    expect_own(plane_of(), tmp_path)
    expect_own(plane_of(MOVED, dataStore={"name": "default"}), tmp_path)


def test_where_no_controller_has_looked_the_folder_says_whose_a_tenant_is(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="Run this command on the machine that they are on"):
        expect_own(plane_of(MOVED), tmp_path)
    ownership.write(tmp_path / "tenants" / OTHER, Owner("shop", OTHER, "team"))
    with pytest.raises(Refused, match="somebody else's"):
        expect_own(plane_of(MOVED), tmp_path)
    ownership.write(tmp_path / "tenants" / OTHER, Owner("one", OTHER, "default", paused=True))
    expect_own(plane_of(MOVED), tmp_path)
