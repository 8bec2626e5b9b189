from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneCondition, HostedPhase
from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneReason as Reason
from nagaya.api.controlplane.hosted_status import HostedControlPlaneStatus, PhaseStatus
from nagaya.controlplane.hosted.control_plane.status import CONDITIONS, is_new, status
from nagaya.controlplane.hosted.control_plane.timeline import timeline
from nagaya.controlplane.hosted.host.certificates import Certificates, Issued
from nagaya.controlplane.hosted.phases import Verdict
from nagaya.supervision.status import ProcessStatus, State
from support.hosted_seen import NOW, UID, Tenant, plane_of, store_of


@pytest.fixture
def tenant(tmp_path: Path) -> Tenant:
    return Tenant(tmp_path)


def told(tenant: Tenant) -> HostedControlPlaneStatus:
    return status(tenant.seen(), tenant.plan(), lambda name: f"last words of {name.partition('.')[2]}")


def conditions(tenant: Tenant) -> dict[str, tuple[str, str]]:
    return {each.type: (each.status, each.reason) for each in told(tenant).conditions}


def test_every_condition_is_told_from_the_start(tenant: Tenant) -> None:
    tenant.endpoint, tenant.store, tenant.known.store, tenant.status = None, None, None, {}
    found = told(tenant)

    assert {each.type for each in found.conditions} == set(CONDITIONS) == set(HostedControlPlaneCondition)
    content: dict[str, Any] = msgspec.to_builtins(found)
    assert "endpoint" not in content
    assert content["externalManagedControlPlane"] is True
    assert found.initialization.control_plane_initialized is None


def test_a_control_plane_that_runs_says_so(tenant: Tenant) -> None:
    tenant.start_all()
    found = conditions(tenant)

    for type in ("Available", "APIServerReady", "ControllerManagerReady", "SchedulerReady", "ComponentsReady"):
        assert found[type][0] == "True", type
    assert found["KonnectivityReady"] == ("False", "NotUsed")
    status = told(tenant)
    assert (status.replicas, status.ready_replicas, status.up_to_date_replicas) == (1, 1, 1)
    assert status.version == "v1.36.3"
    assert status.initialization.control_plane_initialized is True


def test_settings_that_admission_would_refuse_are_named(tenant: Tenant) -> None:
    tenant.start_all()
    tenant.spec["scheduler"] = {"extraArgs": [{"name": "write-config-to", "value": "/etc/passwd"}]}
    found = {each.type: each for each in told(tenant).conditions}

    message = found["ComponentsReady"].message
    prefix = (
        "Settings that are not accepted have no effect: spec.scheduler.extraArgs[0].name: Forbidden: write-config-to"
    )
    assert message.startswith(prefix)
    assert found["Available"].status == "True"


def test_hundreds_of_settings_that_admission_would_refuse_fit_into_the_condition(tenant: Tenant) -> None:
    tenant.start_all()
    arguments = [{"name": "v", "value": f"{number:0>1024}"} for number in range(100)]
    for each in ("apiServer", "controllerManager", "scheduler", "kine"):
        tenant.spec[each] = {"extraArgs": arguments}
    message = next(each.message for each in told(tenant).conditions if each.type == "ComponentsReady")

    assert len(message) < 32768
    assert message.endswith("... (395 more).")


def test_a_program_that_ends_again_and_again_is_told_with_its_last_words(tenant: Tenant) -> None:
    tenant.start_all()
    name = f"{UID}.kube-scheduler"
    tenant.processes[name] = ProcessStatus(name, State.WAITING, None, 4, "", "process 7 ended with code 1")
    found = {each.type: each for each in told(tenant).conditions}

    assert found["SchedulerReady"].reason == "Restarting"
    assert found["SchedulerReady"].message == "process 7 ended with code 1. last words of kube-scheduler"
    assert found["ComponentsReady"].message == "Not ready: kube-scheduler."
    assert found["Available"].status == "True"


