"""Ports and addresses of loopback that a test process has for itself, however many test runs share the machine.

A port that a test chooses is used later, by a program that the test starts. In between nobody else may take it: no
other worker, no other run (of another checkout or user), and no connection that the kernel gives a port to. So ports
come from a range that neither the kernel's ephemeral ports nor Nagaya's own defaults reach, in blocks, and a block
belongs to the process that has bound the UDP port of its first number. The kernel keeps that lock: across users,
without files, and gone with the process that held it. Nothing else about that UDP port matters.
"""

from __future__ import annotations

import contextlib
import secrets
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator

LOOPBACK = "127.0.0.1"
BLOCK = 32
"""Ports that are locked together; as many as the tenants of one test need."""
_PORTS = range(10_304, 16_384)
"""Above the ports of Kubernetes' own programs, below those of tenants (16443), simulated clusters (20000), NodePorts
(30000) and, unless an administrator has changed them, connections (32768). Konnectivity refuses those above 49151."""
_NETWORKS = range(1, 64)
"""The second numbers of loopback addresses for tests. From 64 on they are those of hosted API servers."""
_MOST_LOCKS = 24
"""Blocks and networks that a process holds at a time. The oldest is given back: whatever got it runs, or has ended."""
_MOST_HELD = 64
"""Ports that are bound at a time: far more than programs that are starting want."""
_WAIT = 0.2
"""Seconds between two attempts: the kernel does not announce that a port became free."""

_guard = threading.Lock()
_locks: deque[socket.socket] = deque()
_held: deque[socket.socket] = deque()
_rest: list[int] = []


def free_ports(count: int) -> list[int]:
    """Free loopback ports. They stay reserved until the program that receives them listens there."""
    found: list[int] = []
    with _guard:
        while len(found) < count:
            if not _rest:
                _rest.extend(_lock_block())
            with contextlib.suppress(OSError):  # a program that knows nothing of blocks listens there
                _held.append(hold_port(_rest[-1]))
                found.append(_rest[-1])
            _rest.pop()
        while len(_held) > _MOST_HELD:
            _held.popleft().close()
    return found


def free_range() -> range:
    """`BLOCK` ports in a row that nobody has, for a program that chooses from a range itself."""
    with _guard:
        return _lock_block()


def loopback_network() -> str:
    """The first three numbers of loopback addresses (`127.5.17`) at which nobody else listens, at any port."""
    with _guard:
        while True:
            network = f"127.{secrets.choice(_NETWORKS)}.{secrets.randbelow(256)}"
            if (lock := _locked(f"{network}.1", _PORTS.start)) is not None:
                _keep(lock)
                return network


@contextlib.contextmanager
def only_one(port: int, within: float) -> Iterator[None]:
    """Be the only test process of the machine that uses a port which a program does not let tests choose.

    Waits for the one that does. Raises TimeoutError if that takes longer than `within` seconds.
    """
    deadline = time.monotonic() + within
    while (lock := _locked(LOOPBACK, port)) is None:
        if time.monotonic() > deadline:
            raise TimeoutError(f"another test process has had port {port} for {within:.0f} s")
        time.sleep(_WAIT)
    with lock:
        yield


def hold_port(port: int) -> socket.socket:
    """Reserve a loopback port: while the socket is open, the kernel assigns the port to no other socket.

    The socket is bound but does not listen. Connections are refused, and a server can listen on the same port, because
    SO_REUSEADDR allows sharing with a socket that does not listen. Raises OSError if a server listens already.
    """
    made = socket.socket()
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((LOOPBACK, port))
    except BaseException:
        made.close()
        raise
    return made


def _lock_block() -> range:
    first = secrets.randbelow(len(_PORTS) // BLOCK)
    for step in range(len(_PORTS) // BLOCK):
        start = _PORTS.start + (first + step) % (len(_PORTS) // BLOCK) * BLOCK
        if (lock := _locked(LOOPBACK, start)) is None:
            continue
        block = range(start, start + BLOCK)
        if all(map(_is_free, block)):
            _keep(lock)
            return block
        lock.close()
    raise AssertionError(
        f"no {BLOCK} ports in a row are free from {_PORTS.start} to {_PORTS.stop - 1}: too many test runs at a time"
    )


def _locked(address: str, port: int) -> socket.socket | None:
    lock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        lock.bind((address, port))
    except OSError:
        lock.close()
        return None
    return lock


def _keep(lock: socket.socket) -> None:
    _locks.append(lock)
    while len(_locks) > _MOST_LOCKS:
        with _locks.popleft() as oldest:
            if _rest and oldest.getsockname() == (LOOPBACK, _rest[0]):
                _rest.clear()


def _is_free(port: int) -> bool:
    try:
        hold_port(port).close()
    except OSError:
        return False
    return True
