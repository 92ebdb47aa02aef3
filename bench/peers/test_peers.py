"""Tests of the bench itself: `python3 -m unittest discover -s bench/peers`. They start only `true` and Python."""

import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

import figures
import goals
import measure
import report
import state as states
from clients import CLIENTS
from rows import ROWS
from trial import Contender, Raw, faults, sample
from work import Said, Unreadable, Work

WRK = """\
  Latency Distribution
     50%  723.00us
     99%   18.33ms
  37309 requests in 2.11s, 5.66MB read
{errors}Requests/sec:  17693.68
"""
AB = """\
Complete requests:      60000
Failed requests:        {failed}
Requests per second:    20119.47 [#/sec] (mean)
"""
H2LOAD = """\
finished in 3.52s, 17043.70 req/s, 2.58MB/s
requests: 60 total, 60 started, 60 done, 58 succeeded, 2 failed, 1 errored, 0 timeout
status codes: 57 2xx, 0 3xx, 0 4xx, 1 5xx
"""
HEY = """\
  Requests/sec:	10441.9828
  50% in 0.0049 secs

Status code distribution:
  [200]	59968 responses
  [503]	7 responses

Error distribution:
  [3]	Get "http://127.0.0.1:1/": dial tcp 127.0.0.1:1: connect: connection refused
"""
OHA = """\
{"summary": {"requestsPerSec": 100000.5}, "latencyPercentiles": {"p50": 0.0005},
 "statusCodeDistribution": {"200": 640, "500": 1}, "errorDistribution": {"deadline": 2}}
"""
K6 = """\
{"metrics": {"http_req_failed": {"passes": 1, "fails": 9}, "http_reqs": {"count": 10, "rate": 4472.5},
 "http_req_duration": {"med": 12.5}}}
"""
LOCUST = """\
[{"num_requests": 5, "num_failures": 1, "start_time": 10.0, "last_request_timestamp": 12.0,
  "response_times": {"110": 1, "9": 2, "8": 2}}]
"""
VOLLEY = """\
{"whole": {"ok": 90, "failed": 1, "cancelled": 2, "missed": 3, "unknown": 4, "unresolved": 0, "rate": 5.5,
           "latency_ms": {"50": 0.25}}}
"""


class Reading(unittest.TestCase):
    def check(self, client, text, expected, files=()):
        with tempfile.TemporaryDirectory() as folder:
            for name, content in dict(files).items():
                Path(folder, name).write_text(content, encoding="utf-8")
            self.assertEqual(CLIENTS[client].said(text, Path(folder)), expected)

    def test_each_client(self):
        self.check("wrk", WRK.format(errors=""), Said(37309, 0, 17693.68, 723.0))
        self.check("ab", AB.format(failed=0), Said(60000, 0, 20119.47, 726.0), {"ab.csv": "x,y\n49,0.7\n50,0.726\n"})
        self.check("h2load", H2LOAD, Said(57, 4, 17043.7, None))
        self.check("hey", HEY, Said(59968, 10, 10441.9828, 4900.0))
        self.check("oha", OHA, Said(640, 3, 100000.5, 500.0))
        self.check("k6", "", Said(9, 1, 4472.5, 12500.0), {"k6.json": K6})
        self.check("Locust", LOCUST, Said(4, 1, 2.5, 9000.0))
        self.check("volley", VOLLEY, Said(90, 10, 5.5, 250.0))

    def test_errors_are_counted(self):
        errors = "  Socket errors: connect 1, read 2, write 0, timeout 3\n  Non-2xx or 3xx responses: 4\n"
        self.check("wrk", WRK.format(errors=errors), Said(37309, 10, 17693.68, 723.0))
        self.check("ab", AB.format(failed=6), Said(60000, 6, 20119.47, 726.0), {"ab.csv": "50,0.726\n"})

    def test_another_form_is_said(self):
        for client in ("volley", "wrk", "h2load", "hey", "oha", "Locust"):
            with self.subTest(client), self.assertRaises(Unreadable):
                CLIENTS[client].said("[]", Path("nowhere"))


