"""What a target of the bench is: a program of one thread on one core that tells what it saw of a turn."""

import subprocess
import time
import urllib.request
from array import array
from dataclasses import dataclass
from pathlib import Path

import measure


@dataclass(frozen=True)
class Seen:
    """What a server saw and used since it was last asked."""

    connections: int
    requests: int
    cpu_s: float
    # When each request came, in nanoseconds of one clock; None where the server doesn't note it.
    arrivals_ns: array | None = None


class Server:
    """A program that serves while the `with` block does. A kind of it has a `name`, the `tool` that install.sh knows,
    a `version()`, `start()` and `seen()`."""

    scheme = "http"

    def __init__(self, folder, core):
        self.folder = folder
        self.core = core
        self.port = None
        self.process = None

    def __enter__(self):
        try:
            self.start()
            self.await_answer()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def spawn(self, command, **pipes):
        words = measure.pinned(command, self.core)
        self.process = subprocess.Popen(words, preexec_fn=measure.end_with_parent, **pipes)

    def await_answer(self):
        for _ in range(100):
            try:
                self.page("small")
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.05)
        raise measure.Fault(f"{self.name} did not start: {measure.tail(self.folder / 'error.log')}")

    def stop(self):
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def url(self, path):
        return f"{self.scheme}://127.0.0.1:{self.port}/{path}"

    def page_url(self, path):
        """Where we ask ourselves."""
        return self.url(path)

    def page(self, path):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(self.page_url(path), timeout=5) as answer:
            return answer.read().decode("ascii")


def on_cpu_s(pid):
    # The first word is the time on a core in nanoseconds; the ticks of /proc/PID/stat are too coarse.
    return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0]) / 1e9
