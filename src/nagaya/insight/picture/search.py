"""The Cluster that was meant, when there is none of the name that was typed: where else it is, and what comes near."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import Final

from nagaya.kube.key import Key

SHOWN: Final = 5
ALIKE: Final = 0.6


def not_found(asked: Key, there: Collection[Key], whole: bool = True, what: str = "Cluster") -> str:
    """The sentence for a name that does not exist. `whole`: all namespaces could be looked at."""
    sentence = f"There is no {what} {asked.name} in namespace {asked.namespace}."
    elsewhere = sorted(each.namespace for each in there if each.name == asked.name)
    if elsewhere:
        hint = f" It is in {_listed(elsewhere)}: add -n {elsewhere[0]}."
    elif near := _near(asked, there):
        hint = f" Did you mean {_listed(near)}?"
    elif here := sorted(each.name for each in there if each.namespace == asked.namespace):
        hint = f" There {'is' if len(here) == 1 else 'are'}: {_listed(here)}."
    elif there:
        hint = f" There are {what}s in {_listed(sorted({each.namespace for each in there}))}: add -n NAMESPACE."
    elif whole:
        example = ": make one with `nagaya create cluster NAME`" if what == "Cluster" else ""
        hint = f" There are none at all{example}."
    else:
        hint = " There are none in this namespace, and you may not list those of others: add -n NAMESPACE."
    return sentence + hint


def _near(asked: Key, there: Iterable[Key]) -> list[str]:
    """Names that are alike, those of the namespace first."""
    keys = sorted(there, key=lambda each: (each.namespace != asked.namespace, each.namespace, each.name))
    close = get_close_matches(asked.name, [each.name for each in keys], n=SHOWN, cutoff=ALIKE)
    alike = [each for each in keys if each.name in close or asked.name in each.name]
    return [
        each.name if each.namespace == asked.namespace else f"{each.name} (-n {each.namespace})"
        for each in alike[:SHOWN]
    ]


def _listed(names: list[str]) -> str:
    rest = len(names) - SHOWN
    return ", ".join([*names[:SHOWN], *([f"... ({rest} more)"] if rest > 0 else [])])
