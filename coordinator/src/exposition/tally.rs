//! What was sent, as a coordinator tells it of its whole fleet and an agent of itself. Each figure is told of the warm-up and
//! of what is measured apart, so that either can be held against the other numbers of a run.

use volley_stats::{Buckets, ErrorKind, Part, PartTally, Tally};

use super::{Exposition, Labels, Of};

const PARTS: [(&str, Part); 2] = [("warmup", Part::Warmup), ("measured", Part::Measured)];

impl Exposition {
    /// Adds all figures of a tally.
    pub fn tally(&mut self, tally: &Tally) {
        self.requests(tally);
        self.traffic(tally);
        self.times(tally);
    }

    fn requests(&mut self, tally: &Tally) {
        let help = "Requests taken up by a loop.";
        self.counter("volley_requests_started", Of::Things, help, by_part(tally, |of| of.counters.started));
        let outcomes = of_parts(tally, |of| {
            let counters = &of.counters;
            let all = [("ok", counters.ok), ("failed", counters.failed), ("cancelled", counters.cancelled)];
            all.map(|(outcome, n)| (vec![("outcome", outcome.to_owned())], n)).into()
        });
        self.counter("volley_requests", Of::Things, "Requests that came to an end.", outcomes);
        let kinds = of_parts(tally, |of| {
            ErrorKind::ALL.iter().map(|kind| (named(*kind), of.counters.errors.get(*kind))).collect()
        });
        self.counter("volley_errors", Of::Things, "Failed requests by kind.", kinds);
        let answers = of_parts(tally, |of| {
            let answers = of.counters.statuses.sorted().into_iter();
            answers.map(|(status, n)| (vec![("status", status.to_string())], n)).collect()
        });
        self.counter("volley_answers", Of::Things, "Final answers by status.", answers);
        let help = "Iterations started.";
        self.counter("volley_iterations", Of::Things, help, by_part(tally, |of| of.iterations.started));
        let help = "Iterations that were due and sent by nobody.";
        self.counter("volley_missed_arrivals", Of::Things, help, by_part(tally, |of| of.iterations.missed));
    }

    fn traffic(&mut self, tally: &Tally) {
        let help = "Bytes written to connections.";
        self.counter("volley_sent", Of::Bytes, help, by_part(tally, |of| of.counters.bytes_sent));
        let help = "Bytes read from connections.";
        self.counter("volley_received", Of::Bytes, help, by_part(tally, |of| of.counters.bytes_received));
        let help = "Connections opened.";
        let opened = by_part(tally, |of| of.counters.connections_opened);
        self.counter("volley_connections_opened", Of::Things, help, opened);
        let help = "TLS handshakes.";
        self.counter("volley_handshakes", Of::Things, help, by_part(tally, |of| of.counters.handshakes));
    }

    fn times(&mut self, tally: &Tally) {
        let latency = of_parts(tally, |of| {
            let all = [("ok", &of.latency), ("failed", &of.failed_latency)];
            all.map(|(outcome, of)| (vec![("outcome", outcome.to_owned())], of.clone())).into()
        });
        let help = "Latency of requests, from when they were due.";
        self.histogram("volley_request_duration", help, latency);
        let help = "Time of ok requests of the open model, from when they were taken up.";
        self.histogram("volley_service_time", help, times_by_part(tally, |of| &of.service_time));
        let help = "How late iterations were taken up.";
        self.histogram("volley_schedule_lag", help, times_by_part(tally, |of| &of.lag));
    }
}

fn named(kind: ErrorKind) -> Labels {
    vec![("kind", kind.name().to_owned()), ("phase", kind.phase().name().to_owned())]
}

/// The samples of each part, told apart by a label.
fn of_parts<T>(tally: &Tally, samples: impl Fn(&PartTally) -> Vec<(Labels, T)>) -> Vec<(Labels, T)> {
    let mut all = Vec::new();
    for (name, part) in PARTS {
        all.extend(samples(tally.of(part)).into_iter().map(|(mut labels, value)| {
            labels.insert(0, ("part", name.to_owned()));
            (labels, value)
        }));
    }
    all
}

fn by_part(tally: &Tally, count: impl Fn(&PartTally) -> u64) -> Vec<(Labels, u64)> {
    of_parts(tally, |of| vec![(Labels::new(), count(of))])
}

fn times_by_part(tally: &Tally, times: impl Fn(&PartTally) -> &Buckets) -> Vec<(Labels, Buckets)> {
    of_parts(tally, |of| vec![(Labels::new(), times(of).clone())])
}
