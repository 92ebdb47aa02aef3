//! A thousand agents on one coordinator over real gRPC: what it costs. The agents are tasks of this process which say what
//! real ones say, ten steps with a hundred requests each a second; nothing is sent to any target.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::mpsc::Sender;
use tokio::time::{MissedTickBehavior, interval, sleep_until};
use tonic::transport::{Channel, Endpoint};
use volley_e2e::{Coordinator, Report};
use volley_plan::link::{
    FromAgent, Hello, Incarnation, Order, PING_NS, PROTOCOL, Progress, Report as Told, RunId, ToAgent,
};
use volley_stats::{
    AddressCounts, Health, Iterations, Part, Row, RowKey, SECOND_NS, SealedRow, SealedWindow, Second, Timed,
};

const STEPS: u16 = 10;
const REQUESTS_A_STEP: u64 = 100;
/// Windows that may be on their way unacknowledged, as of real agents.
const MAX_ON_THE_WAY: u64 = 4;

/// The way to the coordinator.
type Line = Sender<volley_proto::v1::FromAgent>;

/// What the coordinator cost.
pub(crate) struct Cost {
    pub(crate) cores: f64,
    pub(crate) resident_mib: u64,
    pub(crate) page_behind_s: f64,
}

/// A run of so many seconds on so many agents.
pub(crate) fn play(agents: usize, seconds: u64) -> Cost {
    let coordinator = Coordinator::start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let address = coordinator.agents_address.clone();
    let length_s = u32::try_from(seconds).expect("a short run");
    let simulated =
        std::thread::spawn(move || runtime.block_on(simulate(address, agents, length_s, stopped)));
    let api = coordinator.api();
    api.wait_for("all agents", Duration::from_secs(60), |api| api.agents().len() == agents);
    let id = api.start(&plan(agents, seconds));
    let (tell, told) = mpsc::channel();
    let reader = std::thread::spawn({
        let (api, id) = (api.clone(), id.clone());
        move || {
            api.follow(&format!("/api/v1/runs/{id}/stream"), Duration::from_secs(seconds + 60), |line| {
                let _ = tell.send(line.to_owned());
            });
        }
    });
    let cost = measure(&coordinator, seconds, &told);
    let report = api.finished(&id).checked();
    check(&report, agents as u64, seconds);
    // It may have ended by itself.
    let _ = stop.send(());
    simulated.join().expect("the simulated agents");
    reader.join().expect("the reader of the stream");
    cost
}

fn plan(agents: usize, seconds: u64) -> String {
    let steps: String =
        (0..STEPS).map(|step| format!("      - {{ get: /{step}, name: step-{step} }}\n")).collect();
    format!(
        "target: http://127.0.0.1:1/\nusers: {agents}\nduration: {seconds}s\nagents: {{ min: {agents}, wait: 30s }}\n\
         scenarios:\n  only:\n    steps:\n{steps}"
    )
}

/// Everything arrived, once.
fn check(report: &Report, agents: u64, seconds: u64) {
    let each = u64::from(STEPS) * REQUESTS_A_STEP * seconds;
    assert_eq!(report.count("ok"), agents * each, "{}", report.text("sentence"));
    assert_eq!(report.document()["incomplete"], false, "{}", report.text("sentence"));
}

/// CPU and memory of the coordinator between a sixth and the end of the run, and how far its page is behind.
fn measure(coordinator: &Coordinator, seconds: u64, lines: &mpsc::Receiver<String>) -> Cost {
    let (mut from, mut cost) = (None, Cost { cores: 0.0, resident_mib: 0, page_behind_s: 0.0 });
    for line in lines {
        let Some(tick) =
            line.strip_prefix("data: ").and_then(|data| serde_json::from_str::<Value>(data).ok())
        else {
            continue;
        };
        let (Some(second), Some(elapsed_s)) = (tick["second"].as_u64(), tick["elapsed_s"].as_f64()) else {
            continue;
        };
        if second < seconds / 6 {
            continue;
        }
        let (at, cpu_s) = (Instant::now(), cpu_s(coordinator.id()));
        let (since, cpu_before_s) = *from.get_or_insert((at, cpu_s));
        if at > since {
            cost.cores = (cpu_s - cpu_before_s) / (at - since).as_secs_f64();
        }
        cost.resident_mib = cost.resident_mib.max(resident_mib(coordinator.id()));
        cost.page_behind_s = cost.page_behind_s.max(elapsed_s - second as f64 - 1.0);
        if second + 2 >= seconds {
            break;
        }
    }
    cost
}

