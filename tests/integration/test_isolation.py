"""Test runs that share a machine: what one has chosen, no other one gets."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nagaya.simulators.netns.network import choosing
from support.ports import BLOCK, free_ports, free_range, loopback_network, only_one

TESTS = Path(__file__).parents[1]
OTHER_RUN = """
from support.ports import free_ports, free_range, loopback_network
print(*free_ports(40), *free_range(), loopback_network(), flush=True)
input()
"""
CHOOSING = """
import fcntl
with open("/proc/self/ns/net") as namespace:
    try:
        fcntl.flock(namespace, fcntl.LOCK_EX | fcntl.LOCK_NB)
        print("free")
    except BlockingIOError:
        print("taken")
"""
ALONE = """
from support.ports import only_one
with only_one({port}, 60):
    print("alone", flush=True)
    input()
"""


@contextmanager
def running(script: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, cwd=TESTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def says(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_no_two_runs_have_the_same_ports_or_addresses() -> None:
    with running(OTHER_RUN) as one, running(OTHER_RUN) as other:
        given = [says(one).split(), says(other).split(), [*map(str, free_ports(40)), *map(str, free_range())]]
        given[-1].append(loopback_network())
    assert [len(resources) for resources in given] == [40 + BLOCK + 1] * 3
    assert len({name for resources in given for name in resources}) == 3 * (40 + BLOCK + 1)


def test_a_port_that_was_given_is_refused_to_clients_and_open_to_its_server() -> None:
    [port] = free_ports(1)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=60)
    with socket.create_server(("127.0.0.1", port)):
        socket.create_connection(("127.0.0.1", port), timeout=60).close()


def test_a_port_that_cannot_be_chosen_is_waited_for_and_free_when_its_user_is_killed() -> None:
    port = free_range()[1]  # the first port is the lock of the range itself
    with running(ALONE.format(port=port)) as other:
        assert says(other) == "alone"
        with pytest.raises(TimeoutError, match=f"another test process has had port {port}"), only_one(port, 0):
            pass
    with only_one(port, 60):
        pass


async def test_addresses_of_machines_are_chosen_by_one_process_at_a_time() -> None:
    async with choosing():
        assert await asyncio.to_thread(_lock_state) == "taken"
    assert await asyncio.to_thread(_lock_state) == "free"


def _lock_state() -> str:
    with running(CHOOSING) as other:
        return says(other)
