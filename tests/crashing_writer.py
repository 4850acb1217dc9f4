"""Kill writers of an index at random moments: `crashing_writer.py URL TIMES SEED [gathered]`.

A process that has everything loaded forks a writer again and again and kills it with SIGKILL. A
writer tells each page that it was acknowledged for, through a pipe. After each kill the store is
opened and looked at. Prints the pages acknowledged and kept; fails with a trace. Gathered: many
threads add single pages, which `index.writer` writes together, as in the service.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from functools import partial
from threading import Thread

from index_checks import check_whole
from neardup import Index, RawPage, text_page
from neardup.index.writer import Writer
from neardup.stores import keys

THREADS, SPAN = 8, 1_000  # writers of a process, numbers for the pages of each
WORDS = [f"word{number}" for number in range(400)]


keys.LOGGED, keys.MOVED_AT_ONCE = 600, 100  # writers are killed while keys are moved, too


def page(number: int, chance: random.Random) -> RawPage:
    """A text of its own, or one of a few that many pages share."""
    source = random.Random(chance.randrange(20)) if chance.random() < 0.3 else chance
    words = [source.choice(WORDS) for _ in range(60)]
    return text_page(
        " ".join(words), id=f"p{number}", url=f"http://h{number % 50}.example/{number}"
    )


def write_until_killed(url: str, first: int, told: int, chance: random.Random) -> None:
    with Index.open(url) as index:
        while True:
            count = chance.choice((1, 1, 2, 5, 20))
            pages = [page(first + place, chance) for place in range(count)]
            answers = index.add_many(pages) if count > 1 else [index.add(pages[0])]
            os.write(told, "".join(f"{answer.id}\n" for answer in answers).encode())
            first += count
            if chance.random() < 0.1:
                index.remove(f"p{first - 1}")
                os.write(told, f"-p{first - 1}\n".encode())


def gather_until_killed(url: str, first: int, told: int, chance: random.Random) -> None:
    """Each thread tells a page once it has its answer, and only then sends the next."""
    writer = Writer(Index.open(url))

    def send(number: int, own: random.Random) -> None:
        while True:
            [answer] = writer.add([page(number, own)]).result()
            os.write(told, f"{answer.id}\n".encode())
            if own.random() < 0.1:
                writer.do(partial(writer._index.remove, answer.id)).result()
                os.write(told, f"-{answer.id}\n".encode())
            number += 1

    threads = [
        Thread(target=send, args=(first + SPAN * place, random.Random(chance.random())))
        for place in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def killed_once(
    url: str, first: int, chance: random.Random, *, gathered: bool = False
) -> list[str]:
    """What a writer was told before it was killed."""
    reading, told = os.pipe()
    writer = os.fork()
    if writer == 0:
        os.close(reading)
        try:
            write = gather_until_killed if gathered else write_until_killed
            write(url, first, told, random.Random(chance.random()))
        finally:
            os._exit(1)
    os.close(told)
    begun = ""
    if gathered or chance.random() < 0.7:
        begun = os.read(reading, 1_000).decode()  # in the middle of its work
    time.sleep(chance.uniform(0.0, 0.3 if gathered else 0.1))
    os.kill(writer, signal.SIGKILL)
    with os.fdopen(reading) as lines:
        said = (begun + lines.read()).split()
    _, status = os.waitpid(writer, 0)
    assert os.WIFSIGNALED(status), "the writer ended by itself"
    return said


def main(url: str, times: int, seed: int, *, gathered: bool) -> None:
    chance = random.Random(seed)
    with Index.open("memory://") as warm:  # load every kernel before the first fork
        warm.add_many([page(number, chance) for number in range(30)])
        warm.remove("p3")
    acknowledged: set[str] = set()
    removed: set[str] = set()
    first = 0
    for _ in range(times):
        said = killed_once(url, first, chance, gathered=gathered)
        acknowledged |= {each for each in said if not each.startswith("-")}
        removed |= {each[1:] for each in said if each.startswith("-")}
        first += SPAN * THREADS
        with Index.open(url) as index:
            found = check_whole(index)
        # A page whose removal was not told may be here or not; every other one must be here.
        lost = acknowledged - removed - found
        assert lost <= {f"p{number}" for number in _last(said)}, f"lost: {sorted(lost)}"
        removed |= lost
        assert not removed & found, f"came back: {sorted(removed & found)}"
    print(len(acknowledged), len(found))


def _last(said: list[str]) -> list[int]:
    """The pages that were being removed, perhaps, when the writer was killed: of each thread."""
    pages = [int(each.lstrip("-p")) for each in said]
    return list({number // SPAN: number for number in pages}.values())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), gathered="gathered" in sys.argv)
