//! What an agent says.

use volley_plan::link::{FromAgent, Hello, Incarnation, Progress, Report, RoundTrip};

use crate::fields::{clipped, name, required, run, text, within, within_u32};
use crate::labels::{labels_from_wire, labels_to_wire};
use crate::limits::{MAX_CAPACITY, MAX_NAME_BYTES, MAX_REASON_BYTES, MAX_WEIGHT, MAX_WORKERS};
use crate::v1::{from_agent, report};
use crate::{WireError, v1};

impl From<FromAgent> for v1::FromAgent {
    fn from(message: FromAgent) -> Self {
        let message = match message {
            FromAgent::Join(hello) => from_agent::Message::Join(hello.into()),
            FromAgent::Ping { sent_ns, round_trip, progress, leaving } => {
                from_agent::Message::Ping(v1::Ping {
                    sent_ns,
                    round_trip: round_trip.map(Into::into),
                    progress: progress.map(Into::into),
                    leaving,
                })
            }
            FromAgent::Report { run, of, report } => from_agent::Message::Report(v1::Report {
                run: run.as_str().to_owned(),
                of: of.map(|Incarnation(number)| number),
                report: Some(report.into()),
            }),
        };
        Self { message: Some(message) }
    }
}

impl TryFrom<v1::FromAgent> for FromAgent {
    type Error = WireError;

    fn try_from(wire: v1::FromAgent) -> Result<Self, WireError> {
        Ok(match required(wire.message, "FromAgent.message")? {
            from_agent::Message::Join(hello) => Self::Join(hello.try_into()?),
            from_agent::Message::Ping(ping) => Self::Ping {
                sent_ns: ping.sent_ns,
                round_trip: ping.round_trip.map(Into::into),
                progress: ping.progress.map(TryInto::try_into).transpose()?,
                leaving: ping.leaving,
            },
            from_agent::Message::Report(report) => Self::Report {
                run: run(&report.run, "Report.run")?,
                of: report.of.map(Incarnation),
                report: required(report.report, "Report.report")?.try_into()?,
            },
        })
    }
}

impl From<Hello> for v1::Hello {
    fn from(hello: Hello) -> Self {
        Self {
            protocol: hello.protocol,
            version: clipped(hello.version, MAX_NAME_BYTES),
            incarnation: hello.incarnation.0,
            name: clipped(hello.name, MAX_NAME_BYTES),
            workers: hello.workers,
            labels: labels_to_wire(hello.labels),
            weight: hello.weight,
            capacity: hello.capacity,
        }
    }
}

impl TryFrom<v1::Hello> for Hello {
    type Error = WireError;

    fn try_from(wire: v1::Hello) -> Result<Self, WireError> {
        let count = |count: Option<u32>, most, field| {
            count.map(|count| within_u32(count, 1, most, field)).transpose()
        };
        Ok(Self {
            protocol: wire.protocol,
            version: name(wire.version, MAX_NAME_BYTES, "Hello.version")?,
            incarnation: Incarnation(wire.incarnation),
            name: name(wire.name, MAX_NAME_BYTES, "Hello.name")?,
            workers: within_u32(wire.workers, 1, MAX_WORKERS, "Hello.workers")?,
            labels: labels_from_wire(&wire.labels)?,
            weight: count(wire.weight, MAX_WEIGHT, "Hello.weight")?,
            capacity: count(wire.capacity, MAX_CAPACITY, "Hello.capacity")?,
        })
    }
}

impl From<RoundTrip> for v1::RoundTrip {
    fn from(trip: RoundTrip) -> Self {
        let RoundTrip { sent_ns, received_ns, answered_ns, returned_ns } = trip;
        Self { sent_ns, received_ns, answered_ns, returned_ns }
    }
}

/// Any four numbers are a round trip: what they are good for is judged where they are used.
impl From<v1::RoundTrip> for RoundTrip {
    fn from(wire: v1::RoundTrip) -> Self {
        let v1::RoundTrip { sent_ns, received_ns, answered_ns, returned_ns } = wire;
        Self { sent_ns, received_ns, answered_ns, returned_ns }
    }
}

impl From<Progress> for v1::Progress {
    fn from(progress: Progress) -> Self {
        let Progress { run, acknowledged, start_ns } = progress;
        Self { run: run.as_str().to_owned(), acknowledged, start_ns }
    }
}

impl TryFrom<v1::Progress> for Progress {
    type Error = WireError;

    fn try_from(wire: v1::Progress) -> Result<Self, WireError> {
        let v1::Progress { run: name, acknowledged, start_ns } = wire;
        Ok(Self { run: run(&name, "Progress.run")?, acknowledged, start_ns })
    }
}

impl From<Report> for report::Report {
    fn from(report: Report) -> Self {
        match report {
            Report::Ready => Self::Ready(v1::Ready {}),
            Report::Refused { reason } => {
                Self::Refused(v1::Refused { reason: clipped(reason, MAX_REASON_BYTES) })
            }
            Report::GrantWanted { taken, iterations } => {
                Self::GrantWanted(v1::GrantWanted { taken, iterations })
            }
            Report::Window { sequence, window, last } => {
                Self::Window(v1::NumberedWindow { sequence, window: Some(window.into()), last })
            }
        }
    }
}

impl TryFrom<report::Report> for Report {
    type Error = WireError;

    fn try_from(wire: report::Report) -> Result<Self, WireError> {
        Ok(match wire {
            report::Report::Ready(v1::Ready {}) => Self::Ready,
            report::Report::Refused(v1::Refused { reason }) => {
                Self::Refused { reason: text(reason, MAX_REASON_BYTES, "Refused.reason")? }
            }
            report::Report::GrantWanted(v1::GrantWanted { taken, iterations }) => {
                Self::GrantWanted { taken, iterations }
            }
            report::Report::Window(v1::NumberedWindow { sequence, window, last }) => Self::Window {
                sequence: within(sequence, 1, u64::MAX, "NumberedWindow.sequence")?,
                window: required(window, "NumberedWindow.window")?.try_into()?,
                last,
            },
        })
    }
}
