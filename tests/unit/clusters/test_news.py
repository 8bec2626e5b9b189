from __future__ import annotations

from nagaya.api.meta import ObjectMeta
from nagaya.clusters.news import changed_kind, is_news
from nagaya.kube.cache.change import Change
from nagaya.kube.contract_kinds import Definition, DefinitionSpec, Names
from support.builders import machine

OLD = machine("a").made()
NEW = machine("a").having(status={"phase": "Running"}).made()


def definition(**labels: str) -> Definition:
    spec = DefinitionSpec(group="boats.example.com", names=Names(kind="Raft", plural="rafts"))
    return Definition(metadata=ObjectMeta(name="rafts.boats.example.com", labels=labels), spec=spec)


def test_what_comes_or_goes_is_news() -> None:
    assert is_news(Change(None, NEW), lambda _: None)
    assert is_news(Change(OLD, None), lambda _: None)


def test_only_what_matters_is_news() -> None:
    assert is_news(Change(OLD, NEW), lambda each: each.status.phase)
    assert not is_news(Change(OLD, NEW), lambda each: each.spec)


def test_a_kind_that_is_installed_removed_or_served_differently_is_named() -> None:
    before, after = definition(), definition(contract="v1beta2")
    assert changed_kind(Change(None, before)) == "Raft.boats.example.com"
    assert changed_kind(Change(before, None)) == "Raft.boats.example.com"
    assert changed_kind(Change(before, after)) == "Raft.boats.example.com"
    assert changed_kind(Change(after, definition(contract="v1beta2"))) == ""
