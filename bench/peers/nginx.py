"""The usual target: an nginx of our own with one worker."""

import os
import re
import socket
import subprocess
from pathlib import Path

from server import Seen, Server, on_cpu_s

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
{tls}    location = /small {{ return 200 "hello world"; }}
    location = /counts {{ stub_status; }}
    location / {{ root files; }}
  }}
}}
"""


class Nginx(Server):
    """What all but the rate rows are measured with."""

    name = "nginx"
    tool = "nginx"

    def __init__(self, folder, core):
        super().__init__(folder, core)
        self.worker = None
        self.before = Seen(0, 0, 0.0)

    @staticmethod
    def version():
        done = subprocess.run([nginx(), "-v"], capture_output=True, text=True, check=True, timeout=10)
        return done.stderr.strip().rpartition("/")[2]

    def start(self):
        (self.folder / "files").mkdir()
        for name, size in SIZES.items():
            (self.folder / "files" / name).write_bytes(b"x" * size)
        self.port = free_port()
        user = "user root root;" if os.getuid() == 0 else ""
        config = self.folder / "nginx.conf"
        config.write_text(CONFIG.format(user=user, port=self.port, tls=self.tls()), encoding="ascii")
        self.spawn([nginx(), "-p", str(self.folder), "-e", "error.log", "-c", str(config)], stdin=subprocess.DEVNULL)

    def tls(self):
        """The lines of a server that speaks TLS too."""
        return ""

    def await_answer(self):
        super().await_answer()
        master = self.process.pid
        children = Path(f"/proc/{master}/task/{master}/children").read_text(encoding="ascii").split()
        self.worker = int(children[0])

    def seen(self):
        """Since it was last asked; the asking, one connection and one request, isn't in it."""
        connections, requests = re.search(r"^\s*(\d+)\s+\d+\s+(\d+)", self.page("counts"), re.MULTILINE).groups()
        now, before = Seen(int(connections), int(requests), on_cpu_s(self.worker)), self.before
        self.before = now
        return Seen(
            now.connections - before.connections - 1, now.requests - before.requests - 1, now.cpu_s - before.cpu_s
        )


# A certificate as most servers have one today; what it costs a client is the check of one ECDSA signature.
CERTIFICATE = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=bench"
TLS = """\
    listen 127.0.0.1:{port} ssl backlog=4096;
    ssl_certificate cert.pem;
    ssl_certificate_key key.pem;
    ssl_protocols TLSv1.2 TLSv1.3;
"""


class NginxTls(Nginx):
    """The same over TLS; counts are asked for without it. Nobody checks the certificate, and every client is left to its
    own defaults otherwise: version, cipher, and whether it takes up earlier sessions."""

    tool = "nginx-tls"
    scheme = "https"

    def __init__(self, folder, core):
        super().__init__(folder, core)
        self.tls_port = None

    def tls(self):
        words = [*CERTIFICATE.split(), "-keyout", "key.pem", "-out", "cert.pem"]
        subprocess.run(words, cwd=self.folder, capture_output=True, check=True, timeout=30)
        self.tls_port = free_port()
        return TLS.format(port=self.tls_port)

    def url(self, path):
        return f"{self.scheme}://127.0.0.1:{self.tls_port}/{path}"

    def page_url(self, path):
        return f"http://127.0.0.1:{self.port}/{path}"


def nginx():
    """nginx is in /usr/sbin, which is not on everyone's path."""
    return "/usr/sbin/nginx" if Path("/usr/sbin/nginx").exists() else "nginx"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
