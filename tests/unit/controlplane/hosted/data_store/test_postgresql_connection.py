from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.controlplane.hosted.data_store.postgresql_connection import Server, identifier, literal
from nagaya.controlplane.hosted.data_store.scram import kept_password, new_password, verifier

words = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)


@given(words)
def test_an_identifier_ends_where_its_quotes_do(name: str) -> None:
    quoted = identifier(name)
    assert quoted[0] == quoted[-1] == '"'
    assert quoted[1:-1].replace('""', "").count('"') == 0
    assert quoted[1:-1].replace('""', '"') == name


@given(words)
def test_a_literal_ends_where_its_quotes_do(text: str) -> None:
    quoted = literal(text)
    assert quoted.startswith((" E'", "'"))
    body = quoted[quoted.index("'") + 1 : -1].replace("''", "")
    assert "'" not in body
    if "\\" in text:
        assert body.replace("\\\\", "").count("\\") == 0


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_what_cannot_be_a_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name"):
        identifier(name)


def test_a_zero_byte_is_no_part_of_a_statement() -> None:
    with pytest.raises(ValueError, match="zero byte"):
        literal("\0")


@pytest.mark.parametrize(
    ("endpoint", "address"),
    [
        ("db.example:6432", ("db.example", 6432)),
        ("db.example", ("db.example", 5432)),
        ("10.0.0.1:5432", ("10.0.0.1", 5432)),
        ("[fd00::1]:5433", ("fd00::1", 5433)),
    ],
)
def test_an_endpoint_is_a_host_and_a_port(endpoint: str, address: tuple[str, int]) -> None:
    assert Server(endpoint, "admin").address == address


def test_the_password_of_the_administrator_is_not_shown() -> None:
    assert "s3cret" not in repr(Server("db", "admin", "s3cret"))


def test_a_verifier_is_what_postgresql_makes_of_the_same_password() -> None:
    # Made by PostgreSQL 15 itself: `CREATE ROLE t PASSWORD 'pencil'`, then read from pg_authid.
    told = (
        "SCRAM-SHA-256$4096:UfClzWy8AU3Xcqs6Z7sdeA==$6OlfasEVG+/kE1x6qVsOZzx0sjmmBY/o8gHtgHOva4o="
        ":rsVZlJlPN9F1sftbaxG9fhA/YFC44MKr+8PfUMxWGD8="
    )
    assert verifier("pencil", base64.b64decode("UfClzWy8AU3Xcqs6Z7sdeA==")) == told


def test_passwords_need_no_quoting_and_differ() -> None:
    made = {new_password() for _ in range(10)}
    assert len(made) == 10
    assert all(password.isalnum() and len(password) == 48 for password in made)


def test_a_password_is_kept_only_if_it_was_made_here() -> None:
    own = new_password().encode()
    assert kept_password(own) == own.decode()
    for other in (b"", own + b"\n", own[:-1], own.upper() + b"A", b"\xff" * 48, b"x@elsewhere:5432/postgres?a="):
        assert kept_password(other) != other.decode(errors="replace")
