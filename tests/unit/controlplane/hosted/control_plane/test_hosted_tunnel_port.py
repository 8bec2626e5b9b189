from __future__ import annotations

import socket
from pathlib import Path

import pytest

from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.controlplane.hosted.control_plane.apply import expect_free
from nagaya.controlplane.hosted.host.ports import NoPortLeft
from nagaya.controlplane.hosted.host.tenant_folder import Started, TenantFolder
from support.hosted_seen import UID


def test_agents_of_a_tunnel_do_not_get_the_port_of_another_program(tmp_path: Path) -> None:
    folder = TenantFolder.of(tmp_path, UID)
    with socket.create_server(("127.0.0.1", 0)) as other:
        at = Endpoint(host="127.0.0.1", port=other.getsockname()[1])
        for started in ({}, {f"{UID}.konnectivity-server": Started("d", "", "127.0.0.1:1")}):
            folder.note_started(started)
            with pytest.raises(NoPortLeft, match="another program listens there"):
                expect_free(at, folder)
        for own in (str(at), ""):
            folder.note_started({f"{UID}.konnectivity-server": Started("d", "", own)})
            expect_free(at, folder)
    folder.note_started({})
    expect_free(at, folder)
