"""Watches the memory of programs that run side by side for minutes, each with little load."""

import contextlib
import os
import select
import time
from dataclasses import dataclass
from pathlib import Path

import measure
from trial import Contender, prepare
from work import Unreadable

# When memory is read; the growth is from the second to the last, when all buffers and tables have been filled.
MINUTES = (1, 3, 15)
# How much longer than the last reading a program may run.
END_S = 120
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def resident(minute):
    """The number's name."""
    return f"rss_{minute}_mib"


@dataclass
class Running:
    """A program on its way, with files of its own."""

    contender: Contender
    words: list[str]
    scratch: Path
    pid: int
    ended: bool = False

    def memory_mib(self):
        pages = int(Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1])
        return pages * PAGE_BYTES / 2**20

    def sockets(self):
        folder = f"/proc/{self.pid}/fd"
        return sum(os.readlink(f"{folder}/{fd}").startswith("socket:") for fd in os.listdir(folder))

    def finish(self, timeout_s):
        """Its use, and what it said; it is killed where it takes longer."""
        # Whatever comes of it, the process is gone then.
        self.ended = True
        status, usage = measure.wait(self.pid, timeout_s)
        client, work = self.contender.client, self.contender.work
        files = (self.scratch / "stdout", self.scratch / "stderr")
        text = measure.output(self.words, status, client.exit_codes, *files)
        try:
            said = client.said(text, self.scratch)
        except Unreadable as error:
            raise measure.Fault(str(error)) from error
        if said.errors or said.requests * 100 < work.requests * 99:
            raise measure.Fault(f"{said.requests} of {work.requests} requests were done, {said.errors} failed")
        return usage, said


@contextlib.contextmanager
def running(contender, server, cores, folder):
    scratch = folder / contender.label.replace(" ", "-")
    scratch.mkdir()
    url = server.url(contender.work.path)
    prepare(contender.client, contender.work, url, scratch)
    words = contender.words(url, scratch)
    with measure.held(words, cores[contender.cores], scratch / "stdout", scratch / "stderr") as (pid, gate):
        one = Running(contender, words, scratch, pid)
        try:
            measure.begin(gate)
            yield one
        finally:
            if not one.ended:
                with contextlib.suppress(measure.Fault):
                    measure.wait(pid, 0)


def watch(contenders, server, cores, folder, minute_s=60):
    """All at once, from start to end: contender → its numbers."""
    machine = measure.Machine.now()
    server.seen()
    with contextlib.ExitStack() as stack:
        runs = [stack.enter_context(running(one, server, cores, folder)) for one in contenders]
        begun = time.monotonic()
        readings = {one.contender.label: {} for one in runs}
        for minute in MINUTES:
            pause(runs, begun + minute * minute_s)
            for one in runs:
                readings[one.contender.label][resident(minute)] = one.memory_mib()
        for one in runs:
            readings[one.contender.label]["sockets"] = one.sockets()
        finished = {one.contender.label: named(one, END_S) for one in runs}
    samples = {label: sample(numbers, *finished[label]) for label, numbers in readings.items()}
    # One machine, so its noise is told once.
    samples[contenders[0].label] |= noise(machine, finished, server.seen())
    return samples


def pause(runs, until):
    """Waits until then; a program that ends before has failed."""
    poll = select.poll()
    with contextlib.ExitStack() as stack:
        by_handle = {}
        for one in runs:
            handle = os.pidfd_open(one.pid)
            stack.callback(os.close, handle)
            by_handle[handle] = one
            poll.register(handle, select.POLLIN)
        ended = poll.poll(max(until - time.monotonic(), 0) * 1000)
    for handle, _ in ended:
        one = by_handle[handle]
        named(one, 0)
        raise measure.Fault(f"{one.contender.label}: it ended too early")


def named(one, timeout_s):
    try:
        return one.finish(timeout_s)
    except measure.Fault as fault:
        raise measure.Fault(f"{one.contender.label}: {fault}") from fault


def sample(numbers, usage, said):
    early, late = numbers[resident(MINUTES[1])], numbers[resident(MINUTES[-1])]
    cpu_s = usage.ru_utime + usage.ru_stime
    return numbers | {
        "growth_pct": 100 * (late / early - 1),
        "rss_mib": usage.ru_maxrss / 1024,
        "requests": said.requests,
        "rate": said.rate,
        "cpu_us": cpu_s * 1e6 / said.requests,
        "invalid": said.invalid,
        "stolen_s": 0.0,
        "elsewhere_s": 0.0,
    }


def noise(before, finished, seen):
    after = measure.Machine.now()
    ours_s = sum(usage.ru_utime + usage.ru_stime for usage, _ in finished.values()) + seen.cpu_s
    return {
        "stolen_s": after.stolen_s - before.stolen_s,
        "elsewhere_s": max(after.busy_s - before.busy_s - ours_s, 0.0),
    }
