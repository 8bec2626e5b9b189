"""Quantities are kept in one form, exactly as Go chooses it."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.meta import quantity
from nagaya.apiserver.meta.quantity import Quantity, QuantityError
from support.subtest_cases import subtest_cases

SUFFIXES = ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-4", "e+2"]


@subtest_cases(
    ("written", "kept"),
    [
        ("0", "0"),
        ("1", "1"),
        ("0.5", "500m"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("1024Ki", "1Mi"),
        ("1.5Gi", "1536Mi"),
        ("1Ki", "1Ki"),
        ("1000k", "1M"),
        ("100000", "100k"),
        ("12e6", "12e6"),
        ("1e3", "1e3"),
        ("0.5Ki", "512"),
        ("0.0001Ki", "102400u"),
        ("-1.5", "-1500m"),
        ("12345678901234567890", "12345678901234567890"),
        ("10Ei", "9223372036854775807"),
    ],
)
def test_a_quantity_is_kept_in_canonical_form(written: str, kept: str) -> None:
    assert quantity.canonical(written) == kept


@pytest.mark.parametrize("text", ["05", "+5", "1.500", "1500Mi", "001e3"])
def test_a_form_that_go_lets_pass_is_kept_as_written(text: str) -> None:
    assert quantity.canonical(text) == text


@pytest.mark.parametrize(("written", "kept"), [("0.1n", "1n"), ("1e-12", "1e-9"), ("-0.0000000001", "-1n")])
def test_what_is_below_a_billionth_is_rounded_away_from_zero(written: str, kept: str) -> None:
    assert quantity.canonical(written) == kept


def test_beyond_the_last_suffix_none_is_printed_as_in_go() -> None:
    assert quantity.canonical("1000E") == "1"


@pytest.mark.parametrize("text", ["+", "-", ".", "0.0", "-0", "0Ki"])
def test_nothing_is_zero(text: str) -> None:
    assert quantity.canonical(text) == "0"


@pytest.mark.parametrize("text", ["", "x", "1 k", "1_0", "１", "1.2.3", "1Kix"])
def test_what_is_no_quantity_is_refused_in_gos_words(text: str) -> None:
    form = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
    with pytest.raises(QuantityError) as caught:
        quantity.parse(text)
    assert str(caught.value) == f"quantities must match the regular expression '{form}'"


@pytest.mark.parametrize("text", ["1Kii", "1e", "5-3", "--1", "1KM", "1e99999999999999999999"])
def test_an_unknown_suffix_is_refused(text: str) -> None:
    with pytest.raises(QuantityError, match="unable to parse quantity's suffix"):
        quantity.parse(text)


def test_a_suffix_alone_is_refused_when_it_needs_a_number() -> None:
    with pytest.raises(QuantityError, match="unable to parse numeric part of quantity"):
        quantity.parse("Ei")


def test_amounts_are_compared_by_value() -> None:
    assert quantity.parse("1") == quantity.parse("1000m")
    assert quantity.parse("1Ki") > quantity.parse("1k")
    assert quantity.parse("-2") < quantity.parse("-1")
    assert quantity.parse("1e1000000") > quantity.parse("9Ei")
    assert hash(quantity.parse("1")) == hash(quantity.parse("1000m"))


def test_whole_values_are_rounded_away_from_zero_and_stay_within_64_bits() -> None:
    assert quantity.parse("1500m").value == 2
    assert quantity.parse("-1500m").value == -2
    assert quantity.parse("1.0001").milli_value == 1001
    assert quantity.parse("1e2000000000").value == 2**63 - 1
    assert quantity.parse("1n").value == 1


def test_sums_keep_the_form_of_the_first_amount() -> None:
    assert str(quantity.parse("1Gi") + quantity.parse("512Mi")) == "1536Mi"
    assert str(quantity.parse("0") + quantity.parse("1Gi")) == "1Gi"
    assert str(quantity.parse("1") - quantity.parse("250m")) == "750m"


def test_a_monstrous_exponent_costs_nothing() -> None:
    huge, small = quantity.parse("1e2000000000"), quantity.parse("1")
    assert huge + small == huge
    assert small - huge < Quantity(0)
    assert not (huge < small)


def test_integers_are_recognised() -> None:
    assert quantity.parse("1000m").is_integer
    assert not quantity.parse("1m").is_integer


quantities = st.builds(
    lambda sign, whole, decimals, suffix: f"{sign}{whole}{decimals}{suffix}",
    st.sampled_from(["", "-", "+"]),
    st.integers(0, 10**20),
    st.one_of(st.just(""), st.integers(0, 10**9).map(lambda value: f".{value}")),
    st.sampled_from(SUFFIXES),
)


@given(quantities)
def test_canonical_form_is_final(text: str) -> None:
    once = quantity.canonical(text)
    if once[-1] != "1" or not text.endswith(("E", "P")):  # beyond the last suffix Go loses the magnitude
        assert quantity.canonical(once) == once


@given(st.text(max_size=12))
def test_any_text_is_a_quantity_or_refused(text: str) -> None:
    with suppress(QuantityError):
        assert quantity.canonical(text)
