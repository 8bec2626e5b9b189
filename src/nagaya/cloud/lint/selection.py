"""Which nodes a pod may run on by their labels, as far as that can be told of nodes that do not exist yet.

Of a node to come some labels are certain, some have values nobody knows yet (its name), and some may be added by
whoever makes it. So there are three answers, and `MAYBE` is never made a reproach.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum

from nagaya.cloud.lint.plain import Object, at, labels, mappings, sequence, text, texts


class Match(IntEnum):
    """Whether something fits; the worse of two is the smaller."""

    NO = 0
    MAYBE = 1
    YES = 2


@dataclass(frozen=True, slots=True)
class NodeLabels:
    """What is known of a node's labels."""

    known: Mapping[str, str | None]
    """None: the label is there, with a value that is not known."""
    absent: frozenset[str] = frozenset()
    """Labels that are certainly not there when the node is new."""
    complete: bool = False
    """Whether there are no others than the known ones."""

    def has(self, key: str) -> Match:
        """Whether the node has the label, whatever its value."""
        if key in self.known:
            return Match.YES
        return Match.NO if self.complete or key in self.absent else Match.MAYBE

    def one_of(self, key: str, values: Iterable[str]) -> Match:
        """Whether the node has the label with one of these values."""
        there = self.has(key)
        if there is not Match.YES:
            return there
        value = self.known[key]
        if value is None:
            return Match.MAYBE
        return Match.YES if value in values else Match.NO


def fits(pod: Object, node: NodeLabels) -> Match:
    """Whether nodeSelector and required node affinity let a pod on a node."""
    selector = labels(pod.get("nodeSelector"))
    found = min((node.one_of(key, (value,)) for key, value in selector.items()), default=Match.YES)
    required = at(pod, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return found
    terms = (_term(each, node) for each in mappings(at(required, "nodeSelectorTerms")))
    return min(found, max(terms, default=Match.NO))


def selected_labels(pod: Object) -> set[str]:
    """The labels that a pod asks a node for."""
    required = at(pod, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    wanted = {
        text(each.get("key"))
        for term in mappings(at(required, "nodeSelectorTerms"))
        for each in mappings(term.get("matchExpressions"))
        if each.get("operator") in ("In", "Exists")
    }
    return wanted | set(labels(pod.get("nodeSelector")))


def _term(term: Object, node: NodeLabels) -> Match:
    """All of its requirements; a term without any selects nothing."""
    expressions = list(mappings(term.get("matchExpressions")))
    if not expressions and not sequence(term.get("matchFields")):
        return Match.NO
    found = min((_requirement(each, node) for each in expressions), default=Match.YES)
    return min(found, Match.MAYBE) if sequence(term.get("matchFields")) else found


def _requirement(each: Object, node: NodeLabels) -> Match:
    key, values = text(each.get("key")), texts(each.get("values"))
    match each.get("operator"):
        case "In":
            return node.one_of(key, values)
        case "NotIn":
            return _not(node.one_of(key, values))
        case "Exists":
            return node.has(key)
        case "DoesNotExist":
            return _not(node.has(key))
    return min(node.has(key), Match.MAYBE)


def _not(match: Match) -> Match:
    return Match(Match.YES - match)


def selects(selector: object, subject: Mapping[str, str]) -> bool:
    """Whether a label selector (matchLabels, matchExpressions) selects an object whose labels are all known."""
    if any(subject.get(key) != value for key, value in labels(at(selector, "matchLabels")).items()):
        return False
    node = NodeLabels(dict(subject), complete=True)
    return all(_requirement(each, node) is Match.YES for each in mappings(at(selector, "matchExpressions")))
