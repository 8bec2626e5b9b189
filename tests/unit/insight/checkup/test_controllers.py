"""Whether controllers run, as far as it can be seen."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from nagaya.insight.checkup.controllers import Seen, check, unattended, watches
from nagaya.insight.checkup.finding import Standing
from nagaya.insight.picture.member import member
from nagaya.kube.election import LEASES, Lease
from unit.insight.scene import START, Scene

NOW = START + timedelta(minutes=10)


def lease(name: str, namespace: str = "default", **spec: Any) -> Lease:
    return LEASES.convert({"metadata": {"name": name, "namespace": namespace}, "spec": spec})


def elected(seconds: float) -> Lease:
    renewed = f"{NOW - timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S.000000Z}"
    return lease("nagaya-controllers", holderIdentity="pod-1", leaseDurationSeconds=15, renewTime=renewed)


def test_a_lease_that_is_renewed_says_who_works() -> None:
    found = check(Seen((elected(3),)), [], NOW)
    assert found.standing is Standing.OK
    assert "pod-1 holds default/nagaya-controllers" in found.evidence


def test_a_lease_that_is_not_renewed_is_a_problem() -> None:
    found = check(Seen((elected(300),)), [], NOW)
    assert found.standing is Standing.PROBLEM
    assert "renewed the lease default/nagaya-controllers last at 2026-03-01T12:05:00" in found.evidence
    others = check(Seen((elected(300),), watches=2), [], NOW)
    assert others.standing is Standing.WARNING
    assert others.remedy == ("kubectl delete -n default lease nagaya-controllers",)


def test_controllers_beside_the_api_need_no_renewal() -> None:
    beside = lease("nagaya-up", "kube-system", holderIdentity="process 7 on home")
    found = check(Seen((beside,)), [], NOW)
    assert found.standing is Standing.OK
    assert "process 7 on home" in found.evidence


def test_without_a_lease_those_who_watch_tell() -> None:
    assert check(Seen(watches=4), [], NOW).standing is Standing.OK
    assert check(Seen(watches=0), [], NOW).standing is Standing.PROBLEM
    unknown = check(Seen(), [], NOW)
    assert unknown.standing is Standing.UNCHECKED
    assert check(Seen(refused="forbidden"), [], NOW).evidence.endswith("forbidden.")


def test_objects_that_nobody_has_looked_at_tell_more_than_watches() -> None:
    scene = Scene()
    scene.add("Cluster", "quiet", status={"observedGeneration": 1})
    silent = scene.add("ProxmoxConnection", "pve")
    del silent.raw["status"]["conditions"]  # type: ignore[attr-defined]
    members = [member(each) for each in scene.objects]
    assert unattended(members, NOW) == ["ProxmoxConnection pve"]
    assert unattended(members, START + timedelta(seconds=5)) == []
    found = check(Seen(watches=4), members, NOW)
    assert found.standing is Standing.PROBLEM
    assert "Nobody has looked at ProxmoxConnection pve." in found.evidence


def test_figures_tell_who_watches_clusters() -> None:
    figures = (
        "# HELP apiserver_longrunning_requests x\n"
        'apiserver_longrunning_requests{verb="WATCH",group="cluster.x-k8s.io",resource="clusters"} 2.0\n'
        'apiserver_longrunning_requests{verb="WATCH",group="",resource="secrets"} 5.0\n'
        'apiserver_longrunning_requests{verb="WATCH",resource="clusters",version="v1beta2"} 1.0\n'
    )
    assert watches(figures) == 3
    assert watches('apiserver_longrunning_requests{verb="WATCH",resource="secrets"} 1\n') == 0
    assert watches("# TYPE apiserver_longrunning_requests gauge\n") == 0
    assert watches("something_else 1\n") is None
