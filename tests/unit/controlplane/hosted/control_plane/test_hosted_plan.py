from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from nagaya.api.cluster.secrets import Purpose
from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneReason as Reason
from nagaya.api.controlplane.hosted_conditions import HostedPhase as Phase
from nagaya.controlplane.hosted.control_plane.conditions import conditions
from nagaya.controlplane.hosted.control_plane.plan import MakeDefaultStore, Plan, Run, WriteFiles, plan
from nagaya.controlplane.hosted.host.programs import Programs
from nagaya.controlplane.hosted.phases import BindStore, Provision, WriteEndpoint
from nagaya.controlplane.hosted.tenant.keeper import Outcome
from nagaya.supervision.status import State
from support.hosted_seen import NOW, UID, Tenant, store_of


@pytest.fixture
def tenant(tmp_path: Path) -> Tenant:
    return Tenant(tmp_path)


def kinds(planned: Plan) -> set[type]:
    return {type(each) for each in planned.actions}


def test_what_does_not_depend_on_each_other_begins_at_once(tenant: Tenant) -> None:
    tenant.endpoint, tenant.store, tenant.known.store, tenant.status = None, None, None, {}
    planned = tenant.plan()

    assert kinds(planned) == {WriteEndpoint, MakeDefaultStore}
    assert planned.verdicts[Phase.CERTIFICATES].done


def test_a_place_in_the_store_is_written_down_before_it_is_made(tenant: Tenant) -> None:
    tenant.known.store, tenant.status = None, {}

    [bind] = tenant.plan().actions
    assert isinstance(bind, BindStore)
    assert (bind.use.name, bind.use.prefix) == ("default", f"/{UID}")
    tenant.status = {"dataStore": {"name": "default"}}
    assert kinds(tenant.plan()) == {Provision}


def test_a_store_that_others_provide_is_waited_for(tenant: Tenant) -> None:
    tenant.known.store, tenant.status, tenant.store = None, {}, None
    tenant.spec["dataStoreRef"] = {"name": "mine"}
    verdict = tenant.plan().verdicts[Phase.DATA_STORE]

    assert verdict.reason is Reason.DATA_STORE_NOT_FOUND
    assert "There is no DataStore mine. Create it" in verdict.message


def test_a_store_that_is_gone_with_the_data_is_not_replaced_lightly(tenant: Tenant) -> None:
    tenant.known.store, tenant.status, tenant.store = None, {"dataStore": {"name": "mine"}}, None
    verdict = tenant.plan().verdicts[Phase.DATA_STORE]

    assert verdict.reason is Reason.DATA_STORE_NOT_FOUND
    assert "Restore it from a backup: a new one begins without data" in verdict.message
    assert "name another" not in verdict.message


def test_programs_stay_at_their_port_while_the_one_that_they_shall_have_is_taken(tenant: Tenant) -> None:
    tenant.start_all()
    seen = tenant.seen()
    taken = replace(seen.declared.listening, port=16444, message="Taken.")
    for runs, expected in ((False, set()), (True, {WriteFiles})):
        declared = replace(seen.declared, listening=replace(taken, runs=runs))
        assert kinds(plan(replace(seen, declared=declared))) == expected


def test_a_store_that_goes_takes_nobody_new(tenant: Tenant) -> None:
    tenant.known.store, tenant.status, tenant.store = None, {}, store_of(deleting=True)

    assert tenant.plan().actions == ()
    assert tenant.plan().verdicts[Phase.DATA_STORE].reason is Reason.DATA_STORE_DELETING


def test_who_waits_for_the_store_says_what_the_store_said(tenant: Tenant) -> None:
    tenant.known.store, tenant.reached, tenant.store = None, False, store_of(ready=False)
    planned = tenant.plan()

    assert planned.actions == ()
    assert planned.verdicts[Phase.DATA_STORE].message == "Waiting for DataStore default: etcd does not answer."
    assert planned.verdicts[Phase.API_SERVER].reason is Reason.WAITING_FOR_DATA_STORE


def test_files_are_written_before_anything_is_started(tenant: Tenant) -> None:
    assert kinds(tenant.plan()) == {WriteFiles}
    tenant.write_files()
    assert tenant.run() == ["kube-apiserver"]
    assert tenant.plan().actions == ()
    tenant.all_are(State.READY)
    assert tenant.run() == ["kube-controller-manager", "kube-scheduler"]
    assert tenant.plan().verdicts[Phase.API_SERVER].done
    assert not tenant.plan().verdicts[Phase.CONTROLLERS].done


def test_programs_that_are_not_there_are_told(tenant: Tenant) -> None:
    tenant.write_files()
    tenant.programs = Programs(message="Building kube-apiserver v1.36.3 ...")
    planned = tenant.plan()

    assert planned.actions == ()
    assert planned.verdicts[Phase.API_SERVER].message == "Building kube-apiserver v1.36.3 ..."
    tenant.programs = Programs(message="Install Go.", failed=True)
    assert tenant.plan().verdicts[Phase.API_SERVER].reason is Reason.BINARIES_MISSING


def test_a_lost_authority_stops_nothing_that_runs(tenant: Tenant) -> None:
    tenant.start_all()
    tenant.held[Purpose.CLUSTER_AUTHORITY] = None
    planned = tenant.plan()

    assert planned.actions == ()
    assert not planned.verdicts[Phase.CERTIFICATES].done
    assert planned.verdicts[Phase.API_SERVER].done


