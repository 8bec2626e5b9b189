from __future__ import annotations

from collections.abc import Callable

from support.subtest_cases import subtest_cases

CASES = [
    ("isIP('1.2.3')", "false"),
    ("isIP('01.2.3.4')", "false"),
    ("isIP('::ffff:1.2.3.4')", "false"),
    ("isIP('fe80::1%eth0')", "false"),
    ("ip('::ffff:1.2.3.4')", 'error: IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
    (
        "ip('1.2.3.256')",
        'error: IP Address "1.2.3.256" parse error during conversion from string: ParseAddr("1.2.3.256"): '
        "IPv4 field has value >255",
    ),
    (
        "ip('1.2.3')",
        'error: IP Address "1.2.3" parse error during conversion from string: ParseAddr("1.2.3"): IPv4 '
        "address too short",
    ),
    (
        "ip('1.2.3.4.5')",
        'error: IP Address "1.2.3.4.5" parse error during conversion from string: ParseAddr("1.2.3.4.5"): '
        "IPv4 address too long",
    ),
    (
        "ip('1..2.3')",
        'error: IP Address "1..2.3" parse error during conversion from string: ParseAddr("1..2.3"): IPv4 '
        'field must have at least one digit (at ".2.3")',
    ),
    (
        "ip('a.b.c.d')",
        'error: IP Address "a.b.c.d" parse error during conversion from string: ParseAddr("a.b.c.d"): '
        'unexpected character (at "a.b.c.d")',
    ),
    (
        "ip('::g')",
        'error: IP Address "::g" parse error during conversion from string: ParseAddr("::g"): each '
        'colon-separated field must have at least one digit (at "g")',
    ),
    (
        "ip('12345::')",
        'error: IP Address "12345::" parse error during conversion from string: ParseAddr("12345::"): each '
        'group must have 4 or less digits (at "12345::")',
    ),
    (
        "ip('1:2:3:4:5:6:7')",
        'error: IP Address "1:2:3:4:5:6:7" parse error during conversion from string: '
        'ParseAddr("1:2:3:4:5:6:7"): address string too short',
    ),
    (
        "ip('1:2:3:4:5:6:7:8:9')",
        'error: IP Address "1:2:3:4:5:6:7:8:9" parse error during conversion from string: '
        'ParseAddr("1:2:3:4:5:6:7:8:9"): trailing garbage after address (at "9")',
    ),
    (
        "ip('1::2::3')",
        'error: IP Address "1::2::3" parse error during conversion from string: ParseAddr("1::2::3"): '
        'multiple :: in address (at ":3")',
    ),
    (
        "ip(':')",
        'error: IP Address ":" parse error during conversion from string: ParseAddr(":"): each '
        'colon-separated field must have at least one digit (at ":")',
    ),
    ("ip('')", 'error: IP Address "" parse error during conversion from string: ParseAddr(""): unable to parse IP'),
    (
        "ip('%eth0')",
        'error: IP Address "%eth0" parse error during conversion from string: ParseAddr("%eth0"): missing IPv6 address',
    ),
    (
        "ip('fe80::1%')",
        'error: IP Address "fe80::1%" parse error during conversion from string: ParseAddr("fe80::1%"): zone '
        "must be a non-empty string",
    ),
    ("ip('fe80::1%eth0')", 'error: IP address "fe80::1%eth0" with zone value is not allowed'),
    ("ip('::1.2.3.4')", "a net.IP"),
    ("ip('1:2:3:4:5:6:7::')", "a net.IP"),
    (
        "ip('::1:2:3:4:5:6:7:8')",
        'error: IP Address "::1:2:3:4:5:6:7:8" parse error during conversion from string: '
        'ParseAddr("::1:2:3:4:5:6:7:8"): the :: must expand to at least one field of zeros',
    ),
    (
        "ip('01.2.3.4')",
        'error: IP Address "01.2.3.4" parse error during conversion from string: ParseAddr("01.2.3.4"): IPv4 '
        "field has octet with leading zero",
    ),
    (
        "ip('1:')",
        'error: IP Address "1:" parse error during conversion from string: ParseAddr("1:"): colon must be '
        'followed by more characters (at ":")',
    ),
    ("ip('1:2:3:4:5:6:1.2.3.4')", "a net.IP"),
    (
        "ip('1.2.3.4:1')",
        'error: IP Address "1.2.3.4:1" parse error during conversion from string: ParseAddr("1.2.3.4:1"): '
        'unexpected character (at ":1")',
    ),
    (
        "cidr('10.0.0.0')",
        "error: network address parse error during conversion from string: network address parse error during"
        " conversion from string: netip.ParsePrefix(\"10.0.0.0\"): no '/'",
    ),
    (
        "cidr('10.0.0.0/33')",
        "error: network address parse error during conversion from string: network address parse error during"
        ' conversion from string: netip.ParsePrefix("10.0.0.0/33"): prefix length out of range',
    ),
    (
        "cidr('10.0.0.0/08')",
        "error: network address parse error during conversion from string: network address parse error during"
        ' conversion from string: netip.ParsePrefix("10.0.0.0/08"): bad bits after slash: "08"',
    ),
    (
        "cidr('10.0.0.0/a')",
        "error: network address parse error during conversion from string: network address parse error during"
        ' conversion from string: netip.ParsePrefix("10.0.0.0/a"): bad bits after slash: "a"',
    ),
    (
        "cidr('x/8')",
        "error: network address parse error during conversion from string: network address parse error during"
        ' conversion from string: netip.ParsePrefix("x/8"): ParseAddr("x"): unable to parse IP',
    ),
    (
        "cidr('::ffff:1.2.3.4/96')",
        "error: network address parse error during conversion from string: IPv4-mapped IPv6 address "
        '"::ffff:1.2.3.4/96" is not allowed',
    ),
    (
        "cidr('fe80::1%e/64')",
        "error: network address parse error during conversion from string: network address parse error during"
        ' conversion from string: netip.ParsePrefix("fe80::1%e/64"): IPv6 zones cannot be present in a prefix',
    ),
    (
        "cidr('1.2.3.4/')",
        "error: network address parse error during conversion from string: network address parse error during"
        ' conversion from string: netip.ParsePrefix("1.2.3.4/"): bad bits after slash: ""',
    ),
    ("isCIDR('10.0.0.1/8')", "true"),
    ("ip.isCanonical('::1')", "true"),
    ("ip.isCanonical('0:0::1')", "false"),
    (
        "ip.isCanonical('x')",
        'error: IP Address "x" parse error during conversion from string: ParseAddr("x"): unable to parse IP',
    ),
    ("string(ip('::1'))", "'::1'"),
    ("string(cidr('10.1.2.3/8').masked())", "'10.0.0.0/8'"),
    ("cidr('10.0.0.0/8').containsIP('10.1.2.3')", "true"),
    ("cidr('10.0.0.0/8').containsIP('x')", "error: no such overload"),
    ("cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')", "true"),
    ("cidr('10.0.0.0/16').containsCIDR(cidr('10.0.0.0/8'))", "false"),
    ("cidr('10.0.0.0/8').ip().family()", "4"),
    ("cidr('10.1.2.3/8').ip() == ip('10.1.2.3')", "true"),
]


@subtest_cases(("expression", "expected"), CASES)
def test_addresses_and_networks_as_the_real_server_has_them(
    outcome_of: Callable[[str], str], expression: str, expected: str
) -> None:
    assert outcome_of(expression) == expected
