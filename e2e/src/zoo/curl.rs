//! curl as a visitor: what it says of each transfer, and when that is the same as what we say.

use std::fmt::{self, Write};
use std::process::Command;

use super::animal::{Animal, Curl};
use super::expected::End;
use crate::process::{PATIENCE, Process};

/// One transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Transfer {
    exit: i32,
    status: u16,
    body_bytes: u64,
}

/// What curl said of its transfers, and the server of curl.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    transfers: Vec<Transfer>,
    pub(super) connections: u64,
    pub(super) requests: u64,
}

impl Said {
    /// Has curl make the transfers of a visit, one after the other in one process, so that it may re-use connections.
    pub(super) fn by_curl(animal: &Animal, url: &str, fill: impl Fn(&str) -> String) -> Self {
        let mut command = Command::new("curl");
        // -q goes first: nobody's ~/.curlrc counts.
        command.args(["-q", "-s", "--noproxy", "*", "--path-as-is", "-g", "-m", "2"]);
        command.args(["-w", "%{exitcode} %{response_code} %{size_download}\n"]);
        command.args(animal.curl_arguments.iter().map(|argument| fill(argument)));
        for _ in 0..transfers(animal) {
            command.args(["-o", "/dev/null", url]);
        }
        let (_, stdout, stderr) = Process::start(&mut command).wait(PATIENCE);
        let stdout = String::from_utf8_lossy(&stdout);
        let transfers = stdout.lines().filter_map(transfer).collect();
        assert!(stderr.is_empty(), "{command:?}: {stderr}");
        Self { transfers, connections: 0, requests: 0 }
    }

    /// Whether it ended with a failure after which curl makes no more transfers: out of memory, or a bad argument of a
    /// function, as it calls lines that are too long and trailers without a colon.
    fn gave_up(&self) -> bool {
        self.transfers.last().is_some_and(|transfer| matches!(transfer.exit, 27 | 43))
    }

    /// What is not the same as what must come of a visit.
    pub(super) fn differences(&self, animal: &Animal) -> Vec<String> {
        let mut differences = Vec::new();
        let transfers = if self.gave_up() { self.transfers.len() as u64 } else { transfers(animal) };
        let wanted = animal
            .expected
            .counted(transfers)
            .flat_map(|(end, count)| std::iter::repeat_n(end, usize::try_from(count).expect("a few")));
        let wanted: Vec<End> = wanted.collect();
        if wanted.len() != self.transfers.len() {
            differences.push(format!("curl made {} transfers of {}", self.transfers.len(), wanted.len()));
        }
        let mut pairs = wanted.iter().zip(&self.transfers);
        if let Some((end, transfer)) = pairs.find(|(end, transfer)| !transfer.is(**end, animal.decoded)) {
            differences.push(format!("{transfer:?} is not {end:?}"));
        }
        let connections = animal.expected.connections(transfers);
        let one_user = animal.users == 1;
        // Where it doesn't like a body, curl doesn't wait for its end.
        let is_disappointed = wanted.iter().any(|end| matches!(end, End::Disappointment { .. }));
        if one_user && !is_disappointed && !connections.contains(&self.connections) {
            differences.push(format!("curl opened {} connections and not {connections:?}", self.connections));
        }
        let requests = animal.expected.requests(transfers);
        if one_user && !requests.contains(&self.requests) {
            differences.push(format!("curl sent {} requests and not {requests:?}", self.requests));
        }
        differences
    }
}

/// How many transfers curl makes: as many as there are requests, but for those that users make at the same time, and those
/// that are known to time out.
fn transfers(animal: &Animal) -> u64 {
    match animal.curl {
        Curl::Differs { said, .. } if said.starts_with("exit 28,") => 1,
        _ => animal.requests / animal.users,
    }
}

fn transfer(line: &str) -> Option<Transfer> {
    let mut words = line.split(' ');
    let exit = words.next()?.parse().ok()?;
    let status = words.next()?.parse().ok()?;
    let body_bytes = words.next()?.parse().ok()?;
    Some(Transfer { exit, status, body_bytes })
}

impl Transfer {
    /// Whether it is what we call so. Of a decoded body curl tells the length after decoding, and we the length before.
    fn is(&self, end: End, decoded: bool) -> bool {
        match end {
            End::Answer { status, body_bytes } => {
                self.exit == 0 && self.status == status && (decoded || self.body_bytes == body_bytes)
            }
            End::Disappointment { kind, status, .. } => {
                exits(kind).contains(&self.exit) && self.status == status
            }
            End::Error(kind) => exits(kind).contains(&self.exit),
        }
    }
}

/// The exit codes by which curl says what we call so (curl(1), EXIT CODES).
fn exits(kind: &str) -> &'static [i32] {
    match kind {
        "resolve" => &[6],
        "connect_refused" | "connect_unreachable" => &[7],
        "connect_timeout" | "first_byte_timeout" | "idle_timeout" | "total_timeout" => &[28],
        // 56 where an alert comes after what a client takes for the end of the handshake.
        "tls" => &[35, 56, 98],
        "tls_certificate" => &[60],
        "closed_early" => &[52],
        // 52 and 56 where it is the head, or a chunk, that was cut.
        "truncated" => &[18, 52, 56],
        "reset" | "write" => &[35, 55, 56],
        // HTTP/0.9; a weird answer; too long a line; a trailer that is none; bad chunks; an unknown transfer coding.
        "protocol" => &[1, 8, 27, 43, 56, 61],
        // 23 where what was decoded could not be handed on.
        "decode" => &[23, 56, 61],
        _ => &[],
    }
}

impl fmt::Display for Said {
    /// Exit codes, statuses and lengths of all transfers, where they are all the same only once; connections and requests.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |of: &dyn Fn(&Transfer) -> String| {
            let mut all: Vec<String> = self.transfers.iter().map(of).collect();
            if all.windows(2).all(|pair| pair[0] == pair[1]) {
                all.truncate(1);
            }
            all.join(",")
        };
        let mut text = String::new();
        write!(text, "exit {}", list(&|transfer| transfer.exit.to_string()))?;
        write!(text, ", status {}", list(&|transfer| transfer.status.to_string()))?;
        write!(text, ", {} bytes", list(&|transfer| transfer.body_bytes.to_string()))?;
        write!(f, "{text}, A {}, R {}", self.connections, self.requests)
    }
}
