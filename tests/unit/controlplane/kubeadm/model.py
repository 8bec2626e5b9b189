"""A harbour that plays the world around a control plane: machines come up step by step, etcd counts its members.

Every look is one reconcile. What the plan says happens at once in the model; then everything else takes one step:
machines are placed, become Nodes, their members learn and then vote, machines that go are drained and wait for their
hook. After every action it is checked that etcd still has its quorum and that only one thing happens at a time.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import msgspec

from nagaya.api.bootstrap.kubeadm_config import KubeadmConfig
from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.machine import Machine
from nagaya.api.controlplane.names import PRE_TERMINATE_HOOK_CLEANUP, REMEDIATION_FOR, REMEDIATION_IN_PROGRESS
from nagaya.clusters.node import Node
from nagaya.controlplane.kubeadm import actions as act
from nagaya.controlplane.kubeadm.health.examine import examine
from nagaya.controlplane.kubeadm.hosts import Host
from nagaya.controlplane.kubeadm.plan import Plan, plan
from nagaya.controlplane.kubeadm.quorum import quorum
from nagaya.controlplane.kubeadm.rollout import max_surge
from nagaya.controlplane.kubeadm.seen import Connection, Seen
from nagaya.controlplane.kubeadm.status import status
from nagaya.controlplane.kubeadm.tenant_seen import COMPONENTS, EtcdSeen, MemberSeen, PodSeen, TenantSeen, pod_name
from support.builders import NOW, date
from unit.controlplane.kubeadm.examples import KcpDraft, Pilot, cluster, config, host, node, pilot, template

STEP = timedelta(seconds=30)
MOST_LOOKS = 120


@dataclass
class Harbour:
    """The world around one control plane."""

    kcp: KcpDraft
    cluster: Cluster = field(default_factory=cluster)
    shuffled: random.Random | None = None
    now: datetime = NOW
    machines: dict[str, Pilot] = field(default_factory=dict)
    configs: dict[str, KubeadmConfig] = field(default_factory=dict)
    hosts: dict[str, Host] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    members: list[MemberSeen] = field(default_factory=list)
    leader: int | None = None
    started: bool = False
    stuck: set[str] = field(default_factory=set)
    """Machines that never become Nodes."""
    sick: set[str] = field(default_factory=set)
    """Machines on which nothing works any more."""
    made: int = 0
    lines: list[str] = field(default_factory=list)
    templates: str = "boat"
    most: int = 0
    """How many machines there were, or were to be, when it began."""
    fewest: int = 0
    """How many machines worked when it began."""

    # What the control plane sees and does

    def see(self) -> Seen:
        machines = tuple(self.machines[name].it for name in sorted(self.machines))
        return Seen(
            kcp=self.kcp.made(),
            cluster=self.cluster,
            now=self.now,
            template=template(),
            machines=machines,
            configs=dict(self.configs),
            hosts=dict(self.hosts),
            connection=Connection(self.now),
            tenant=self._tenant() if self.started else None,
            settled=True,
        )

    def look(self) -> Plan:
        """One reconcile."""
        found = self.see()
        before = examine(found)
        decided = plan(before)
        self.lines.append(f"look    {self._shown()}   | {decided.why}")
        created_or_deleted = [
            each for each in decided.actions if isinstance(each, act.CreateMachine | act.DeleteMachine)
        ]
        assert len(created_or_deleted) <= 1, self.lines[-1]
        for action in decided.actions:
            self._do(action)
            self.check(action)
        after = examine(replace(self.see(), tenant=found.tenant))
        told = msgspec.to_builtins(status(after, decided, complete=True))
        self.kcp = self.kcp.having(status=told)
        return decided

    def _do(self, action: act.Action) -> None:
        match action:
            case act.CreateMachine(failure_domain=domain, join=join):
                self.create(domain, join=join)
            case act.DeleteMachine(machine=machine):
                self.delete(machine.metadata.name)
            case act.MoveLeader(leader=leader, candidates=candidates):
                assert leader == self._name_of(self.leader)
                self.leader = next(each.id for each in self.members if each.name == candidates[0])
                self.lines.append(f"        {candidates[0]} leads etcd")
            case act.RemoveMember(member=member):
                self.members = [each for each in self.members if each.id != member.id]
                self.lines.append(f"        etcd member {member.name or '(no name)'} is removed")
                self._elect()
            case act.RemoveHook(machine=machine):
                self._change(machine, metadata={"annotations": {PRE_TERMINATE_HOOK_CLEANUP: None}})
                self.lines.append(f"        {machine.metadata.name} may go")
            case act.RememberRemediation(record=record):
                self.kcp = self.kcp.annotated({REMEDIATION_IN_PROGRESS: record})
            case act.TellMachine(machine=machine, conditions=told) if machine.metadata.name in self.machines:
                self._change(machine, status={"conditions": msgspec.to_builtins(told)})
            case act.TellRemediation(machine=machine, condition=said) if machine.metadata.name in self.machines:
                draft = self.machines[machine.metadata.name]
                if said is not None:
                    changed = draft.reporting(said.type, said.status, said.reason, said.message, since=self.now)
                    self.machines[machine.metadata.name] = changed
                    self.lines.append(f"        {machine.metadata.name}: {said.message}")
            case _:
                pass

    def check(self, action: act.Action) -> None:
        """What must hold after every single action."""
        if isinstance(action, act.RemoveMember):
            voting = [each for each in self.members if each.name and not each.learner]
            works = [each for each in voting if each.name not in self.sick]
            assert len(works) >= quorum(len(voting)), f"etcd lost its quorum: {self.lines[-1]}"
            assert self.leader in {each.id for each in self.members}
        if isinstance(action, act.CreateMachine | act.DeleteMachine):
            replicas = self.kcp.made().spec.replicas or 1
            moving = [name for name in self.machines if self.stage(name) not in ("running", "stuck")]
            assert len(moving) <= 1, f"{moving}: {self.lines[-1]}"
            assert len(self.machines) <= max(replicas + 1, self.most), self.lines[-1]
            # Without a surge one machine is missing at most, with one none is; unless one was given up.
            well = [name for name in self.machines if self.stage(name) == "running" and name not in self.sick]
            fewest = min(replicas, self.fewest) - (1 if max_surge(self.kcp.made()) == 0 else 0)
            if isinstance(action, act.DeleteMachine) and action.failure == "FailedScaleDown":
                assert len(well) >= fewest, self.lines[-1]

    # What everybody else does

    def create(self, domain: str = "", *, join: bool) -> str:
        self.made += 1
        name = f"m{self.made}"
        owner = self.kcp.made()
        draft = (
            pilot(name, owner, owner.spec.version).in_domain(domain)
            if domain
            else pilot(name, owner, owner.spec.version)
        )
        draft = draft.having(metadata={"creationTimestamp": date(self.now)})
        if record := owner.metadata.annotations.get(REMEDIATION_IN_PROGRESS):
            draft = draft.annotated({REMEDIATION_FOR: record})
        self.machines[name] = draft
        self.configs[name] = config(name, owner, join=join)
        self.hosts[name] = host(name, self.templates)
        where = f" in {domain}" if domain else ""
        self.lines.append(f"        {name} is made{where} to {'join' if join else 'start the cluster'}")
        return name

    def delete(self, name: str) -> None:
        self.machines[name] = self.machines[name].deleting(self.now)
        self.lines.append(f"        {name} is deleted")

    def give_up(self, name: str) -> None:
        """A health check gives a machine up."""
        self.machines[name] = self.machines[name].given_up()
        self.lines.append(f"        {name} is given up by its health check")

    def fall_sick(self, name: str) -> None:
        """Nothing works any more on a machine, and its health check notices."""
        self.sick.add(name)
        self.lines.append(f"        {name} falls sick")
        self._elect()
        self.give_up(name)

    def pass_time(self) -> None:
        """Everybody takes one step; in the shuffled harbour some do not."""
        self.now += STEP
        for name in [*self.machines]:
            if self.shuffled is not None and self.shuffled.random() < 0.4:
                continue
            self._advance(name)

    def _advance(self, name: str) -> None:
        machine = self.machines[name]
        if machine.it.metadata.deleting:
            self._tear_down(name, machine.it)
            return
        match self.stage(name):
            case "made":
                self.machines[name] = machine.having(spec={"providerID": f"boat:///{name}"})
            case "placed":
                self._start(name)
            case "learning":
                self.members = [replace(each, learner=False) if each.name == name else each for each in self.members]
            case _:
                pass

    def _start(self, name: str) -> None:
        join = self.configs[name].spec.join_configuration.control_plane is not None
        self.nodes[name] = node(name, metadata={"creationTimestamp": date(self.now)})
        self.machines[name] = self.machines[name].joined()
        self.members.append(MemberSeen(self.made * 100 + len(self.members), name, learner=join))
        if not join:
            self.started = True
        self._elect()
        self.lines.append(f"        {name} is a Node")

    def _tear_down(self, name: str, machine: Machine) -> None:
        if PRE_TERMINATE_HOOK_CLEANUP in machine.metadata.annotations:
            waiting = ("Deleting", "True", "WaitingForPreTerminateHook")
            self.machines[name] = self.machines[name].reporting(*waiting, since=self.now)
            return
        del self.machines[name], self.configs[name], self.hosts[name]
        self.nodes.pop(name, None)
        self.sick.discard(name)
        self.stuck.discard(name)
        if not self.nodes:
            self.started, self.members, self.leader = False, [], None
        self.lines.append(f"        {name} is gone")

    # What follows from that

    def stage(self, name: str) -> str:
        machine = self.machines[name].it
        if machine.metadata.deleting:
            return "going"
        if not machine.spec.provider_id:
            return "made"
        if name in self.stuck:
            return "stuck"
        if name not in self.nodes:
            return "placed"
        found = next((each for each in self.members if each.name == name), None)
        return "learning" if found is not None and found.learner else "running"

    def _elect(self) -> None:
        """Somebody who can leads, if the leader cannot."""
        able = [each.id for each in self.members if not each.learner and each.name not in self.sick]
        if self.leader not in able:
            self.leader = able[0] if able else None

    def _name_of(self, id: int | None) -> str:
        return next((each.name for each in self.members if each.id == id), "")

    def _tenant(self) -> TenantSeen:
        members = tuple(replace(each, alarms=("CORRUPT",)) if each.name in self.sick else each for each in self.members)
        pods = {
            pod_name(component, name): PodSeen("Running", ready=name not in self.sick)
            for name in self.nodes
            for component in COMPONENTS
        }
        voting = [each for each in self.members if not each.learner]
        able = [each for each in voting if each.name not in self.sick]
        known = EtcdSeen(members, self.leader) if len(able) >= quorum(len(voting)) else EtcdSeen(problem="no quorum")
        return TenantSeen(kubeadm_config=True, nodes=dict(self.nodes), pods=pods, etcd=known)

    def _change(self, machine: Machine, **parts: Any) -> None:
        name = machine.metadata.name
        self.machines[name] = self.machines[name].having(**parts)

    def _shown(self) -> str:
        marks = {"made": "?", "placed": "?", "stuck": "?", "learning": "~", "going": "-", "running": ""}
        shown = []
        for name in sorted(self.machines, key=lambda each: int(each[1:])):
            mark = marks[self.stage(name)] + ("!" if name in self.sick else "")
            lead = "*" if self._name_of(self.leader) == name else ""
            shown.append(f"{lead}{name}{mark}")
        return " ".join(shown) or "nothing"

    def settle(self, count: int) -> None:
        """Begin with so many machines on which everything runs."""
        for number in range(count):
            name = self.create(join=number > 0)
            self.machines[name] = self.machines[name].having(spec={"providerID": f"boat:///{name}"})
            self._start(name)
            self._advance(name)
            self.now += STEP
        self.kcp = self.kcp.initialized()
        self.look()
        self.now += STEP
        self.look()
        self.lines.clear()

    def run(self, done: Callable[[Harbour], bool]) -> str:
        """The timeline until all is done and nothing is left to do."""
        self.most = max(self.most, len(self.machines))
        self.fewest = len([name for name in self.machines if self.stage(name) == "running" and name not in self.sick])
        for _ in range(MOST_LOOKS):
            decided = self.look()
            if done(self) and decided.why == "All machines are as declared.":
                return "\n".join([*self.lines, f"done    {self._shown()}", ""])
            self.pass_time()
        raise AssertionError("it does not end:\n" + "\n".join(self.lines))


def all_run(replicas: int) -> Callable[[Harbour], bool]:
    """Whether so many machines run and no other is there."""

    def done(here: Harbour) -> bool:
        version = here.kcp.made().spec.version
        current = all(each.it.spec.version == version for each in here.machines.values())
        well = all(here.stage(name) == "running" and name not in here.sick for name in here.machines)
        return len(here.machines) == replicas and current and well

    return done
