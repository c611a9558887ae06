"""Dynamic batching: fair turns, shared batches, lost clients and failing work, without any model."""

import asyncio
import threading
import time

import pytest

from graphfnp.service.batching import Batcher, Busy, Kind

KIND = Kind("double", 0.9, 8)


class Doubling:
    """Doubles numbers, remembers the batches, and can be held back."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.go = threading.Event()
        self.go.set()

    def __call__(self, kind: Kind, rows: list[int]) -> list[int]:
        self.go.wait(10)
        self.batches.append(list(rows))
        if -1 in rows:
            raise ValueError("no good")
        return [2 * row for row in rows]


def with_batcher(scenario, most_waiting: int = 1000):
    work = Doubling()
    batcher = Batcher(work, most_waiting)
    try:
        return asyncio.run(scenario(batcher, work))
    finally:
        work.go.set()
        batcher.close()


def test_every_request_gets_its_own_answers_in_order() -> None:
    async def scenario(batcher: Batcher, work: Doubling) -> None:
        requests = [list(range(k, k + k % 23 + 1)) for k in range(60)]
        answers = await asyncio.gather(*(batcher.run(KIND, rows) for rows in requests))
        assert answers == [[2 * row for row in rows] for rows in requests]
        assert max(map(len, work.batches)) <= KIND.rows

    with_batcher(scenario)


def test_waiting_requests_share_a_batch() -> None:
    async def scenario(batcher: Batcher, work: Doubling) -> None:
        work.go.clear()
        tasks = [asyncio.ensure_future(batcher.run(KIND, [k])) for k in range(9)]
        await asyncio.sleep(0.05)
        work.go.set()
        await asyncio.gather(*tasks)
        assert len(work.batches) <= 3  # the first one or eight, then the rest together

    with_batcher(scenario)


def test_a_small_request_does_not_wait_for_a_large_one() -> None:
    async def scenario(batcher: Batcher, work: Doubling) -> None:
        work.go.clear()
        large = asyncio.ensure_future(batcher.run(KIND, list(range(800))))
        await asyncio.sleep(0.05)
        small = asyncio.ensure_future(batcher.run(KIND, [1000]))
        await asyncio.sleep(0.05)
        work.go.set()
        assert await small == [2000]
        place = next(k for k, batch in enumerate(work.batches) if 1000 in batch)
        assert place <= 1  # the batch that was under way, then its own
        assert await large == [2 * k for k in range(800)]

    with_batcher(scenario)


def test_a_large_request_is_served_however_many_small_ones_come() -> None:
    async def scenario(batcher: Batcher, work: Doubling) -> None:
        large = asyncio.ensure_future(batcher.run(KIND, list(range(40))))
        small = [asyncio.ensure_future(batcher.run(KIND, [k])) for k in range(400)]
        assert len(await large) == 40
        await asyncio.gather(*small)

    with_batcher(scenario)


def test_rows_of_a_client_that_left_are_not_computed() -> None:
    async def scenario(batcher: Batcher, work: Doubling) -> None:
        work.go.clear()
        gone = asyncio.ensure_future(batcher.run(KIND, list(range(800))))
        await asyncio.sleep(0.05)
        gone.cancel()
        await asyncio.sleep(0.01)
        work.go.set()
        assert await batcher.run(KIND, [5]) == [10]
        assert sum(map(len, work.batches)) <= 2 * KIND.rows

    with_batcher(scenario)


def test_trouble_with_one_request_is_not_the_others() -> None:
    async def scenario(batcher: Batcher, work: Doubling) -> None:
        work.go.clear()
        tasks = [asyncio.ensure_future(batcher.run(KIND, rows)) for rows in ([0], [1], [-1], [2])]
        await asyncio.sleep(0.05)
        work.go.set()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert [found[0], found[1], found[3]] == [[0], [2], [4]]
        assert isinstance(found[2], ValueError)
        assert batcher.waiting == 0

    with_batcher(scenario)


def test_more_rows_than_may_wait_are_refused() -> None:
    async def scenario(batcher: Batcher, work: Doubling) -> None:
        work.go.clear()
        first = asyncio.ensure_future(batcher.run(KIND, list(range(30))))
        await asyncio.sleep(0.05)
        with pytest.raises(Busy):
            await batcher.run(KIND, list(range(30)))
        work.go.set()
        assert len(await first) == 30

    with_batcher(scenario, most_waiting=40)


def test_closing_answers_what_was_accepted() -> None:
    async def scenario() -> None:
        work = Doubling()
        batcher = Batcher(work, 1000)
        work.go.clear()
        task = asyncio.ensure_future(batcher.run(KIND, list(range(100))))
        await asyncio.sleep(0.05)
        closing = asyncio.ensure_future(asyncio.to_thread(batcher.close))
        await asyncio.sleep(0.05)
        with pytest.raises(Busy):
            await batcher.run(KIND, [1])
        work.go.set()
        assert len(await task) == 100
        await closing
        assert await batcher.run(KIND, [1]) == [2]  # a service may be started again
        batcher.close()

    started = time.monotonic()
    asyncio.run(scenario())
    assert time.monotonic() - started < 60
