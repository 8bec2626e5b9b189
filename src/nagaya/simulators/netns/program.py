"""The smallest program that is of use in a container: it says a sentence, waits for SIGTERM, and ends.

Containers of tests need a program, and no registry may be asked for one. So it is written here byte by byte: an ELF
file with one segment, for the two architectures that nodes have. Without a sentence it is the `pause` of pod sandboxes.
"""

from __future__ import annotations

import platform
import struct
from typing import Final

ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
"""As the kernel calls them, and as images do."""

_BASE: Final = 0x400000
_HEADERS: Final = 64 + 56
_SIGNALS: Final = struct.pack("<Q", 1 << (15 - 1) | 1 << (2 - 1))  # SIGTERM, SIGINT

# rt_sigprocmask(SIG_BLOCK, signals, 0, 8); write(1, message, length);
# again: rt_sigtimedwait(signals, 0, 0, 8) < 0: goto again; exit(0). Then the signals, then the message.
_AMD64: Final = (
    "b80e000000"  # mov eax, 14
    "31ff"  # xor edi, edi
    "488d3547000000"  # lea rsi, [signals]
    "31d2"  # xor edx, edx
    "41ba08000000"  # mov r10d, 8
    "0f05"  # syscall
    "b801000000"  # mov eax, 1
    "bf01000000"  # mov edi, 1
    "488d3534000000"  # lea rsi, [message]
    "ba{length}"  # mov edx, length
    "0f05"  # syscall
    "b880000000"  # again: mov eax, 128
    "488d3d19000000"  # lea rdi, [signals]
    "31f6"  # xor esi, esi
    "31d2"  # xor edx, edx
    "41ba08000000"  # mov r10d, 8
    "0f05"  # syscall
    "85c0"  # test eax, eax
    "78e4"  # js again
    "b83c000000"  # mov eax, 60
    "31ff"  # xor edi, edi
    "0f05"  # syscall
)
_MACHINES: Final = {"amd64": 62, "arm64": 183}


class UnknownArchitecture(LookupError):
    """There is no program for this host; the message says for which there is one."""


def architecture() -> str:
    """What images call this host's architecture. Raises UnknownArchitecture."""
    machine = platform.machine()
    if machine not in ARCHITECTURES:
        known = " or ".join(ARCHITECTURES)
        raise UnknownArchitecture(f"There is no container program for {machine}: machines need {known}.")
    return ARCHITECTURES[machine]


def program(message: str = "", *, architecture: str) -> bytes:
    """The file."""
    text = message.encode()
    code = _amd64(len(text)) if architecture == "amd64" else _arm64(len(text))
    content = code + _SIGNALS + text
    size = _HEADERS + len(content)
    header = struct.pack(
        "<4sBBBB8xHHIQQQIHHHHHH",
        b"\x7fELF",
        *(2, 1, 1, 0),  # 64 bit, little-endian, version 1, System V
        *(2, _MACHINES[architecture], 1),  # executable
        *(_BASE + _HEADERS, 64, 0, 0),  # starts behind the headers
        *(64, 56, 1, 0, 0, 0),
    )
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, _BASE, _BASE, size, size, 0x10000)  # loaded; read and execute
    return header + segment + content


def _amd64(length: int) -> bytes:
    return bytes.fromhex(_AMD64.format(length=struct.pack("<I", length).hex()))


def _arm64(length: int) -> bytes:
    def mov(register: int, value: int) -> int:
        return 0xD2800000 | value << 5 | register

    def adr(register: int, words: int, extra: int = 0) -> int:
        distance = words * 4 + extra
        return 0x10000000 | (distance & 3) << 29 | (distance >> 2) << 5 | register

    if length > 0xFFFF:
        raise ValueError("the sentence is too long")
    call = 0xD4000001  # svc #0
    words = [
        *(mov(0, 0), adr(1, 20), mov(2, 0), mov(3, 8), mov(8, 135), call),
        *(mov(0, 1), adr(1, 14, 8), mov(2, length), mov(8, 64), call),
        *(adr(0, 10), mov(1, 0), mov(2, 0), mov(3, 8), mov(8, 137), call),
        0xB7F80000 | ((-6 & 0x3FFF) << 5),  # tbnz x0, #63, six words back
        *(mov(0, 0), mov(8, 93), call),
    ]
    return struct.pack(f"<{len(words)}I", *words)
