from __future__ import annotations

import pytest

from nagaya.apiserver.authn.facts import RequestFacts
from nagaya.apiserver.authn.static_tokens import StaticTokens, read_file
from nagaya.apiserver.authn.user import User

BOB = User("bob", "1", ("dev",))


def test_a_known_token_is_its_users() -> None:
    tokens = StaticTokens({"s3cret": BOB}, ("api",))
    identity = tokens.authenticate_token("s3cret", RequestFacts(audiences=("x", "api")))
    assert identity is not None
    assert (identity.user, identity.audiences) == (BOB, ("api",))


def test_an_unknown_token_is_nobodys() -> None:
    assert StaticTokens({"s3cret": BOB}).authenticate_token("s3cre", RequestFacts()) is None


def test_a_token_that_is_no_proper_text_is_nobodys() -> None:
    for odd in ("\udc80", "\ud800", "\U0001f600"):
        assert StaticTokens({"s3cret": BOB}).authenticate_token(odd, RequestFacts()) is None


def test_an_empty_token_never_counts() -> None:
    assert StaticTokens({"": BOB}).authenticate_token("", RequestFacts()) is None


def test_a_static_token_is_not_meant_for_others() -> None:
    assert StaticTokens({"s3cret": BOB}, ("api",)).authenticate_token("s3cret", RequestFacts(audiences=("x",))) is None


def test_the_tokens_are_not_kept_in_clear() -> None:
    assert "s3cret" not in repr(vars(StaticTokens({"s3cret": BOB})))


def test_a_file_lists_users_with_and_without_groups() -> None:
    text = 'a,alice,1\nb,bob,2,"dev,ops"\n\nc,carol,3,one,ignored\n'
    assert read_file(text, "f") == {
        "a": User("alice", "1"),
        "b": User("bob", "2", ("dev", "ops")),
        "c": User("carol", "3", ("one",)),
    }


def test_in_a_file_the_later_of_two_equal_tokens_counts_and_empty_ones_do_not() -> None:
    assert read_file("a,alice,1\n,nobody,2\na,bob,3\n", "f") == {"a": User("bob", "3")}


def test_a_file_with_too_few_columns_is_refused_without_quoting_the_token() -> None:
    with pytest.raises(ValueError, match="token file 'f' must have at least 3 columns") as failure:
        read_file("hush,alice\n", "f")
    assert "hush" not in str(failure.value)
