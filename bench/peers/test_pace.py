"""Tests of how a rate and a soak are watched. They start Python, and the witness, which they compile."""

import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from types import SimpleNamespace

import measure
import soak
from clients import Client
from lateness import Lateness, lateness
from server import Seen
from trial import Contender, Raw, pace
from witness import Witness
from work import Said, Work

MS = 1_000_000


class Late(unittest.TestCase):
    def check(self, arrivals_ns, expected, rate=1000, asked=None):
        self.assertEqual(lateness(arrivals_ns, rate, asked or len(arrivals_ns)), expected)

    def test_an_even_load_is_never_late(self):
        even = [5 * MS + k * MS for k in range(1000)]
        self.check(even, Lateness(0.0, 0.0, 0.0, 100.0, 100.0))
        # Which request it was doesn't matter, nor in which order they were read.
        random.Random(1).shuffle(even)
        self.check(even, Lateness(0.0, 0.0, 0.0, 100.0, 100.0))

    def test_a_period_that_is_no_whole_number_does_not_drift(self):
        self.check([k * 1_000_000_000 // 3 for k in range(3000)], Lateness(0.0, 0.0, 0.0, 100.0, 100.0), rate=3)

    def test_a_burst_is_late_by_its_length(self):
        # Ten at a time, when the last of them is due.
        bursts = [(k // 10 * 10 + 9) * MS for k in range(100)]
        self.check(bursts, Lateness(4000.0, 9000.0, 9000.0, 20.0, 100.0))

    def test_one_early_request_makes_all_others_late(self):
        self.check([0] + [k * MS + 3 * MS for k in range(1, 100)], Lateness(3000.0, 3000.0, 3000.0, 1.0, 100.0))

    def test_what_was_not_sent_or_only_long_after_is_missing(self):
        half = [k * MS for k in range(50)]
        self.check(half, Lateness(0.0, 0.0, 0.0, 50.0, 50.0), asked=100)
        self.check([*half, 1000 * MS], Lateness(0.0, 950_000.0, 950_000.0, 50.0, 50.0), asked=100)
        self.assertIsNone(lateness([], 1000, 10))


class Paced(unittest.TestCase):
    def check(self, from_due, expected):
        client = Client("x", "x", None, None, from_due=from_due)
        late = Lateness(1.0, 2.0, 3.0, 99.0, 100.0)
        raw = Raw(Said(9, 0, 1.0, 5.0, 6.0, 7.0, 8.0), 1.0, 1.0, 1.0, 1, 1, 1.0, 0.01, 0.0, late)
        found = pace(Contender("x", client, Work("small", 1, 10, rate=10)), raw)
        self.assertEqual({number: found[number] for number in expected}, expected)

    def test_a_latency_from_another_moment_is_not_shown(self):
        seen = {"sent_pct": 100.0, "in_time_pct": 99.0, "late_p99_us": 2.0, "stolen_ms": 10.0}
        self.check(True, seen | {"p99_us": 6.0, "lag_p50_us": 7.0, "lag_p99_us": 8.0})
        self.check(False, seen | {"p50_us": None, "p99_us": None})


class Witnessing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.program = Path(cls.folder.name, "witness")
        subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", cls.program, Witness.source], check=True)

    def setUp(self):
        self.witness = Witness(Path(self.enterContext(tempfile.TemporaryDirectory())), "0")
        self.witness.program = self.program
        self.enterContext(self.witness)
        self.witness.seen()

    def client(self):
        return self.enterContext(socket.create_connection(("127.0.0.1", self.witness.port), 10))

    def ask(self, client, request=b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"):
        client.sendall(request)
        answer = b""
        while not answer.endswith(b"hello world"):
            more = client.recv(4096)
            self.assertTrue(more, answer)
            answer += more
        return answer

    def test_each_request_is_noted_when_it_was_sent(self):
        clients, between = [self.client(), self.client()], []
        for k in range(20):
            between.append(time.time_ns())
            self.assertTrue(self.ask(clients[k % 2]).startswith(b"HTTP/1.1 200 OK\r\n"))
        seen = self.witness.seen()
        self.assertEqual((seen.connections, seen.requests, len(seen.arrivals_ns)), (2, 20, 20))
        for before, at_ns, after in zip(between, seen.arrivals_ns, [*between[1:], time.time_ns()], strict=True):
            self.assertTrue(before <= at_ns <= after)
        self.assertEqual(self.witness.seen().requests, 0)

    def test_a_request_counts_once_it_is_whole(self):
        client = self.client()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for part in (b"GET / HTTP/1.1\r", b"\nHost: x\r\n\r"):
            client.sendall(part)
        self.assertEqual(self.witness.seen().requests, 0)
        self.ask(client, b"\n")
        # An end that begins anew, and two requests at once.
        self.ask(client, b"GET / HTTP/1.1\r\r\n\r\n")
        self.assertEqual(self.witness.seen().requests, 2)
        answers = self.ask(client, b"GET / HTTP/1.1\r\n\r\n" * 2)
        while answers.count(b"hello world") < 2:
            answers += client.recv(4096)
        self.assertEqual(self.witness.seen().requests, 2)

    def test_a_client_that_leaves_does_no_harm(self):
        for _ in range(3):
            client = self.client()
            client.sendall(b"GET / HTTP/1.1\r\n")
            client.close()
        self.ask(self.client())
        self.assertEqual(self.witness.seen().requests, 1)

    def test_one_that_is_gone_is_said(self):
        self.witness.process.kill()
        self.witness.process.wait()
        with self.assertRaisesRegex(measure.Fault, "the witness is gone"):
            self.witness.seen()


class Quiet:
    """A server that saw nothing."""

    def url(self, path):
        return f"http://127.0.0.1:1/{path}"

    def seen(self):
        return Seen(0, 0, 0.0)


class Soaking(unittest.TestCase):
    # Readings after 0.1, 0.3 and 1.5 s.
    MINUTE_S = 0.1
    STAYS = "held = b'x' * (50 << 20); import socket, time; s = socket.socket(); time.sleep(3); print('100 0')"

    @classmethod
    def setUpClass(cls):
        measure.adopt_orphans()

    def contender(self, label, code):
        def read(text, _scratch):
            done, bad = map(int, text.split())
            return Said(done, bad, 1.0, None)

        # Its number is left, so that a test can look for it.
        code = f"import os; open('{self.folder}/{label}', 'w').write(str(os.getpid())); {code}"
        client = Client(label, sys.executable, lambda *_: [sys.executable, "-S", "-c", code], read)
        return Contender(label, client, Work("small", 1, 100, rate=1))

    def watch(self, **programs):
        contenders = [self.contender(label, code) for label, code in programs.items()]
        scratch = Path(self.folder, "scratch")
        scratch.mkdir()
        return soak.watch(contenders, Quiet(), {"one": "0"}, scratch, self.MINUTE_S)

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def test_memory_over_time(self):
        found = self.watch(a=self.STAYS, b=self.STAYS)
        self.assertEqual(list(found), ["a", "b"])
        for numbers in found.values():
            self.assertGreater(numbers["rss_15_mib"], 50)
            self.assertLess(numbers["rss_15_mib"], 100)
            self.assertEqual((numbers["requests"], numbers["sockets"]), (100, 1))

    def test_growth_is_from_the_second_reading_to_the_last(self):
        usage = SimpleNamespace(ru_utime=1.0, ru_stime=1.0, ru_maxrss=2048)
        readings = {"rss_1_mib": 1.0, "rss_3_mib": 10.0, "rss_15_mib": 10.4}
        numbers = soak.sample(readings, usage, Said(10, 0, 1.0, None))
        self.assertAlmostEqual(numbers["growth_pct"], 4.0)
        self.assertEqual(numbers["rss_mib"], 2.0)

    def check_fault(self, words, code):
        with self.assertRaisesRegex(measure.Fault, words):
            self.watch(stays=self.STAYS, other=code)
        # Nobody is left behind.
        with self.assertRaises(ProcessLookupError):
            os.kill(int(Path(self.folder, "stays").read_text(encoding="ascii")), signal.SIG_DFL)

    def test_one_that_fails_ends_all(self):
        failing = "import time; time.sleep(1); print('no luck'); raise SystemExit(3)"
        self.check_fault("other: .*ended with 3: no luck", failing)

    def test_one_that_ends_early_has_failed(self):
        self.check_fault("other: it ended too early", "import time; time.sleep(1); print('100 0')")

    def test_one_that_did_too_little_has_failed(self):
        self.check_fault("other: 98 of 100 requests were done, 0 failed", "import time; time.sleep(2); print('98 0')")


if __name__ == "__main__":
    unittest.main()
