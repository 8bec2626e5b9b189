"""HostedControlPlanes as their controller sees them, for decisions without anything that runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.secrets import Purpose
from nagaya.api.controlplane.data_store import DATA_STORES, DataStore
from nagaya.api.controlplane.hosted_control_plane import FINALIZER, HOSTED_CONTROL_PLANES, HostedControlPlane
from nagaya.api.meta import ObjectMeta
from nagaya.clusters.certificates import plan as authorities_plan
from nagaya.clusters.certificates.held import Held
from nagaya.clusters.certificates.kubeconfig_plan import KubeconfigPlan, KubeconfigSeen
from nagaya.clusters.certificates.seen import AuthoritiesSeen
from nagaya.controlplane.hosted.control_plane import upgrade
from nagaya.controlplane.hosted.control_plane.endpoint import Listening, Machine, look
from nagaya.controlplane.hosted.control_plane.facts import Declared
from nagaya.controlplane.hosted.control_plane.known import Files, FilesFor, Known
from nagaya.controlplane.hosted.control_plane.plan import Plan, Run, plan
from nagaya.controlplane.hosted.control_plane.seen import AUTHORITIES, Seen
from nagaya.controlplane.hosted.data_store.tenant_store import EtcdTenantStore
from nagaya.controlplane.hosted.host.certificates import Certificates, Issued
from nagaya.controlplane.hosted.host.programs import Programs
from nagaya.controlplane.hosted.host.tenant_folder import TenantFolder
from nagaya.kube.key import Key
from nagaya.kube.remote import Probe
from nagaya.pki import keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.key_pair import KeyPair
from nagaya.supervision.status import ProcessStatus, State
from support.standing_clock import StandingClock

UID = "355ba8b8-c8fd-40d6-92d6-8e90aaaf6302"
NOW = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
PORTS: Mapping[str, int] = {"controller-manager": 17443, "scheduler": 17444, "slot": 1}
PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "konnectivity-server")
_PURPOSES = (Purpose.CLUSTER_AUTHORITY, Purpose.SERVICE_ACCOUNTS, Purpose.FRONT_PROXY_AUTHORITY)


def plane_of(
    spec: Mapping[str, Any] | None = None, name: str = "one", uid: str = UID, **status: Any
) -> HostedControlPlane:
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": uid,
        "generation": 1,
        "finalizers": [FINALIZER],
        "creationTimestamp": "2026-11-01T11:00:00Z",
    }
    return HOSTED_CONTROL_PLANES.convert(
        {"metadata": metadata, "spec": {"version": "v1.36.3", **(spec or {})}, "status": status}
    )


def cluster_of(spec: Mapping[str, Any] | None = None) -> Cluster:
    return CLUSTERS.convert({"metadata": {"name": "one", "namespace": "default"}, "spec": spec or {}})


def store_of(*, ready: bool = True, driver: str = "etcd", deleting: bool = False) -> DataStore:
    metadata: dict[str, Any] = {"name": "default", "uid": "store-uid"}
    if deleting:
        metadata["deletionTimestamp"] = "2026-11-01T12:00:00Z"
    message = "" if ready else "etcd does not answer."
    told = {
        "type": "Ready",
        "status": str(ready),
        "reason": "R",
        "message": message,
        "lastTransitionTime": "2026-11-01T12:00:00Z",
    }
    status = {"ready": ready, "conditions": [told]}
    return DATA_STORES.convert({"metadata": metadata, "spec": {"driver": driver, "managed": True}, "status": status})


def machine(*, busy: frozenset[int] = frozenset(), held: frozenset[int] = frozenset()) -> Machine:
    own = {"192.0.2.2", "192.0.2.3", "127.0.0.1", "2001:db8::2"}
    return Machine(
        lambda family: "192.0.2.2" if family == 4 else "2001:db8::2",
        own.__contains__,
        lambda _, port: port not in busy,
        range(16443, 16447),
        held,
    )


class Tenant:
    """A control plane whose world can be changed step by step."""

    def __init__(self, tmp_path: Path, spec: Mapping[str, Any] | None = None) -> None:
        self.clock = StandingClock()
        made = {purpose: CertificateAuthority.create(purpose.value, self.clock) for purpose in _PURPOSES}
        pairs = {purpose: KeyPair(each.certificate_pem, each.key_pem) for purpose, each in made.items()}
        pairs[Purpose.SERVICE_ACCOUNTS] = KeyPair.of_service_accounts(keys.generate())
        self.held: dict[Purpose, Held | None] = {
            purpose: Held(purpose, ObjectMeta(name=f"one-{purpose.value}"), "", pair) for purpose, pair in pairs.items()
        }
        self.spec = dict(spec or {})
        self.status: dict[str, Any] = {"dataStore": {"name": "default", "driver": "etcd"}}
        self.endpoint: dict[str, Any] | None = {"host": "192.0.2.2", "port": 16443}
        self.store: DataStore | None = store_of()
        self.reached = True
        self.known = Known(EtcdTenantStore(("https://127.0.0.1:2379",), f"/{UID}", b"", KeyPair(b"c", b"k")))
        self.programs = Programs({name: Path("/bin") / name for name in PROGRAMS})
        self.processes: dict[str, ProcessStatus] = {}
        self.started: dict[str, Any] = {}
        self.connected = False
        self.kubelets: dict[str, str] | None = {}
        self.encryption_problem = ""
        self.folder = TenantFolder.of(tmp_path, UID)

    def seen(self) -> Seen:
        spec = {**self.spec, **({"controlPlaneEndpoint": self.endpoint} if self.endpoint else {})}
        plane, cluster = plane_of(spec, **self.status), cluster_of()
        listening: Listening = look(plane, cluster, [plane], machine())
        authorities = AuthoritiesSeen(Key("default", "one"), AUTHORITIES, self.held)
        declared = Declared(plane, cluster, listening)
        authority = authorities.get(Purpose.CLUSTER_AUTHORITY)
        versions = upgrade.running((each.version for each in self.started.values()), plane.status.version)
        return Seen(
            declared=declared,
            target=upgrade.target(plane.spec.version, versions, self.kubelets),
            authorities=authorities,
            authorities_plan=authorities_plan.plan(authorities, initialized=False, maker=None),
            kubeconfig=KubeconfigSeen(authorities.cluster, listening.endpoint, authority, None, NOW),
            kubeconfig_plan=KubeconfigPlan(),
            store=self.store,
            store_reached=self.reached,
            encryption=b"",
            encryption_problem=self.encryption_problem,
            programs=self.programs,
            processes=dict(self.processes),
            started=dict(self.started),
            connected=self.connected,
            probe=Probe(),
            known=self.known,
            now=NOW,
        )

    def plan(self) -> Plan:
        return plan(self.seen())

    def write_files(self) -> None:
        """As if all files had been written, whatever they are."""
        seen = self.seen()
        assert seen.given is not None
        assert self.known.store is not None
        made_for = FilesFor(seen.declared, seen.target.version, seen.given, self.known.store)
        store = self.known.store.facts(self.folder.folders.pki, self.folder.kine_socket)
        facts = seen.declared.facts(seen.target.version, store, self.folder, PORTS)
        certificates = Certificates((Issued("ca", NOW.replace(year=2036), "1"),), NOW.replace(year=2027))
        self.known.files = Files(made_for, facts, PORTS, {}, certificates, self.folder)

    def run(self, state: State = State.STARTING) -> list[str]:
        """Take the steps that are planned for processes; returns which programs were started."""
        [run] = [each for each in self.plan().actions if isinstance(each, Run)]
        for each in run.steps.start:
            self.started[each.name] = each.started
            self.processes[each.name] = ProcessStatus(each.name, state, 1, 0, each.spec.digest, "")
        for name in run.steps.stop:
            self.started.pop(name, None)
            self.processes.pop(name, None)
        return [each.program for each in run.steps.start]

    def all_are(self, state: State) -> None:
        self.processes = {name: replace(each, state=state) for name, each in self.processes.items()}

    def start_all(self) -> None:
        """Everything runs and is ready."""
        self.write_files()
        for _ in range(6):
            if not any(isinstance(each, Run) for each in self.plan().actions):
                return
            self.run()
            self.all_are(State.READY)
        raise AssertionError("it does not come to rest")
