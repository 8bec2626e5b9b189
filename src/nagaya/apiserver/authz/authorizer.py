"""Deciding: an authorizer allows, denies, or has no opinion; several are asked in turn until one decides.

What nobody allows is forbidden. Authorizers read memory only and are asked on every request, so they answer at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple, Protocol

from nagaya.apiserver.authn.user import MASTERS, User
from nagaya.apiserver.authz.attributes import Attributes
from nagaya.apiserver.meta.status import JsonObject


class Verdict(Enum):
    """What an authorizer says."""

    ALLOW = "allow"
    DENY = "deny"
    NO_OPINION = "no opinion"


class Decision(NamedTuple):
    """A verdict, and why."""

    verdict: Verdict
    reason: str = ""

    @property
    def allowed(self) -> bool:
        """Whether the request may go on."""
        return self.verdict is Verdict.ALLOW


ALLOWED: Final = Decision(Verdict.ALLOW)
NO_OPINION: Final = Decision(Verdict.NO_OPINION)


class Authorizer(Protocol):
    """Decides on requests."""

    def authorize(self, attributes: Attributes) -> Decision:
        """Whether this may be done."""
        ...


@dataclass(slots=True)
class Rules:
    """Everything a user may do in a namespace, as far as it can be listed."""

    resource_rules: list[JsonObject]
    non_resource_rules: list[JsonObject]
    incomplete: bool = False
    errors: tuple[str, ...] = ()


class RuleResolver(Protocol):
    """Lists what a user may do."""

    def rules_for(self, user: User, namespace: str) -> Rules:
        """The rules that apply to the user in the namespace and cluster-wide."""
        ...


class PrivilegedGroup:
    """Members of one group may do everything, whatever the roles say: the way back in when RBAC is broken."""

    def __init__(self, group: str = MASTERS) -> None:
        self._group = group

    def authorize(self, attributes: Attributes) -> Decision:
        """Allow members."""
        return ALLOWED if self._group in attributes.user.groups else NO_OPINION


class AlwaysAllow:
    """Everybody may do everything."""

    def authorize(self, attributes: Attributes) -> Decision:
        """Allow."""
        return ALLOWED

    def rules_for(self, user: User, namespace: str) -> Rules:
        """The two rules that cover everything."""
        everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
        return Rules([everything], [{"verbs": ["*"], "nonResourceURLs": ["*"]}])


class Union:
    """Authorizers asked in order; the first that decides wins. Reasons of those without opinion are kept for the
    refusal."""

    def __init__(self, authorizers: Sequence[Authorizer]) -> None:
        self._authorizers = tuple(authorizers)

    def authorize(self, attributes: Attributes) -> Decision:
        """What the first with an opinion says."""
        reasons = ""
        for authorizer in self._authorizers:
            decision = authorizer.authorize(attributes)
            if decision.verdict is not Verdict.NO_OPINION:
                return decision
            if decision.reason:
                reasons = f"{reasons}\n{decision.reason}" if reasons else decision.reason
        return Decision(Verdict.NO_OPINION, reasons) if reasons else NO_OPINION


class RuleUnion:
    """What several resolvers list, together."""

    def __init__(self, resolvers: Iterable[RuleResolver]) -> None:
        self._resolvers = tuple(resolvers)

    def rules_for(self, user: User, namespace: str) -> Rules:
        """All rules; incomplete if one of the lists is."""
        whole = Rules([], [])
        for resolver in self._resolvers:
            part = resolver.rules_for(user, namespace)
            whole.resource_rules += part.resource_rules
            whole.non_resource_rules += part.non_resource_rules
            whole.incomplete = whole.incomplete or part.incomplete
            whole.errors += part.errors
        return whole
