"""The bench's own command line: takes rows, has them played, keeps and prints the results. `peers.sh` calls it."""

import argparse
import fcntl
import os
import resource
import signal
import sys
import time

import measure
import origin
import report
import state as states
from clients import BENCH, CLIENTS
from goals import OURS
from play import play, say
from rows import ALL, ROWS

ROUNDS = 15
STATE = BENCH / ".state"
RESULTS = BENCH / "RESULTS.md"


def main():
    options = parse()
    rows = chosen(options.rows)
    if options.needs:
        tools = {contender.client.tool for row in rows for contender in row.contenders}
        tools |= {row.server.tool for row in rows}
        print("\n".join(sorted(tools - {None})))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    prepare()
    with lock():
        # All rows are tried, whatever becomes of one.
        finished = [bench(row, options) for row in rows]
    return 0 if all(finished) else 1


def chosen(names):
    """Each once; `all` together with a soak is both."""
    wanted = [row.name for row in ALL] if "all" in names else []
    return [ROWS[name] for name in dict.fromkeys([*wanted, *names]) if name != "all"]


def parse():
    names = "\n".join(f"  {row.name:16}{row.title}" for row in ROWS.values())
    parser = argparse.ArgumentParser(
        prog="bench/peers.sh",
        description="Runs volley and its peers side by side, in paired rounds, against one server.",
        epilog=f"rows:\n{names}\n  {'all':16}everything but the last, in some 40 minutes",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("rows", nargs="+", metavar="ROW", choices=[*ROWS, "all"], help="one of those below")
    rounds_help = f"valid rounds a row [{ROUNDS}]; fewer are a trial, which leaves RESULTS.md alone"
    parser.add_argument("--rounds", type=positive, default=ROUNDS, metavar="N", help=rounds_help)
    parser.add_argument("--fresh", action="store_true", help="forget what is kept of these rows, and start over")
    parser.add_argument("--needs", action="store_true", help="only name the programs that these rows need")
    return parser.parse_args()


def positive(text):
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def prepare():
    """What every row needs: two cores, descriptors enough, and to be the parent of all that it starts."""
    if not {0, 1} <= os.sched_getaffinity(0):
        sys.exit("peers: cores 0 and 1 are needed: one for the clients, one for the server")
    if not CLIENTS[OURS].is_here():
        sys.exit(f"peers: {CLIENTS[OURS].program} is not there: build it, or name another by VOLLEY_BIN")
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 65_536), most))
    measure.adopt_orphans()


def lock():
    """Two benches at once would measure each other."""
    STATE.mkdir(exist_ok=True)
    file = (STATE / "lock").open("w", encoding="ascii")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit("peers: another bench is running here")
    return file


def bench(row, options):
    """One row to its end: True when all its rounds are there."""
    trial = options.rounds < ROUNDS
    folder = STATE / "trial" if trial else STATE
    wanted = row.rounds(options.rounds)
    file = folder / f"{row.name}.json"
    here = [contender for contender in row.contenders if contender.client.is_here()]
    used = origin.measured_with(here, row.server)
    state = None if options.fresh else states.load(file, used)
    if state is None:
        state = states.State(used, time.strftime("%Y-%m-%d"), origin.source())
        state.left_out = {one.label: "it could not be had here" for one in row.contenders if one not in here}
    elif state.rounds:
        say(row, f"{len(state.rounds)} of {wanted} rounds are there already; --fresh starts over")
    if len(state.rounds) < wanted:
        play(row, here, state, wanted, lambda: states.save(file, state))
    text = report.section(row, state)
    print(f"\n{text}", flush=True)
    if len(state.rounds) < wanted:
        say(row, "not finished: too many rounds did not count; the next call goes on")
        return False
    publish(folder / "RESULTS.md" if trial else RESULTS, row, text)
    return True


def publish(file, row, text):
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    file.write_text(report.merged(before, row.name, text, list(ROWS)), encoding="utf-8")
    say(row, f"written to {file.relative_to(BENCH.parent)}")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("peers: broken off; the same call goes on from here", file=sys.stderr)
        sys.exit(130)