/// CPU time of a process so far.
fn cpu_s(id: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).expect("the process is there");
    let (_, fields) = stat.rsplit_once(')').expect("its name is in brackets");
    let ticks = |place: usize| fields.split_whitespace().nth(place).and_then(|text| text.parse::<f64>().ok());
    // User and system time, in hundredths of a second on every Linux.
    (ticks(11).expect("user time") + ticks(12).expect("system time")) / 100.0
}

fn resident_mib(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).expect("the process is there");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has memory");
    line.trim().trim_end_matches("kB").trim().parse::<u64>().expect("a number") / 1024
}

async fn simulate(
    address: String,
    agents: usize,
    length_s: u32,
    stopped: tokio::sync::oneshot::Receiver<()>,
) {
    let begun = Instant::now();
    let rows = Arc::new(Rows::new());
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..agents {
        let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("a URL");
        let channel = endpoint.connect().await.expect("a connection");
        tasks.spawn(Agent::new(number as u64 + 1, begun, length_s, Arc::clone(&rows)).live(channel));
    }
    let _ = stopped.await;
    tasks.shutdown().await;
}

/// What happens in a second, of a few kinds so that not all agents say the same. Sealed once for all: what it costs to
/// measure and to seal is the agents' affair, and these share a machine with the coordinator.
struct Rows {
    of_steps: Vec<SealedRow>,
    /// What is timed of all steps together.
    timing: SealedRow,
}

impl Rows {
    fn new() -> Self {
        let mut timing = Row::<u32>::default();
        for request in 0..REQUESTS_A_STEP * u64::from(STEPS) {
            for timed in [Timed::Send, Timed::FirstByte, Timed::Receive] {
                timing.timing.record(timed, 10_000 + request * 1_000);
            }
        }
        Self { of_steps: (0..16).map(|kind| of_step(kind).seal()).collect(), timing: timing.seal() }
    }
}

/// One step's requests.
fn of_step(kind: u64) -> Row {
    let mut row = Row::default();
    for request in 0..REQUESTS_A_STEP {
        // Between 1 and about 100 ms, most of them short.
        let place = (request * 37 + kind * 11) % 100;
        row.latency.record(1_000_000 + place * place * 10_000 + kind * 1_000);
    }
    row.counters.started = REQUESTS_A_STEP;
    row.counters.ok = REQUESTS_A_STEP;
    row.counters.connections_reused = REQUESTS_A_STEP;
    row.counters.bytes_sent = REQUESTS_A_STEP * 80;
    row.counters.bytes_received = REQUESTS_A_STEP * 200;
    row.counters.statuses.add(200, REQUESTS_A_STEP);
    row
}

/// One simulated agent.
struct Agent {
    number: u64,
    /// Its clock counts from here.
    begun: Instant,
    /// The run's seconds.
    length_s: u32,
    rows: Arc<Rows>,
    progress: Option<Progress>,
    /// Run time 0 and the second that is reported next.
    start_ns: Option<u64>,
    second: u32,
    /// Windows that are due, numbered by their seconds; that were sent; and that were acknowledged.
    due: u64,
    sent: u64,
    acknowledged: u64,
}

