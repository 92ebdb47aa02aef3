//! Times of an attempt, as different onlookers see them.

use super::*;

#[test]
fn the_parts_of_an_attempt_add_up_to_its_whole() {
    let check = |resolved_ns, connected_ns, expected: (Option<u64>, u64, Option<u64>)| {
        let attempt = Attempt { resolved_ns, connected_ns, ..Attempt::new(0, 100) };
        let Opened { resolving_ns, connecting_ns, tls_ns } = attempt.opened(200);
        assert_eq!((resolving_ns, connecting_ns, tls_ns), expected);
        assert_eq!(resolving_ns.unwrap_or(0) + connecting_ns + tls_ns.unwrap_or(0), 100);
    };
    check(None, None, (None, 100, None));
    check(Some(130), None, (Some(30), 70, None));
    check(None, Some(150), (None, 50, Some(50)));
    check(Some(110), Some(150), (Some(10), 40, Some(50)));
}

#[test]
fn who_comes_later_sees_the_end_of_it() {
    let opened = Opened { resolving_ns: Some(10), connecting_ns: 40, tls_ns: Some(50) };
    let check = |waited_ns, expected: (Option<u64>, u64, Option<u64>)| {
        let Opened { resolving_ns, connecting_ns, tls_ns } = opened.last(waited_ns);
        assert_eq!((resolving_ns, connecting_ns, tls_ns), expected, "{waited_ns}");
    };
    check(100, (Some(10), 40, Some(50)));
    check(1000, (Some(10), 40, Some(50)));
    check(95, (Some(5), 40, Some(50)));
    check(60, (Some(0), 10, Some(50)));
    check(20, (Some(0), 0, Some(20)));
}

#[test]
fn the_next_attempt_begins_after_the_address_that_was_tried_last() {
    let mut attempt = Attempt::new(usize::MAX, 0);
    assert_eq!(attempt.next_way(), usize::MAX);
    attempt.trying = Some(Rc::new(Tally::new("one")));
    assert_eq!(attempt.next_way(), 0);
}

/// What a dialer finds for two connections at these times, whose destination has no address any more; the counts of the
/// address that it knew.
fn ways_of(resolve: Resolve, times_ns: [u64; 2]) -> Vec<Result<usize, ErrorKind>> {
    let mut plan = volley_plan::parse("target: http://127.0.0.1:1/\nusers: 1\nduration: 1s").unwrap();
    let gone = volley_plan::Remote { host: "gone.invalid".to_owned(), port: 1, zone: None };
    plan.http.connect.to = vec![gone];
    let plan = Arc::new(plan);
    let setup = crate::Setup {
        share: volley_plan::link::Share::all(&plan),
        plan: Arc::clone(&plan),
        adjusted: Vec::new(),
        allow: Arc::new(volley_plan::AllowList::anything()),
        workers: 1,
        seed: 1,
        clock: Clock::start(),
        spin: crate::Spin::Off,
        files: None,
        listener: None,
    };
    let control = Arc::new(Control::new(crate::deal::Deal::new(&setup).unwrap()));
    let known = Site::Tcp { host: "gone.invalid".into(), address: "127.0.0.1:1".parse().unwrap() };
    let (lookup, sites) = (Arc::new(Lookup::new(&plan).unwrap()), vec![known]);
    let plan = DialPlan { lookup, sites, resolve, tls: None };
    let dialer = Dialer::new(plan, setup.clock, control, &Rc::default());
    if let Again::After { last_ns, .. } = &dialer.again {
        last_ns.set(0);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let found = times_ns.map(|now_ns| {
        let mut attempt = Attempt::new(0, now_ns);
        let ways = runtime.block_on(dialer.ways(&mut attempt)).map(|ways| ways.len());
        assert_eq!(attempt.resolved_ns.is_some(), !matches!(resolve, Resolve::Once) && now_ns >= 1_000);
        ways
    });
    runtime.shutdown_background();
    found.to_vec()
}

#[test]
fn a_name_that_leads_nowhere_any_more_costs_a_connection_only_where_each_asks() {
    let gone = Err(ErrorKind::Resolve);
    assert_eq!(ways_of(Resolve::Once, [0, 5_000]), [Ok(1), Ok(1)]);
    assert_eq!(ways_of(Resolve::EachConnection, [1_000, 5_000]), [gone, gone]);
    let every = Resolve::Every(std::time::Duration::from_nanos(1_000));
    assert_eq!(ways_of(every, [999, 5_000]), [Ok(1), Ok(1)]);
}