class Faults(unittest.TestCase):
    def check(self, client, work, said, counted, connections, expected):
        found = faults(Contender("x", CLIENTS[client], work), said, counted, connections)
        self.assertEqual(len(found), expected, found)

    def test_what_counts(self):
        kept, closed = Work("small", 4, 100), Work("small", 4, 100, keep_alive=False)
        good = Said(100, 0, 1.0, 1.0)
        self.check("ab", kept, good, 100, 4, 0)
        self.check("ab", kept, replace(good, errors=1), 100, 4, 1)
        self.check("ab", kept, replace(good, requests=99), 99, 4, 1)
        self.check("ab", kept, good, 101, 4, 1)
        self.check("ab", kept, good, 99, 4, 1)
        self.check("ab", kept, good, 100, 9, 1)
        self.check("ab", closed, good, 100, 100, 0)
        self.check("ab", closed, good, 100, 99, 1)
        self.check("wrk", kept, replace(good, requests=150), 154, 5, 0)
        self.check("wrk", kept, replace(good, requests=150), 155, 5, 1)


class Measuring(unittest.TestCase):
    def run_python(self, code, timeout_s=20):
        with tempfile.TemporaryDirectory() as folder:
            return measure.run([sys.executable, "-S", "-c", code], "0", Path(folder), timeout_s)

    @classmethod
    def setUpClass(cls):
        measure.adopt_orphans()

    def test_it_is_the_program_that_is_measured(self):
        block = "x" * (200 << 20)
        with tempfile.TemporaryDirectory() as folder:
            used, _ = measure.run(["true"], "0", Path(folder), 10)
        # Not what this process holds, nor Python.
        self.assertLess(used.rss_max_kib, 4096)
        self.assertEqual(len(block), 200 << 20)

    def test_the_shortest_program_is_not_lost(self):
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(50):
                measure.run(["true"], "0", Path(folder), 10)

    def test_use_and_output(self):
        used, text = self.run_python("x = 'x' * (50 << 20); sum(range(10_000_000)); print('done')")
        self.assertEqual(text, "done\n")
        self.assertGreater(used.rss_max_kib, 50 << 10)
        self.assertGreater(used.user_s, 0.02)
        self.assertGreaterEqual(used.wall_s, used.user_s)

    def test_failures_are_faults(self):
        with self.assertRaisesRegex(measure.Fault, "ended with 3: .*no such luck"):
            self.run_python("import sys; print('no such luck', file=sys.stderr); sys.exit(3)")
        with self.assertRaisesRegex(measure.Fault, "not done after 0.2 s"):
            self.run_python("import time; time.sleep(30)", 0.2)

    def test_a_start_is_taken_off(self):
        whole = Raw(1010, 1.0, 1.0, 3.0, 2.0, 1.0, 2048, 500, 0.5, 0.0, 0.0)
        start = Raw(10, 9.0, 9.0, 1.0, 1.0, 0.5, 1024, 100, 0.1, 0.0, 0.0)
        numbers = sample(whole.without(start))
        self.assertEqual((numbers["requests"], numbers["rate"], numbers["rss_mib"]), (1000, 1.0, 2.0))
        self.assertAlmostEqual(numbers["user_us"], 1000.0)
        self.assertAlmostEqual(numbers["switches"], 0.4)


def rounds(**cpu):
    """One round for each place of the lists: contender → its CPU a request."""
    return [
        {label: {"cpu_us": value, "p50_us": None} for label, value in zip(cpu, values, strict=True)}
        for values in zip(*cpu.values(), strict=True)
    ]


