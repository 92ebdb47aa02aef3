"""With what a row is measured: machine, programs and their versions. Two rounds that differ in it can't be compared."""

import hashlib
import os
import platform
import re
import subprocess
from pathlib import Path

from clients import BENCH, VOLLEY


def measured_with(contenders, server):
    clients = {contender.client.name: contender.client for contender in contenders}
    versions = {name: client.version_text() for name, client in clients.items() if client.tool or name == "volley"}
    return {
        "machine": machine(),
        "versions": versions | {server.name: server.version()},
        "volley_sha256": hashlib.sha256(VOLLEY.read_bytes()).hexdigest(),
        # Who does what; a changed goal or title changes no measurement.
        "contenders": [f"{one.label}: {one.client.name} {one.work} {one.cores}" for one in contenders],
    }


def machine():
    model = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    return f"{os.cpu_count()} cores {model.group(1) if model else platform.machine()}, Linux {platform.release()}"


def source():
    """The commit that our program was built from, for people."""
    if os.environ.get("VOLLEY_BIN"):
        return "the one that VOLLEY_BIN named"
    commit = git("rev-parse", "--short", "HEAD")
    changed = git("status", "--porcelain", "--", ".", ":!bench")
    return f"that of commit {commit}{' with changes' if changed else ''}" if commit else "of no known commit"


def git(*words):
    command = ["git", "-C", str(BENCH.parent), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    return done.stdout.strip() if done.returncode == 0 else ""
