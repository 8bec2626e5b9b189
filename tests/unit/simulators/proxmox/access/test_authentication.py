from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from nagaya.simulators.proxmox.access.authentication import Identity, Unauthenticated, check_password, identify
from nagaya.simulators.proxmox.access.rights import Caller
from nagaya.simulators.proxmox.access.tickets import Tickets
from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.state.access import Access, Token, User
from nagaya.world import World
from support.subtest_cases import subtest_cases

WORLD = World(random=random.Random(1))
TICKETS = Tickets(WORLD)
LONG_AGO = 1000000000


def access() -> Access:
    tokens = {"t1": Token("s1"), "old": Token("s", expire=LONG_AGO)}
    return Access(
        users={
            "root@pam": User(password="r"),
            "alice@pve": User(password="a", tokens=tokens),
            "bob@pve": User(enable=False, tokens={"t1": Token("s")}),
            "carol@pve": User(expire=LONG_AGO, tokens={"t1": Token("s")}),
            "dave@nosuch": User(password="d"),
            "eve@pve": User(),
        }
    )


def identified(headers: Mapping[str, str], method: str = "GET", path: str = "/version") -> Identity:
    return identify(method, path, headers, access(), TICKETS, WORLD.clock)


@pytest.mark.parametrize("mark", ["=", " "])
def test_a_token_is_taken_from_the_header(mark: str) -> None:
    found = identified({"authorization": f"PVEAPIToken{mark}alice@pve!t1=s1"}, "POST")
    assert found == Identity(Caller("alice@pve", "t1"), token_given=True)


@subtest_cases(
    "given",
    [
        "alice@pve!t1=s2",
        "alice@pve!t1",
        "alice@pve!t2=s1",
        "nobody@pve!t1=s",
        "alice@pve!old=s",
        "bob@pve!t1=s",
        "carol@pve!t1=s",
        "alice=s",
        "=s",
    ],
)
def test_whatever_is_wrong_with_a_token_the_answer_is_the_same(given: str) -> None:
    with pytest.raises(Unauthenticated, match=r"^Authentication failed!$"):
        identified({"authorization": f"PVEAPIToken={given}"})


@pytest.mark.parametrize("header", [{}, {"authorization": "Bearer x"}, {"cookie": "other=1"}, {"cookie": ""}])
def test_who_shows_nothing_has_no_ticket(header: dict[str, str]) -> None:
    with pytest.raises(Unauthenticated, match=r"^No ticket$"):
        identified(header)


def test_a_ticket_is_found_among_other_cookies_and_counts_before_a_token() -> None:
    ticket = TICKETS.ticket("root@pam").replace("=", "%3D")
    both = {"cookie": f"a=1; PVEAuthCookie={ticket}; b=2", "authorization": "PVEAPIToken=alice@pve!t1=s1"}
    assert identified(both) == Identity(Caller("root@pam", ticket=True))


@pytest.mark.parametrize("user", ["bob@pve", "carol@pve", "nobody@pve"])
def test_a_good_ticket_of_somebody_who_may_no_longer_log_in_is_refused(user: str) -> None:
    with pytest.raises(Unauthenticated, match=r"^Authentication failed!$"):
        identified({"cookie": f"PVEAuthCookie={TICKETS.ticket(user)}"})


def test_what_changes_something_needs_a_token_against_forgery_unless_it_is_a_file() -> None:
    cookie = {"cookie": f"PVEAuthCookie={TICKETS.ticket('root@pam')}"}
    with pytest.raises(Unauthenticated, match=r"^Permission denied - invalid csrf token$"):
        identified(cookie, "DELETE")
    right = {**cookie, "csrfpreventiontoken": TICKETS.forgery_token("root@pam")}
    assert identified(right, "DELETE").caller.user == "root@pam"
    assert identified(cookie, "POST", "/nodes/pve1/storage/local/upload").upload == "local"


@pytest.mark.parametrize(("method", "path"), [("GET", "/access/domains"), ("POST", "/access/ticket")])
def test_logging_in_needs_no_credentials_and_forgets_those_given(method: str, path: str) -> None:
    assert identified({}, method, path) == Identity(Caller(""))
    assert identified({"authorization": "PVEAPIToken=x"}, method, path) == Identity(Caller(""), token_given=True)


@pytest.mark.parametrize(
    ("user", "password", "why"),
    [
        ("root@pam", "x", "Authentication failure"),
        ("alice@pve", "x", "invalid credentials"),
        ("alice@pve", "", "no password"),
        ("eve@pve", "x", "no password set"),
        ("dave@nosuch", "d", "auth domain 'nosuch' does not exist"),
    ],
)
def test_a_wrong_password_is_refused_in_the_words_of_the_realm(user: str, password: str, why: str) -> None:
    with pytest.raises(Failure, match=f"^{why}\n"):
        check_password(user, password, access())


def test_a_right_password_is_accepted() -> None:
    check_password("alice@pve", "a", access())
    check_password("root@pam", "r", access())