class Figures(unittest.TestCase):
    def test_ratios_are_paired(self):
        # The machine is twice as slow in the second round, for both.
        found = figures.Results(rounds(a=[1.0, 2.0, 1.5], b=[2.0, 4.0, 3.0])).ratio("a", "b", "cpu_us")
        self.assertEqual((found.median, found.low, found.high), (0.5, 0.5, 0.5))

    def test_the_interval_holds_the_median_and_is_the_same_each_time(self):
        pairs = [(value, 10.0) for value in range(1, 16)]
        found = figures.ratio(pairs)
        self.assertEqual(found.median, 0.8)
        self.assertTrue(0.1 <= found.low < 0.8 < found.high <= 1.5, found)
        self.assertEqual(found, figures.ratio(pairs))

    def test_what_is_not_there_has_no_figure(self):
        results = figures.Results(rounds(a=[1.0], b=[2.0]))
        self.assertIsNone(results.spread("c", "cpu_us"))
        self.assertIsNone(results.ratio("a", "c", "cpu_us"))
        self.assertIsNone(results.ratio("a", "b", "p50_us"))
        self.assertEqual(figures.Results([]).labels(), [])

    def test_goals(self):
        results = figures.Results(rounds(volley=[9.0, 9.0], ab=[10.0, 10.0], wrk=[11.0, 11.0]))
        self.assertEqual(goals.cpu_of_best(0.95).measure(results), ("0.90 [0.90, 0.90] of ab's", "reached"))
        self.assertEqual(goals.cpu_of_best(0.85).measure(results)[1], "missed")
        noisy = figures.Results(rounds(volley=[8.0, 9.0, 11.0], ab=[10.0, 10.0, 10.0]))
        self.assertEqual(goals.cpu_of_best(0.95).measure(noisy)[1], "reached, but the interval crosses it")
        self.assertEqual(goals.cpu_of_best(0.85).measure(noisy)[1], "missed, but the interval crosses it")
        self.assertEqual(goals.p50_of_best().measure(results), ("ab doesn't tell it", "can't tell"))
        self.assertEqual(goals.within(["ab", "wrk"], "cpu_us", 0.11, "").measure(results)[1], "reached")
        self.assertEqual(goals.within(["ab", "wrk"], "cpu_us", 0.05, "").measure(results)[1], "missed")
        self.assertEqual(goals.within(["ab", "nobody"], "cpu_us", 0.05, "").measure(results)[1], "can't tell")


class Keeping(unittest.TestCase):
    def test_a_state_goes_on_only_with_the_same(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "deep", "row.json")
            kept = states.State({"volley": "1"}, "2026-01-01", "commit 1", rounds=rounds(a=[1.0]))
            self.assertIsNone(states.load(file, {"volley": "1"}))
            states.save(file, kept)
            self.assertEqual(states.load(file, {"volley": "1"}), kept)
            self.assertIsNone(states.load(file, {"volley": "2"}))
            file.write_text('{"form": 1', encoding="utf-8")
            self.assertIsNone(states.load(file, {"volley": "1"}))

    def test_other_rows_stay_in_the_results(self):
        order = ["a", "b", "c"]
        text = report.merged("", "b", "## b\none\n", order)
        text = report.merged(text, "a", "## a\n", order)
        self.assertLess(text.index("## a"), text.index("## b\none"))
        text = report.merged(text, "b", "## b\ntwo\n", order)
        self.assertIn("## a\n", text)
        self.assertIn("## b\ntwo\n", text)
        self.assertNotIn("one", text)
        self.assertEqual(report.merged(text, "b", "## b\ntwo\n", order), text)
        self.assertNotIn("## a", report.merged(text, "b", "## b\n", ["b"]))

    def test_no_client_rounds_a_count_down(self):
        for row in ROWS.values():
            for one in row.contenders:
                with self.subTest(row=row.name, contender=one.label):
                    self.assertEqual(one.work.requests % max(one.work.connections, 1), 0)


if __name__ == "__main__":
    unittest.main()
