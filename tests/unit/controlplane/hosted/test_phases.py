"""What is the same for hosted control planes however their programs run."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneReason as Reason
from nagaya.clusters.certificates.kubeconfig_plan import KubeconfigPlan
from nagaya.controlplane.hosted import phases
from nagaya.controlplane.hosted.tenant.keeper import Outcome
from support import seen_pods
from support.hosted_seen import Tenant, store_of


@pytest.mark.parametrize("of_pods", [False, True], ids=["processes", "pods"])
def test_an_authority_that_has_expired_is_told_with_its_day(tmp_path: Path, of_pods: bool) -> None:
    seen: phases.Seen = seen_pods.seen() if of_pods else Tenant(tmp_path).seen()
    assert phases.certificates(seen)[0].done
    verdict, _ = phases.certificates(replace(seen, now=seen.now + timedelta(days=50 * 365)))
    assert (verdict.done, verdict.reason) == (False, "CertificateExpired")
    assert "expired on 20" in verdict.message


def test_no_data_is_begun_in_a_store_that_goes_but_data_that_came_with_a_move_is_used() -> None:
    store = store_of(deleting=True)
    verdict, steps = phases.data_store(seen_pods.seen(seen_pods.control_plane({}), store=store))
    assert (verdict.reason, steps) == ("DataStoreDeleting", ())
    moved = seen_pods.control_plane({}, tenantID="0b0e1f6c-7d5c-4c58-9d35-5a1f1d1f0a01")
    verdict, steps = phases.data_store(seen_pods.seen(moved, store=store))
    assert verdict.reason == "WaitingForDataStore"
    assert [type(each) for each in steps] == [phases.BindStore]


@pytest.mark.parametrize("of_pods", [False, True], ids=["processes", "pods"])
def test_a_tenant_is_not_configured_while_its_administrator_cannot_have_a_kubeconfig(
    tmp_path: Path, of_pods: bool
) -> None:
    """Even if all else in the tenant is as it shall be."""
    seen: phases.Seen = seen_pods.seen() if of_pods else Tenant(tmp_path).seen()
    seen.known.setup = Outcome()
    seen, serving = replace(seen, connected=True), phases.Verdict(True, Reason.RUNNING)
    assert phases.tenant(seen, serving).done
    why = "Secret default/one-kubeconfig cannot be written: its authority has no key."
    verdict = phases.tenant(replace(seen, kubeconfig_plan=KubeconfigPlan(blocked=True, sentence=why)), serving)
    assert verdict == phases.Verdict(False, Reason.NOT_CONFIGURED, why)
