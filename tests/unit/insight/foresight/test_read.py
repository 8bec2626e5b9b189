"""Objects as they would be after an apply, whatever version they are written in."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

from nagaya.api.kind import Kind
from nagaya.api.proxmox.proxmox_machine_template import PROXMOX_MACHINE_TEMPLATES
from nagaya.api.untyped import Untyped
from nagaya.insight.foresight.change import Change, Verb
from nagaya.insight.foresight.read import Reader
from nagaya.insight.foresight.rehearsal import Rehearsed
from nagaya.insight.picture.kinds import Kinds
from nagaya.kube.client import Client

GROUP = "infrastructure.cluster.x-k8s.io"


class Nothing:
    """An API that has nothing yet."""

    async def list(self, kind: Kind[Any], namespace: str) -> SimpleNamespace:
        return SimpleNamespace(items=[])


def _reader(version: str, spec: dict[str, Any]) -> Reader:
    metadata = {"name": "workers", "namespace": "default"}
    content = {"apiVersion": f"{GROUP}/{version}", "kind": "ProxmoxMachineTemplate", "metadata": metadata, "spec": spec}
    change = Change(Verb.CREATE, "ProxmoxMachineTemplate", "default", "workers", "cluster.yaml")
    rehearsed = [Rehearsed(change, None, Untyped(content))]
    return Reader(cast(Client, Nothing()), cast(Kinds, None), rehearsed, datetime(2026, 1, 1, tzinfo=UTC))


def test_templates_in_capmoxs_older_version_are_read_like_others() -> None:
    machine = {"sourceNode": "pve1", "templateID": 100, "numCores": 8, "memoryMiB": 16384}
    reader = _reader("v1alpha1", {"template": {"spec": machine}})
    (found,) = asyncio.run(reader.all(PROXMOX_MACHINE_TEMPLATES, "default"))
    assert (found.metadata.name, found.spec.template.spec.num_cores) == ("workers", 8)
    assert reader.not_foreseen == []


def test_a_version_that_nobody_here_reads_is_told() -> None:
    reader = _reader("v9", {})
    assert asyncio.run(reader.all(PROXMOX_MACHINE_TEMPLATES, "default")) == []
    assert "is written in infrastructure.cluster.x-k8s.io/v9" in reader.not_foreseen[0]
