//! The process is killed at whatever moment: what was acknowledged is there, once.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use super::*;

/// Where the killed process keeps its store; without it, the test that is that process does nothing.
const STORE: &str = "VOLLEY_TEST_STORE";
const ROUNDS: u64 = 20;
const AGENTS: u64 = 3;

/// The process that is killed: keeps windows of a run without an end, and says which are acknowledged.
#[tokio::test]
async fn the_process_that_is_killed() {
    let Some(path) = std::env::var_os(STORE) else { return };
    let store =
        SqliteStore::open(Path::new(&path), Retention { finished_runs: 5, ..Retention::default() }).unwrap();
    let id = format!("r{}", std::process::id());
    let run = suite::document(&id);
    store.create(&run).await.unwrap();
    println!("\nrun {id}");
    for second in 0..100_000 {
        for agent in 1..=AGENTS {
            let sequence = u64::from(second) + 1;
            keep(&store, &run.id, agent, sequence, &rich_window(second, 2, 7 + agent)).await;
            println!("\nkept {agent} {sequence}");
        }
        store.complete(&run.id, second).await.unwrap();
    }
}

struct Victim(Child);

impl Victim {
    fn start(path: &Path) -> Self {
        let name = "store::sqlite::tests::crash::the_process_that_is_killed";
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", name, "--nocapture"]).env(STORE, path);
        Self(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// Lets it acknowledge so many windows and go on for some microseconds, and kills it. Gives back its run and the
    /// highest sequence acknowledged of each agent; it may have kept one more of one agent without having said so.
    fn kill_after(&mut self, windows: u64, pause: Duration) -> (RunId, BTreeMap<u64, u64>) {
        let mut lines = BufReader::new(self.0.stdout.take().unwrap()).lines();
        let (mut run, mut acknowledged, mut count) = (None, BTreeMap::new(), 0);
        let mut killed = false;
        while let Some(Ok(line)) = lines.next() {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["run", id] => run = RunId::new(id),
                ["kept", agent, sequence] => {
                    acknowledged.insert(agent.parse().unwrap(), sequence.parse().unwrap());
                    count += 1;
                }
                _ => {}
            }
            // What it had said before it died is read to the end.
            if count >= windows && !killed {
                std::thread::sleep(pause);
                self.0.kill().unwrap();
                killed = true;
            }
        }
        assert!(killed, "it ended by itself");
        (run.unwrap(), acknowledged)
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn what_was_acknowledged_survives_the_killing_of_the_process() {
    let folder = Folder::new();
    for round in 0..ROUNDS {
        // From the first moments to runs of some minutes, in which seconds and minutes are put together.
        let windows = 1 + round * round * 3;
        let pause = Duration::from_micros(round.wrapping_mul(7919) % 4000);
        let mut victim = Victim::start(&folder.path());
        let (run, acknowledged) = victim.kill_after(windows, pause);
        drop(victim);
        let store = folder.store_with(Retention { finished_runs: 5, ..Retention::default() });
        check(&store, &run, &acknowledged).await;
        let unfinished = store.unfinished().await.unwrap();
        assert!(unfinished.iter().any(|unfinished| unfinished.document.id == run), "round {round}");
        // So that it can make room.
        store.close(&run).await.unwrap();
    }
    assert!(folder.number("SELECT count(*) FROM runs WHERE NOT removed") >= 5);
    assert_eq!(
        folder.db().query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)).unwrap(),
        "ok"
    );
}

/// Each agent's windows are there up to the acknowledged one or the one after it, each once.
async fn check(store: &SqliteStore, run: &RunId, acknowledged: &BTreeMap<u64, u64>) {
    // What came after the last complete second is merged with the rest.
    store.complete(run, 0).await.unwrap();
    let series = store.series(run).await.unwrap();
    let spans = store.spans(run, Grain::Second, 0, u32::MAX).await.unwrap();
    let whole = series.lock().whole();
    let (mut in_all, mut unsaid) = (0, 0);
    for agent in 1..=AGENTS {
        let said = acknowledged.get(&agent).copied().unwrap_or(0);
        let mut kept = said;
        // Keeping it again tells whether it is there; a window that is new now is one that was never kept.
        while keep(store, run, agent, kept + 1, &Arc::new(Window::default())).await == Kept::Repeated {
            kept += 1;
        }
        unsaid += kept - said;
        in_all += kept * 2 * (7 + agent);
    }
    assert!(unsaid <= 1, "{unsaid} windows that nobody was told of");
    assert_eq!(whole.latency.count(), in_all, "{acknowledged:?}");
    assert_eq!(whole.counters.ok, in_all);
    let by_second: u64 = spans.iter().map(|span| span.row.open::<u32>().unwrap().latency.count()).sum();
    assert_eq!(by_second, in_all);
    let by_minute = store.spans(run, Grain::Minute, 0, u32::MAX).await.unwrap();
    assert_eq!(by_minute.iter().map(|span| span.row.counters.ok).sum::<u64>(), in_all);
}