impl Agent {
    fn new(number: u64, begun: Instant, length_s: u32, rows: Arc<Rows>) -> Self {
        Self {
            number,
            begun,
            length_s,
            rows,
            progress: None,
            start_ns: None,
            second: 0,
            due: 0,
            sent: 0,
            acknowledged: 0,
        }
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).expect("no test lasts for centuries")
    }

    async fn live(mut self, channel: Channel) {
        let (to, outgoing) = tokio::sync::mpsc::channel(64);
        let outgoing = tokio_stream::wrappers::ReceiverStream::new(outgoing);
        let hello = Hello {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            incarnation: Incarnation(self.number),
            name: format!("simulated-{:04}", self.number),
            workers: 1,
            labels: BTreeMap::new(),
            weight: None,
            capacity: None,
        };
        say(&to, FromAgent::Join(hello)).await;
        let mut answers =
            volley_proto::client(channel).attach(outgoing).await.expect("an answer").into_inner();
        let mut pings = interval(Duration::from_nanos(PING_NS));
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let due = self.second_due();
            tokio::select! {
                message = answers.message() => match message {
                    Ok(Some(message)) => {
                        let message = ToAgent::try_from(message).expect("a message that this version knows");
                        self.hear(message, &to).await;
                    }
                    _ => return,
                },
                _ = pings.tick() => self.ping(&to).await,
                () = sleep_until(due.into()) => self.report(&to).await,
            }
        }
    }

    /// When the second at hand is reported, spread over the agents as real ones are; in an hour where there is none.
    fn second_due(&self) -> Instant {
        let Some(start_ns) = self.start_ns else { return Instant::now() + Duration::from_secs(3600) };
        let over_ns = start_ns + u64::from(self.second + 1) * SECOND_NS + self.number % 1000 * 200_000;
        self.begun + Duration::from_nanos(over_ns)
    }

    async fn ping(&self, to: &Line) {
        let progress = self.progress.clone().map(|progress| Progress { start_ns: self.start_ns, ..progress });
        say(to, FromAgent::Ping { sent_ns: self.now_ns(), round_trip: None, progress, leaving: false }).await;
    }

    async fn hear(&mut self, message: ToAgent, to: &Line) {
        let (run, number, order) = match message {
            ToAgent::Order { run, number, order } => (run, number, order),
            ToAgent::Acknowledge { sequence, .. } => {
                self.acknowledged = self.acknowledged.max(sequence);
                return self.deliver(to).await;
            }
            _ => return,
        };
        let at_hand = self.progress.as_ref().filter(|progress| progress.run == run);
        let taken = at_hand.map_or(0, |progress| progress.acknowledged);
        if number != taken + 1 {
            return;
        }
        self.progress = Some(Progress { run: run.clone(), acknowledged: number, start_ns: self.start_ns });
        match order {
            Order::Prepare { .. } => say(to, told(&run, Told::Ready)).await,
            Order::Start { at_ns, .. } => self.start_ns = Some(at_ns),
            Order::Stop { at_ns, .. } => {
                self.length_s = u32::try_from(at_ns.div_ceil(SECOND_NS)).expect("a short run");
            }
            Order::Release => (self.start_ns, self.progress) = (None, None),
            Order::Grant { .. } | Order::Change { .. } => {}
        }
        self.ping(to).await;
    }

    /// Another second is over.
    async fn report(&mut self, to: &Line) {
        self.second += 1;
        self.due += 1;
        if self.second >= self.length_s {
            self.start_ns = None;
        }
        self.deliver(to).await;
    }

    /// Sends what is due, as far as may be on its way.
    async fn deliver(&mut self, to: &Line) {
        let Some(run) = self.progress.as_ref().map(|progress| progress.run.clone()) else { return };
        while self.sent < self.due && self.sent - self.acknowledged < MAX_ON_THE_WAY {
            let second = u32::try_from(self.sent).expect("a short run");
            self.sent += 1;
            let (window, last) = (self.window(second), second + 1 >= self.length_s);
            say(to, told(&run, Told::Window { sequence: self.sent, window, last })).await;
        }
    }

    fn window(&self, second: u32) -> SealedWindow {
        let Rows { of_steps, timing } = &*self.rows;
        let kind = |step: u16| (self.number as usize + usize::from(step) + second as usize) % of_steps.len();
        let mut window = SealedWindow::default();
        for step in 0..STEPS {
            window.rows.insert(RowKey::second(second, step), of_steps[kind(step)].clone());
        }
        window.rows.insert(RowKey::all_steps(second, Part::Measured), timing.clone());
        let n = REQUESTS_A_STEP;
        let iterations = Iterations { started: n, finished: n, missed: 0 };
        window.seconds.insert(second, Second { iterations, users: 1, connections: 1, ..Second::default() });
        window.health.insert(second, Health { span_ns: SECOND_NS, cpu_ns: 1_000_000, ..Health::default() });
        let counts = AddressCounts { requests: n * u64::from(STEPS), ..AddressCounts::default() };
        window.addresses.add("127.0.0.1:1", &counts);
        window.watermark_s = second + 1;
        window.latest_ns = u64::from(second + 1) * SECOND_NS - 1;
        window
    }
}

fn told(run: &RunId, report: Told) -> FromAgent {
    FromAgent::Report { run: run.clone(), of: None, report }
}

async fn say(line: &Line, message: FromAgent) {
    // A coordinator that is gone is seen by the stream's end.
    let _ = line.send(message.into()).await;
}
