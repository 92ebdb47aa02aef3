"""The target: an nginx of our own with one worker on one core, and what it counted."""

import os
import re
import socket
import subprocess
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import measure

SIZES = {"100k": 100 * 1024, "5m": 5 * 1024 * 1024}

CONFIG = """\
daemon off;
{user}
worker_processes 1;
worker_rlimit_nofile 16384;
error_log error.log warn;
pid nginx.pid;
events {{ worker_connections 8192; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  keepalive_timeout 3600s;
  sendfile on;
  tcp_nopush on;
  open_file_cache max=16 inactive=1h;
  default_type text/plain;
  client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location = /small {{ return 200 "hello world"; }}
    location = /counts {{ stub_status; }}
    location / {{ root files; }}
  }}
}}
"""


@dataclass(frozen=True)
class Counts:
    """What the server had done by a moment."""

    connections: int
    requests: int
    cpu_s: float


class Server:
    """An nginx that runs while the `with` block does."""

    def __init__(self, folder, core):
        self.folder = folder
        self.core = core
        self.port = free_port()
        self.process = None
        self.worker = None

    def __enter__(self):
        (self.folder / "files").mkdir()
        for name, size in SIZES.items():
            (self.folder / "files" / name).write_bytes(b"x" * size)
        user = "user root root;" if os.getuid() == 0 else ""
        config = self.folder / "nginx.conf"
        config.write_text(CONFIG.format(user=user, port=self.port), encoding="ascii")
        command = [nginx(), "-p", str(self.folder), "-e", "error.log", "-c", str(config)]
        self.process = subprocess.Popen(
            measure.pinned(command, self.core), stdin=subprocess.DEVNULL, preexec_fn=measure.end_with_parent
        )
        try:
            self.await_answer()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def await_answer(self):
        for _ in range(100):
            try:
                self.page("small")
                self.worker = self.find_worker()
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.05)
        raise measure.Fault(f"nginx did not start: {measure.tail(self.folder / 'error.log')}")

    def find_worker(self):
        master = self.process.pid
        children = Path(f"/proc/{master}/task/{master}/children").read_text(encoding="ascii").split()
        return int(children[0])

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def url(self, path):
        return f"http://127.0.0.1:{self.port}/{path}"

    def page(self, path):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(self.url(path), timeout=5) as answer:
            return answer.read().decode("ascii")

    def counts(self):
        """The counts so far, the asking included: one connection and one request."""
        accepted, requests = re.search(r"^\s*(\d+)\s+\d+\s+(\d+)", self.page("counts"), re.MULTILINE).groups()
        # The first word is the time on a core in nanoseconds; the ticks of /proc/PID/stat are too coarse.
        on_cpu_ns = int(Path(f"/proc/{self.worker}/schedstat").read_text(encoding="ascii").split()[0])
        return Counts(int(accepted), int(requests), on_cpu_ns / 1e9)


def nginx():
    """nginx is in /usr/sbin, which is not on everyone's path."""
    return "/usr/sbin/nginx" if Path("/usr/sbin/nginx").exists() else "nginx"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
