from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nagaya.kube.etcd.kv import after_prefix


@given(st.binary(max_size=6), st.binary(max_size=6))
def test_the_range_of_a_prefix_holds_its_keys_and_no_other(prefix: bytes, key: bytes) -> None:
    end = after_prefix(prefix)
    within = prefix <= key and (end == b"\x00" or key < end)
    assert within == (key.startswith(prefix) if prefix.strip(b"\xff") else prefix <= key)


def test_ends_that_need_thought() -> None:
    assert after_prefix(b"/registry/") == b"/registry0"
    assert after_prefix(b"a\xff\xff") == b"b"
    assert after_prefix(b"\xff") == b"\x00"
    assert after_prefix(b"") == b"\x00"