def test_an_api_whose_data_store_is_away_is_not_available(tenant: Tenant) -> None:
    tenant.start_all()
    tenant.store, tenant.reached = store_of(ready=False), False
    found = {each.type: each for each in told(tenant).conditions}

    assert (found["Available"].status, found["Available"].reason) == ("False", "DataStoreNotReady")
    assert found["Available"].message == found["DataStoreReady"].message != ""
    assert found["APIServerReady"].status == "True"


def test_an_upgrade_is_told_as_it_goes(tenant: Tenant) -> None:
    tenant.spec.update(version="v1.35.4", replicas=2)
    tenant.start_all()
    tenant.status["initialization"] = {"controlPlaneInitialized": True}
    tenant.spec["version"] = "v1.36.3"
    tenant.write_files()
    tenant.run()
    found = told(tenant)

    assert found.version == "v1.35.4"
    assert [(each.version, each.replicas) for each in found.versions] == [("v1.35.4", 1), ("v1.36.3", 1)]
    assert found.up_to_date_replicas == 1
    assert conditions(tenant)["RollingOut"] == ("True", "RollingOut")
    [upgrade] = [each for each in found.timeline if each.phase == "Upgrade"]
    assert upgrade.message.startswith("From v1.35.4 to v1.36.3.")
    assert upgrade.ended is None


def test_an_authority_that_ends_soon_is_told(tenant: Tenant) -> None:
    tenant.start_all()
    files = tenant.known.files
    assert files is not None
    soon = Certificates((Issued("ca", NOW + timedelta(days=30), "1"),))
    tenant.known.files = replace(files, certificates=soon)
    found = {each.type: each for each in told(tenant).conditions}

    assert found["CertificatesAvailable"].status == "True"
    assert "The authority ca expires on 2026-12-01" in found["CertificatesAvailable"].message


def test_the_timeline_remembers_when_phases_began_and_ended() -> None:
    waiting = Verdict(False, Reason.WAITING_FOR_DATA_STORE, "Waiting for DataStore default.")
    first = timeline((), {HostedPhase.DATA_STORE: waiting}, "", NOW)
    later = NOW + timedelta(seconds=3)
    second = timeline(first, {HostedPhase.DATA_STORE: Verdict(True, Reason.DATA_STORE_READY)}, "", later)
    third = timeline(second, {HostedPhase.DATA_STORE: waiting}, "", later + timedelta(hours=1))

    assert first == (PhaseStatus(phase="DataStore", began=NOW, message="Waiting for DataStore default."),)
    assert second == (PhaseStatus(phase="DataStore", began=NOW, ended=later),)
    assert third == second


def test_each_upgrade_begins_a_phase_of_its_own() -> None:
    begun = timeline((), {}, "From a to b.", NOW)
    ended = timeline(begun, {}, "", NOW + timedelta(seconds=9))
    again = timeline(ended, {}, "From b to c.", NOW + timedelta(days=1))

    assert ended[0].ended == NOW + timedelta(seconds=9)
    assert again == (PhaseStatus(phase="Upgrade", began=NOW + timedelta(days=1), message="From b to c."),)


def test_one_that_was_declared_just_now_is_not_yet_told_that_nobody_owns_it() -> None:
    made = plane_of().metadata.creation_timestamp
    assert made is not None
    assert is_new(plane_of(), made + timedelta(seconds=1))
    assert not is_new(plane_of(), made + timedelta(seconds=2))


def test_one_that_sleeps_remembers_which_version_wrote_its_data(tenant: Tenant) -> None:
    tenant.start_all()
    awake = told(tenant)
    assert awake.version == "v1.36.3"
    tenant.status = {**tenant.status, "version": "v1.36.3", "initialization": {"controlPlaneInitialized": True}}
    tenant.started, tenant.processes = {}, {}
    tenant.spec["replicas"] = 0
    assert told(tenant).version == "v1.36.3"


def test_how_a_tenant_is_that_does_not_answer_nobody_knows(tenant: Tenant) -> None:
    tenant.start_all()
    assert conditions(tenant)["TenantConfigured"] == ("Unknown", "ConnectionDown")
