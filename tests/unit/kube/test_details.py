from __future__ import annotations

import asyncio

from nagaya.kube.details import LONGEST_WAIT, Details
from support.virtual_run import run


def test_details_wait_from_when_they_could_first_be_told() -> None:
    async def main() -> None:
        details = Details()
        assert details.wait("a", 1.0) == 1.0
        await asyncio.sleep(0.75)
        assert details.wait("a", 1.0) == 0.25
        assert details.wait("b", 1.0) == 1.0
        await asyncio.sleep(0.25)
        assert details.wait("a", 1.0) is None
        assert details.wait("a", 1.0) is None  # a write that fails does not make them wait again
        details.told("a")
        assert details.wait("a", 1.0) == 1.0

    run(main())


def test_they_wait_longer_while_writes_take_long_but_not_for_ever() -> None:
    async def main() -> None:
        details = Details()
        for _ in range(100):
            details.took(1.0)
        wait = details.wait("a", 0.5)
        assert wait is not None
        assert 2.5 < wait <= 3.0
        for _ in range(100):
            details.took(60.0)
        assert details.wait("a", 0.5) == LONGEST_WAIT
        for _ in range(100):
            details.took(0.0)
        assert details.wait("a", 0.5) == 0.5

    run(main())


def test_what_is_never_asked_for_again_is_forgotten() -> None:
    async def main() -> None:
        details = Details()
        for number in range(100):
            details.wait(str(number), 1.0)
        await asyncio.sleep(1500)
        assert details.wait("0", 1.0) is None
        await asyncio.sleep(1500)
        assert details.wait("0", 1.0) is None
        assert details.wait("1", 1.0) == 1.0

    run(main())
