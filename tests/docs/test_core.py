"""The numbers in the page about the core are those of the code."""

from __future__ import annotations

import re

from docs.page import ROOT, section
from nagaya.addons.resource_set import errands
from nagaya.api.cluster import health
from nagaya.clusters import stale_machines, up_to_date
from nagaya.core.cluster import controller as clusters
from nagaya.core.machine import seen
from nagaya.core.machine.deletion import apply, node_removal, pace, tenant
from nagaya.core.machine.deletion.drain import evictions
from nagaya.core.machine_deployment import status as machine_deployments
from nagaya.core.machine_set import status as machine_sets
from nagaya.kube import controller, details, remote

CORE = (ROOT / "docs/core.md").read_text()


def test_the_numbers_are_those_of_the_code() -> None:
    rows = re.findall(r"^\| (.+) \| ([\d.]+) \|$", section(CORE, "## Numbers"), re.MULTILINE)

    assert {what: float(number) for what, number in rows} == {
        "between two probes of a tenant": remote.PROBE_INTERVAL,
        "for a tenant to answer a probe": remote.PROBE_TIMEOUT,
        "until a tenant is tried again, at first": remote.FIRST_RECONNECT,
        "until a tenant is tried again, at most": remote.RECONNECT_INTERVAL,
        "without an answer until the probe has failed": remote.PROBE_GRACE,
        "without an answer until Nodes are unknown": seen.REMOTE_CONDITIONS_GRACE.total_seconds(),
        "details of a Machine wait for": details.DETAILS_WAIT,
        "details of a MachineSet wait for": machine_sets.DETAILS_WAIT,
        "details of a MachineDeployment wait for": machine_deployments.DETAILS_WAIT,
        "details of a Cluster wait for": clusters.DETAILS_WAIT,
        "details wait for at most, while the API is slow": details.LONGEST_WAIT,
        "for a new machine to say whether it is up to date": up_to_date.GRACE.total_seconds(),
        "between two goes at a drain, or looks at volumes, at first": pace.FIRST,
        "between two goes at a drain, or looks at volumes, at most": pace.LONGEST,
        "evictions in one go": evictions.EVICTION_TIME,
        "for one step of a deletion to spend with a tenant": tenant.PATIENCE,
        "until a tenant that failed is asked again": apply.TENANT_RETRY,
        "until a tenant that cannot be reached is asked again": apply.SILENT_RETRY,
        "the deletion of a Node is tried for": node_removal.TRIED_FOR,
        "until a deletion is called slow": stale_machines.LONG_DELETION.total_seconds(),
        "until a drain is called slow": stale_machines.LONG_DRAIN.total_seconds(),
        "for a Node to come up": health.DEFAULT_NODE_STARTUP_TIMEOUT_SECONDS,
        "for an errand of a ClusterResourceSet": errands.TIMEOUT,
        "for a reconcile": controller.RECONCILE_TIMEOUT,
        "between two looks at everything": controller.RESYNC,
    }
