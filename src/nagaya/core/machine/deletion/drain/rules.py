"""MachineDrainRules, ready to be asked: those that are for one machine, by name, with their selectors understood."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from nagaya.api.admission.selector import InvalidSelector, Selector, read
from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.machine_drain_rule import DrainRule, MachineDrainRule
from nagaya.api.cluster.selector import LabelSelector

Labels = Mapping[str, str]
_EVERYTHING = Selector(())


class InvalidRule(ValueError):
    """A rule that cannot be understood. Nothing is drained then: it might have been about a pod that must stay."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What becomes of some pods. Each pair of selectors is one for pods and one for their Namespace."""

    name: str
    drain: DrainRule
    pods: tuple[tuple[Selector, Selector], ...]

    @property
    def asks_namespaces(self) -> bool:
        """Whether labels of Namespaces matter."""
        return any(namespaces.requirements for _, namespaces in self.pods)

    def applies(self, pod: Labels, namespace: Labels) -> bool:
        """Whether it is about a pod with these labels, in a Namespace with those."""
        return not self.pods or any(own.matches(pod) and around.matches(namespace) for own, around in self.pods)


def rules_for(machine: Machine, cluster: Cluster, rules: Iterable[MachineDrainRule]) -> tuple[Rule, ...]:
    """The rules for a machine, by name: the first that applies to a pod counts. Raises InvalidRule."""
    found: list[Rule] = []
    problems: list[str] = []
    for rule in sorted(rules, key=lambda each: each.metadata.name):
        name, spec = rule.metadata.name, rule.spec
        try:
            machines = [(_read(each.selector), _read(each.cluster_selector)) for each in spec.machines]
            pods = tuple((_read(each.selector), _read(each.namespace_selector)) for each in spec.pods)
        except InvalidSelector as error:
            problems.append(f"invalid selectors in MachineDrainRule {name}: {error}")
            continue
        own, around = machine.metadata.labels, cluster.metadata.labels
        if not machines or any(one.matches(own) and other.matches(around) for one, other in machines):
            found.append(Rule(name, spec.drain, pods))
    if problems:
        raise InvalidRule(f"failed to get matching MachineDrainRules: {', '.join(problems)}")
    return tuple(found)


def _read(selector: LabelSelector | None) -> Selector:
    return _EVERYTHING if selector is None else read(selector)
