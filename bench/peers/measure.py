"""Runs one program to its end and says what it used: the whole process, by `wait4`, not what it says of itself."""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

# The shell starts the program in the background and leaves, so that the program becomes our own child (see
# `adopt_orphans`). Started by Python itself it would carry Python's memory as its peak: the kernel counts what the
# process held before it became the program. It waits for a line from us, since a program that ends before the shell
# has left would be reaped by the shell; without us there comes no line, and nothing is started.
LAUNCH = (
    'out=$1; err=$2; shift 2; exec 3<&0; { read -r go <&3 && exec "$@" 3<&- >"$out" 2>"$err" </dev/null; } & echo $!'
)

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Fault(Exception):
    """What went wrong with a run, for people."""


@dataclass(frozen=True)
class Used:
    """What a program used from start to end."""

    wall_s: float
    user_s: float
    sys_s: float
    rss_max_kib: int
    switches_voluntary: int
    switches_involuntary: int


@dataclass(frozen=True)
class Machine:
    """Seconds of all cores since boot, from /proc/stat."""

    busy_s: float
    stolen_s: float

    @staticmethod
    def now():
        words = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()
        user, nice, system, _idle, _iowait, irq, softirq, stolen = (int(word) / TICKS_PER_S for word in words[1:9])
        return Machine(user + nice + system + irq + softirq, stolen)


def prctl(option, value):
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def adopt_orphans():
    """Makes this process the parent of what its children leave behind, so that it can wait for it."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def end_with_parent():
    """In a new child: ends it with this process, however that ends."""
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def environment():
    """Ours without proxies: all go to the same address, by the same way."""
    return {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}


def pinned(command, cores):
    return ["taskset", "--cpu-list", cores, *command]


def run(command, cores, scratch, timeout_s, exit_codes=(0,)):
    """Runs it on these cores to its end: its use, and its standard output. A failure is a `Fault` that quotes it."""
    out, err = scratch / "stdout", scratch / "stderr"
    with held(command, cores, out, err) as (pid, gate):
        begun = time.monotonic()
        begin(gate)
        status, usage = wait(pid, timeout_s)
    wall_s = time.monotonic() - begun
    used = Used(wall_s, usage.ru_utime, usage.ru_stime, usage.ru_maxrss, usage.ru_nvcsw, usage.ru_nivcsw)
    return used, output(command, status, exit_codes, out, err)


def begin(gate):
    """Lets a held program go."""
    gate.write(b"go\n")
    gate.close()


def output(command, status, exit_codes, out, err):
    """What the ended program wrote to its standard output."""
    code = os.waitstatus_to_exitcode(status)
    if code not in exit_codes:
        raise Fault(f"{command[0]} ended with {code}: {tail(err) or tail(out)}")
    return out.read_text(encoding="utf-8", errors="replace")


@contextlib.contextmanager
def held(command, cores, out, err):
    """The program as a child of ours that begins when it is told by a line."""
    launch = ["/bin/sh", "-c", LAUNCH, "launch", str(out), str(err), *pinned(command, cores)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(launch, **pipes, env=environment()) as shell:
        pid = int(shell.stdout.readline())
        shell.wait(timeout=10)
        yield pid, shell.stdin


def wait(pid, timeout_s):
    """Waits for this child alone; one that takes too long, or that we are told to leave, is killed."""
    ended = False
    handle = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        ended = bool(poll.poll(timeout_s * 1000))
    finally:
        os.close(handle)
        if not ended:
            os.kill(pid, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
    if not ended:
        raise Fault(f"it was not done after {timeout_s} s")
    return status, usage


def tail(file):
    lines = file.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return " / ".join(lines[-3:])[:400]
