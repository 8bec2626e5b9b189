import pytest

from nagaya.apiserver.meta import addresses
from nagaya.apiserver.meta.field_errors import FieldError
from support.subtest_cases import subtest_cases

NO_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
NO_NETWORK = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


def details(errors: list[FieldError]) -> list[str]:
    return [error.detail for error in errors]


@pytest.mark.parametrize("text", ["10.0.0.1", "2001:db8::1", "::"])
def test_an_address_in_canonical_form_is_fine(text: str) -> None:
    assert addresses.validate_address("f", text) == []


@subtest_cases(
    ("text", "problem"),
    [
        ("", NO_ADDRESS),
        ("1.2.3", NO_ADDRESS),
        ("1.2.3.256", NO_ADDRESS),
        ("fe80::1%eth0", NO_ADDRESS),
        ("1.2.3.4/8", NO_ADDRESS),
        ("010.0.0.1", "must not have leading 0s"),
        ("::ffff:1.2.3.4", "must not be an IPv4-mapped IPv6 address"),
        ("2001:DB8::1", 'must be in canonical form ("2001:db8::1")'),
    ],
)
def test_an_address_is_told_what_is_wrong(text: str, problem: str) -> None:
    assert details(addresses.validate_address("f", text)) == [problem]


def test_old_fields_take_other_spellings() -> None:
    assert addresses.validate_legacy_address("f", "2001:DB8::1") == []
    assert details(addresses.validate_legacy_address("f", "010.0.0.1")) == ["must not have leading 0s"]
    assert addresses.validate_legacy_address("f", "010.0.0.1", strict=False) == []
    assert addresses.validate_legacy_address("f", "nonsense", known=["nonsense"]) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("10.0.0.0", NO_NETWORK),
        ("10.0.0.0/33", NO_NETWORK),
        ("10.0.0.0/08", "must not have leading 0s in IP or prefix length"),
        ("::ffff:1.2.3.0/120", "must not have an IPv4-mapped IPv6 address"),
        ("10.0.0.1/8", "must not have bits set beyond the prefix length"),
        ("2001:DB8::/64", 'must be in canonical form ("2001:db8::/64")'),
    ],
)
def test_a_network_is_told_what_is_wrong(text: str, problem: str) -> None:
    assert details(addresses.validate_network("f", text)) == [problem]


def test_a_network_in_canonical_form_is_fine() -> None:
    assert addresses.validate_network("f", "10.0.0.0/8") == []
    assert addresses.validate_legacy_network("f", "10.0.0.1/08", strict=False) == []


def test_odd_spellings_in_old_fields_are_warned_about() -> None:
    assert addresses.address_warnings("f", "10.0.0.1") == []
    assert addresses.address_warnings("f", "010.0.0.1") == [
        'f: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"'
    ]
    assert addresses.address_warnings("f", "2001:DB8::1") == [
        'f: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")'
    ]
    assert addresses.network_warnings("f", "10.0.0.1/8") == [
        'f: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)'
    ]
    assert addresses.network_warnings("f", "::ffff:1.2.3.0/120") == [
        'f: non-standard CIDR value "::ffff:1.2.3.0/120" is invalid: use "1.2.3.0/24"'
    ]
    assert addresses.network_warnings("f", "2001:DB8::/64") == [
        'f: IPv6 CIDR value "2001:DB8::/64" should be in RFC 5952 canonical format ("2001:db8::/64")'
    ]
