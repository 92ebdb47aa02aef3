"""Tests of the bench itself: `python3 -m unittest discover -s bench/peers`. They start only `true`, `false` and Python."""

import json
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
from main import chosen
from rows import ALL, ROWS
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
{"summary": {"requestsPerSec": 100000.5}, "latencyPercentiles": {"p50": 0.0005, "p99": 0.002},
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
{"verdict": "none", "whole": {"ok": 90, "failed": 1, "cancelled": 2, "missed": 3, "unknown": 4, "unresolved": 0,
 "rate": 5.5, "latency_ms": {"50": 0.25, "99": 1.5}}, "phases": []}
"""
VOLLEY_LATE = """\
{"verdict": "invalid", "whole": {"ok": 90, "failed": 0, "cancelled": 0, "missed": 10, "unknown": null, "unresolved": 0,
 "rate": 5.5, "latency_ms": {"50": 0.25, "99": null}}, "phases": [
   {"name": "wait", "count": 1, "latency_ms": {"50": 7.0, "99": 7.0}},
   {"name": "lag", "count": 90, "latency_ms": {"50": 0.5, "99": 8.0}}]}
"""
# As they came of a small run at a rate, shortened.
VOLLEY_AT_A_RATE = """\
{"volley": 2, "state": "finished", "verdict": "none", "whole": {"started": 1000, "ok": 1000, "failed": 0, "cancelled": 0,
 "missed": 0, "unknown": 0, "unresolved": 0, "never_sent": 0, "rate": 1000.9145045544618, "latency_ms": {"50": 0.092512,
 "90": 0.143552, "95": 0.147136, "99": 1.52832, "99.9": 4.228245, "100": 4.228245}}, "phases": [{"name": "lag",
 "count": 1000, "latency_ms": {"50": 0.048768, "90": 0.055936, "95": 0.058752, "99": 0.410624, "99.9": 3.228245,
 "100": 3.228245}}, {"name": "wait", "count": 1, "latency_ms": {"50": 0.065081, "99": 0.065081}}]}
"""
OHA_AT_A_RATE = """\
{"summary": {"successRate": 1.0, "total": 1.000960488, "requestsPerSec": 1998.0808673039248},
 "latencyPercentiles": {"p10": 7.6794e-05, "p50": 0.000118581, "p99": 0.000317693, "p99.99": 0.004142439},
 "statusCodeDistribution": {"200": 2000}, "errorDistribution": {}}
"""
K6_AT_A_RATE = """\
{"metrics": {"http_req_duration": {"med": 0.168374, "max": 6.065606, "p(90)": 0.5628244000000001, "min": 0.040115},
 "dropped_iterations": {"count": 18, "rate": 17.97896078636131}, "http_req_failed": {"fails": 1979, "passes": 0,
 "value": 0}, "http_reqs": {"count": 1979, "rate": 1976.6868553449463}}}
"""
H2LOAD_AT_A_RATE = """\
finished in 1.00s, 1998.13 req/s, 148.30KB/s
requests: 2000 total, 2000 started, 2000 done, 2000 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 2000 2xx, 0 3xx, 0 4xx, 0 5xx
                     min         max         mean         sd        +/- sd
time for request:       27us      4.54ms       168us       413us    98.45%
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
        self.check("oha", OHA, Said(640, 3, 100000.5, 500.0, 2000.0))
        self.check("k6", "", Said(9, 1, 4472.5, 12500.0), {"k6.json": K6})
        self.check("Locust", LOCUST, Said(4, 1, 2.5, 9000.0))
        self.check("volley", VOLLEY, Said(90, 7, 5.5, 250.0, 1500.0))

    def test_each_client_at_a_rate(self):
        # What was missed is short of the number, no failure.
        held = Said(1000, 0, 1000.9145045544618, 92.512, 1528.32, 48.768, 0.410624 * 1e3)
        self.check("volley", VOLLEY_AT_A_RATE, held)
        self.check("volley run", VOLLEY_AT_A_RATE, held)
        self.check("volley", VOLLEY_LATE, Said(90, 0, 5.5, 250.0, None, 500.0, 8000.0, invalid=True))
        self.check("oha", OHA_AT_A_RATE, Said(2000, 0, 1998.0808673039248, 0.000118581 * 1e6, 0.000317693 * 1e6))
        self.check("k6", "", Said(1979, 0, 1976.6868553449463, 168.374), {"k6.json": K6_AT_A_RATE})
        self.check("h2load", H2LOAD_AT_A_RATE, Said(2000, 0, 1998.13, None))

    def test_errors_are_counted(self):
        errors = "  Socket errors: connect 1, read 2, write 0, timeout 3\n  Non-2xx or 3xx responses: 4\n"
        self.check("wrk", WRK.format(errors=errors), Said(37309, 10, 17693.68, 723.0))
        self.check("ab", AB.format(failed=6), Said(60000, 6, 20119.47, 726.0), {"ab.csv": "50,0.726\n"})

    def test_another_form_is_said(self):
        for client in ("volley", "volley run", "wrk", "h2load", "hey", "oha", "Locust"):
            with self.subTest(client), self.assertRaises(Unreadable):
                CLIENTS[client].said("[]", Path("nowhere"))


class Asking(unittest.TestCase):
    def check(self, client, work, expected):
        words = CLIENTS[client].command("http://h/small", work, Path("scratch"))
        self.assertIn(expected, " ".join(words))

    def test_a_rate(self):
        held = Work("small", 64, 150_000, rate=50_000)
        self.check("volley", held, "-c 64 -n 150000 --rate 50000/s --workers 1 --spin off --json")
        self.check("volley", replace(held, spin="on"), "--spin on")
        self.check("oha", held, "-c 64 -n 150000 -q 50000 --latency-correction http")
        self.check("k6", held, "-e CONNECTIONS=64 -e REQUESTS=150000 -e RATE=50000")
        self.check("h2load", held, "-c 64 -n 150000 --rps=781.25 http")

    def test_none_where_none_is_asked_for(self):
        for client, words in (("volley", "--rate"), ("oha", "-q"), ("k6", "RATE="), ("h2load", "--rps")):
            with self.subTest(client):
                asked = " ".join(CLIENTS[client].command("http://h/small", Work("small", 1, 1), Path("scratch")))
                self.assertNotIn(words, asked)

    def test_defaults_stay_defaults(self):
        work = Work("small", 0, 1, workers=0, spin="")
        words = CLIENTS["volley"].command("http://h/small", work, Path("scratch"))
        self.assertEqual(words[1:], ["http://h/small", "-n", "1", "--json"])

    def test_a_plan_of_paced_users(self):
        work = Work("small", 1000, 1_840_000, rate=2_000)
        self.check("volley run", work, "run scratch/paced.json --workers 1 --spin off --json")
        plan = json.loads(CLIENTS["volley run"].files("http://h/small", work)["paced.json"])
        expected = {"target": "http://h/small", "users": 1000, "pacing": "500ms", "duration": "920s"}
        self.assertEqual(plan, expected)
        self.assertEqual(CLIENTS["volley"].files("http://h/small", work), {})


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

    def test_at_a_rate_less_is_a_result_and_more_is_not(self):
        held, good = Work("small", 4, 100, rate=10), Said(100, 0, 1.0, 1.0)
        self.check("k6", held, good, 100, 4, 0)
        self.check("k6", held, replace(good, requests=90), 90, 4, 0)
        self.check("k6", held, replace(good, requests=90), 91, 4, 1)
        self.check("k6", held, replace(good, requests=101), 101, 4, 1)
        self.check("k6", held, replace(good, errors=1), 100, 4, 1)


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

    def test_an_end_may_be_named(self):
        with tempfile.TemporaryDirectory() as folder:
            measure.run(["false"], "0", Path(folder), 10, (0, 1))
            with self.assertRaisesRegex(measure.Fault, "false ended with 1"):
                measure.run(["false"], "0", Path(folder), 10)

    def test_a_start_is_taken_off(self):
        whole = Raw(Said(1010, 0, 1.0, 1.0), 3.0, 2.0, 1.0, 2048, 500, 0.5, 0.0, 0.0)
        start = Raw(Said(10, 0, 9.0, 9.0), 1.0, 1.0, 0.5, 1024, 100, 0.1, 0.0, 0.0)
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

    def test_our_second_self_is_no_peer(self):
        results = figures.Results(rounds(**{"volley": [9.0], "volley spin on": [7.0], "ab": [10.0]}))
        self.assertEqual(goals.best_peer(results), "ab")
        self.assertEqual(goals.pair("volley spin on", "ab", "cpu_us", 0.6, "").measure(results)[1], "missed")
        self.assertEqual(goals.best_peer(results, "in_time_pct", max), None)

    def check_pace(self, goal, verdict, words, **samples):
        by_round = [dict(zip(samples, one, strict=True)) for one in zip(*samples.values(), strict=True)]
        found = goal.measure(figures.Results(by_round))
        self.assertEqual(found[1], verdict, found)
        self.assertIn(words, found[0])

    def test_goals_of_a_held_rate(self):
        full, nearly = {"sent_pct": 100.0, "in_time_pct": 99.5}, {"sent_pct": 99.999, "in_time_pct": 99.0}
        unseen = {"sent_pct": None, "in_time_pct": None}
        sent, in_time = goals.all_sent("volley"), goals.in_time_as_best("volley")
        self.check_pace(sent, "reached", "100.000 %", volley=[full, full])
        self.check_pace(sent, "missed", "99.999 %", volley=[full, nearly, full])
        self.check_pace(sent, "can't tell", "", volley=[unseen])
        self.check_pace(in_time, "reached", "of h2load's: +0.500", volley=[full], oha=[unseen], h2load=[nearly])
        self.check_pace(in_time, "reached", "+0.000 [+0.000, +0.000]", volley=[full], oha=[full])
        self.check_pace(in_time, "missed", "-0.500", volley=[nearly] * 3, oha=[full] * 3)
        mixed = {"volley": [full, full, nearly], "oha": [nearly, nearly, full]}
        self.check_pace(in_time, "reached, but the interval crosses it", "+0.500 [-0.500, +0.500]", **mixed)
        self.check_pace(in_time, "can't tell", "", volley=[full])

    def test_a_figure_of_another_of_ours(self):
        results = figures.Results([{"volley": {"growth_pct": 9.0}, "volley 1,000 users": {"growth_pct": 1.0}}])
        aim = goals.at_most("growth_pct", 5, "%", "", "volley 1,000 users")
        self.assertEqual(aim.measure(results), ("1.0 %", "reached"))
        self.assertEqual(goals.at_most("growth_pct", 5, "%", "").measure(results)[1], "missed")

    def test_who_distrusts_itself_is_named(self):
        results = figures.Results([{"a": {"invalid": True}, "b": {"invalid": False}}, {"a": {}, "b": {}}])
        self.assertEqual(report.distrusted(results), " a called its measurement invalid in 1 of 2 rounds.")


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

    def test_all_is_all_but_the_soak(self):
        self.assertEqual({row.name for row in ROWS.values()} - {row.name for row in ALL}, {"memory-15min"})
        self.assertEqual([row.name for row in chosen(["users", "all", "users"])][-1], ALL[-1].name)
        self.assertEqual(len(chosen(["all", "memory-15min"])), len(ROWS))
        self.assertEqual((ROWS["memory-15min"].rounds(15), ROWS["rate-10k"].rounds(15)), (1, 15))

    def test_each_row_can_be_shown(self):
        for row in ROWS.values():
            with self.subTest(row.name):
                numbers = {number: 1.0 for number in report.NUMBERS} | {"stolen_s": 0.0, "elsewhere_s": 0.0}
                kept = states.State({"versions": {}, "machine": "m"}, "", "")
                kept.rounds = [{one.label: numbers for one in row.contenders}] * 2
                text = report.section(row, kept)
                self.assertNotIn("can't tell", text)
                self.assertNotIn("–", text)
                self.assertEqual(text.count("\n| volley / "), sum(of == "volley" for of, _ in row.pairs))

    def test_no_client_rounds_a_count_down(self):
        for row in ROWS.values():
            for one in row.contenders:
                with self.subTest(row=row.name, contender=one.label):
                    left = one.work.requests % max(one.work.connections, 1)
                    # Those that do take no part where a rate is held.
                    self.assertTrue(left == 0 or one.work.rate)


if __name__ == "__main__":
    unittest.main()