def test_a_store_that_is_away_stops_nothing_that_runs(tenant: Tenant) -> None:
    tenant.start_all()
    tenant.store, tenant.reached = store_of(ready=False), False
    planned = tenant.plan()

    assert planned.actions == ()
    assert planned.verdicts[Phase.DATA_STORE].reason is Reason.DATA_STORE_NOT_READY
    assert planned.verdicts[Phase.API_SERVER].done


def test_a_change_of_arguments_exchanges_two_api_servers_one_by_one(tenant: Tenant) -> None:
    tenant.spec["replicas"] = 2
    tenant.start_all()
    assert sum("kube-apiserver" in name for name in tenant.processes) == 2
    tenant.spec["apiServer"] = {"extraArgs": [{"name": "event-ttl", "value": "2h"}]}
    tenant.write_files()

    assert tenant.run() == ["kube-apiserver"]
    assert kinds(tenant.plan()) == set()
    assert tenant.plan().verdicts[Phase.API_SERVER].done
    tenant.all_are(State.READY)
    assert tenant.run() == ["kube-apiserver"]
    tenant.all_are(State.READY)
    assert kinds(tenant.plan()) == set()


def test_without_replicas_everything_stops_and_the_reason_is_told(tenant: Tenant) -> None:
    tenant.start_all()
    tenant.spec["replicas"] = 0
    tenant.write_files()
    [run] = tenant.plan().actions

    assert isinstance(run, Run)
    assert len(run.steps.stop) == 3
    assert tenant.plan().verdicts[Phase.API_SERVER].reason is Reason.SLEEPING


def test_an_upgrade_that_skips_a_minor_changes_nothing(tenant: Tenant) -> None:
    tenant.spec["version"] = "v1.35.4"
    tenant.start_all()
    tenant.spec["version"] = "v1.37.0"
    tenant.write_files()

    assert tenant.plan().actions == ()
    assert tenant.seen().target.reason is Reason.VERSION_SKIPS_MINOR


def test_an_upgrade_that_nodes_are_too_old_for_changes_nothing_and_says_which(tenant: Tenant) -> None:
    tenant.spec["version"] = "v1.36.3"
    tenant.start_all()
    tenant.spec["version"] = "v1.37.0"
    tenant.kubelets = {"old": "v1.33.9"}
    tenant.write_files()
    told = {each.type: each for each in conditions(tenant.seen(), tenant.plan(), ())}

    assert tenant.plan().actions == ()
    assert (told["UpgradePossible"].status, told["UpgradePossible"].reason) == ("False", "NodesTooOld")
    assert "old (v1.33.9)" in told["UpgradePossible"].message
    tenant.kubelets = {"old": "v1.34.9"}
    tenant.write_files()
    assert tenant.run() == ["kube-apiserver"]


def test_an_authority_without_its_key_is_refused_with_the_remedy(tenant: Tenant) -> None:
    held = tenant.held[Purpose.CLUSTER_AUTHORITY]
    assert held is not None
    tenant.held[Purpose.CLUSTER_AUTHORITY] = type(held)(
        held.purpose, held.metadata, "", type(held.pair)(held.pair.certificate, b"")
    )
    verdict = tenant.plan().verdicts[Phase.CERTIFICATES]

    assert verdict.reason is Reason.CERTIFICATE_UNUSABLE
    assert "Put it into tls.key" in verdict.message


def test_missing_encryption_settings_are_told_and_hold_up_the_start(tenant: Tenant) -> None:
    tenant.encryption_problem = "Secret default/keys does not exist. Create it."
    planned = tenant.plan()

    assert planned.actions == ()
    assert planned.verdicts[Phase.API_SERVER].message == tenant.encryption_problem


def test_the_tenant_is_configured_when_its_objects_are_there(tenant: Tenant) -> None:
    tenant.start_all()
    assert tenant.plan().verdicts[Phase.TENANT].reason is Reason.CONNECTION_DOWN
    tenant.connected = True
    tenant.known.setup = Outcome(problems=("Cannot apply ConfigMap x: refused",))
    assert tenant.plan().verdicts[Phase.TENANT].message == "Cannot apply ConfigMap x: refused"
    tenant.known.setup = Outcome()
    assert tenant.plan().verdicts[Phase.TENANT].done


def test_a_place_in_a_store_is_made_sure_of_when_it_is_due_while_everything_goes_on(tenant: Tenant) -> None:
    tenant.start_all()
    tenant.known.store_due = NOW + timedelta(hours=1)
    assert tenant.plan().actions == ()
    assert tenant.plan().requeue_after == 3600
    tenant.known.store_due = NOW
    assert kinds(tenant.plan()) == {Provision}
    assert tenant.plan().verdicts[Phase.DATA_STORE].done
    tenant.known.store_problem = "etcd is full."
    assert tenant.plan().verdicts[Phase.DATA_STORE].message == "etcd is full."
    tenant.reached = False
    assert tenant.plan().actions == ()


def test_what_may_take_long_is_told_beside_it_but_never_beside_a_note_in_the_status(tenant: Tenant) -> None:
    tenant.write_files()
    assert tenant.plan().takes_long
    tenant.status = {}
    assert {BindStore, Run} <= kinds(tenant.plan())
    assert not tenant.plan().takes_long
    tenant.endpoint = None
    assert WriteEndpoint in kinds(tenant.plan())
    assert not tenant.plan().takes_long


def test_an_api_server_that_does_not_stay_is_told(tenant: Tenant) -> None:
    tenant.write_files()
    tenant.run()
    [name] = tenant.processes
    tenant.processes[name] = replace(tenant.processes[name], state=State.WAITING, reason="process 7 ended with code 1")
    verdict = tenant.plan().verdicts[Phase.API_SERVER]

    assert verdict.reason is Reason.RESTARTING
    assert "process 7 ended with code 1" in verdict.message
