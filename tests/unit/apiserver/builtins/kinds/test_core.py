"""The table of kinds."""

from nagaya.apiserver.builtins.kinds.kind import Kind
from nagaya.apiserver.builtins.kinds.registry import kind_of
from nagaya.apiserver.builtins.kinds.service import ServiceStrategy
from nagaya.apiserver.meta.gvk import GroupResource

NAMES = ("namespaces", "persistentvolumeclaims", "persistentvolumes", "resourcequotas", "serviceaccounts", "services")


def kind(name: str) -> Kind:
    return kind_of(GroupResource("", name))


def test_services_of_two_servers_have_nothing_in_common() -> None:
    first, second = kind("services").main, kind("services").main
    assert isinstance(first, ServiceStrategy)
    assert first is not second


def test_some_kinds_are_returned_when_they_are_deleted() -> None:
    others = ("configmaps", "endpoints", "events", "limitranges", "nodes", "secrets")
    assert [name for name in (*NAMES, *others) if kind(name).main.returns_deleted] == list(NAMES)


def test_the_status_is_written_apart() -> None:
    for name in ("namespaces", "nodes", "persistentvolumeclaims", "persistentvolumes", "resourcequotas", "services"):
        assert kind(name).main.reset_fields == ("status",)
        assert kind(name).subresources["status"].reset_fields == ("spec",)
    assert kind("namespaces").subresources["finalize"].reset_fields == ("status",)
