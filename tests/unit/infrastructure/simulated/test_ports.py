"""Which ports simulated clusters get."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.apiserver.server import bind
from nagaya.infrastructure.simulated.ports import FIRST, LAST, choose
from nagaya.infrastructure.simulated.tenants import Tenants
from nagaya.world import World


@given(st.lists(st.uuids(), min_size=1, max_size=50, unique=True))
def test_no_port_is_given_twice(uids: list[object]) -> None:
    taken: set[int] = set()
    for uid in uids:
        port = choose(str(uid), lambda port: port not in taken)
        assert port is not None
        assert FIRST <= port <= LAST
        taken.add(port)
    assert len(taken) == len(uids)


def test_the_same_cluster_gets_the_same_port() -> None:
    assert choose("a", lambda _: True) == choose("a", lambda _: True)


def test_the_last_free_port_is_found() -> None:
    assert choose("a", lambda port: port == LAST) == LAST
    assert choose("a", lambda _: False) is None


def test_a_port_that_somebody_listens_at_is_not_free() -> None:
    with bind("127.0.0.1", 0) as sock:
        sock.listen()
        endpoint = Endpoint(host="127.0.0.1", port=sock.getsockname()[1])
        assert not Tenants(World()).free(endpoint)
        assert Tenants(World(), listen=False).free(endpoint)
