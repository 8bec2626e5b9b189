from __future__ import annotations

from nagaya.clusters.node import NODES, provider_ids
from support.machine_seen import GOOD, node


def test_a_node_that_says_little_about_its_system_is_taken_at_its_word() -> None:
    info = NODES.convert({"status": {"nodeInfo": {"kubeletVersion": "v1.36.3", "future": 1}}}).status.info
    assert (info.kubelet_version, info.os_image, info.swap) == ("v1.36.3", "", None)
    assert NODES.convert({}).status.info.kubelet_version == ""


def test_a_heartbeat_leaves_no_trace() -> None:
    def beating(when: str) -> bytes:
        told = b'{"type": "Ready", "status": "True", "lastHeartbeatTime": "%s"}' % when.encode()
        return b'{"metadata": {"name": "n"}, "status": {"conditions": [%s]}}' % told

    assert NODES.decode(beating("2026-11-01T12:00:00Z")) == NODES.decode(beating("2026-11-01T12:05:00Z"))


def test_a_node_whose_kubelet_is_silent_is_unreachable() -> None:
    assert node(conditions={**GOOD, "Ready": "Unknown"}).unreachable is True
    assert node(conditions={**GOOD, "Ready": "False"}).unreachable is False
    assert node(conditions={}).unreachable is False


def test_a_node_without_a_provider_id_is_found_under_none() -> None:
    assert [*provider_ids(node())] == ["boat:///a"]
    assert [*provider_ids(node(provider_id=""))] == []
