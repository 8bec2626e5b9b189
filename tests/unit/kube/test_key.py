from __future__ import annotations

from nagaya.api.untyped import Untyped
from nagaya.kube.key import Key


def test_a_key_is_the_place_of_an_object() -> None:
    key = Key.of(Untyped({"metadata": {"namespace": "a", "name": "b"}}))
    assert key == Key("a", "b") == ("a", "b")
    assert str(key) == "a/b"


def test_what_is_in_no_namespace_is_a_name() -> None:
    assert str(Key("", "node")) == "node"


def test_a_key_can_be_read_back() -> None:
    for key in (Key("a", "b"), Key("", "b")):
        assert Key.parse(str(key)) == key
