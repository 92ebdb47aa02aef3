//! An engine that is dropped leaves no thread and no connection behind. Alone in its process, since it counts threads.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic where it stands")]

use std::io::Read;
use std::net::TcpListener;
use std::sync::Arc;

use volley_engine::{Clock, Command, Engine, Event, Setup, Spin};
use volley_plan::allow::AllowList;
use volley_plan::link::Share;

fn engine_threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with("volley-")).collect()
}

#[test]
fn a_dropped_engine_leaves_nothing_behind() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let plan = volley_plan::parse(&format!("target: http://{address}/\nusers: 3\nduration: 60s")).unwrap();
    let (share, plan, allow) = (Share::all(&plan), Arc::new(plan), Arc::new(AllowList::anything()));
    let (clock, spin) = (Clock::start(), Spin::Auto);
    let setup = Setup {
        plan,
        share,
        adjusted: Vec::new(),
        allow,
        workers: 2,
        seed: 1,
        clock,
        spin,
        files: None,
        listener: None,
    };
    let (engine, mut events) = Engine::launch(setup.clone());
    assert_eq!(events.blocking_recv(), Some(Event::Ready));
    assert_eq!(engine_threads().len(), 3);
    engine.command(Command::Start { at_ns: clock.now_ns(), from_ns: 0, lease_until_ns: u64::MAX });
    let mut accepted: Vec<_> = (0..3).map(|_| listener.accept().unwrap().0).collect();
    // Each has sent its request and waits for the answer.
    for stream in &mut accepted {
        assert!(stream.read(&mut [0; 1024]).unwrap() > 0);
    }
    drop(engine);
    assert_eq!(engine_threads(), Vec::<String>::new());
    for stream in &mut accepted {
        assert_eq!(stream.read(&mut [0; 16]).unwrap(), 0);
    }
    let mut last = 0;
    while let Some(event) = events.blocking_recv() {
        last += u32::from(matches!(event, Event::Window { last: true, .. }));
    }
    assert_eq!(last, 1);

    // One that is dropped before it was ready, or before it was started.
    drop(Engine::launch(setup.clone()));
    let (engine, mut events) = Engine::launch(setup);
    assert_eq!(events.blocking_recv(), Some(Event::Ready));
    drop(engine);
    assert_eq!(engine_threads(), Vec::<String>::new());
}
