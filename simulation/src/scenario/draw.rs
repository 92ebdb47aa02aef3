//! Scenarios from seeds: most have a few things that go wrong, some one thing only, some none.

use super::plans::{Drawn, plan};
use super::{Disk, Happens, Host, Scenario, Timed};
use crate::random::Random;

/// Most machines.
const MAX_HOSTS: u64 = 5;

pub(super) fn scenario(seed: u64) -> Scenario {
    let mut random = Random::new(seed);
    let count = random.within(1..MAX_HOSTS + 1) as usize;
    let plan = plan(&mut random, count);
    let is_quick = random.percent(40);
    let hosts: Vec<Host> = (0..count).map(|_| host(&mut random, &plan, is_quick)).collect();
    let number = match random.within(0..10) {
        0 => 0,
        1..4 => 1,
        4..8 => random.within(2..5),
        _ => random.within(5..12),
    };
    let mut events: Vec<Timed> = (0..number).map(|_| event(&mut random, count, &plan)).collect();
    events.sort_by_key(|event| event.at_ms);
    // What went out unsaved is unknown to the next process; that is beyond what is promised.
    if events.iter().any(|event| event.what == Happens::BreakStore) {
        events.retain(|event| !matches!(event.what, Happens::Kill { .. }));
    }
    Scenario { seed: random.next(), plan: plan.text, hosts, events }
}

fn host(random: &mut Random, plan: &Drawn, is_quick: bool) -> Host {
    let least_ms = random.within(0..10);
    let most_ms = if is_quick { least_ms + 20 } else { *random.pick(&[20, 50, 100, 300, 2_000]) };
    let joins_ms = if random.percent(15) { random.within(0..plan.lasts_ms + 3_000) } else { 0 };
    Host {
        workers: random.within(1..5) as u32,
        weight: random.percent(30).then(|| random.within(1..6) as u32),
        // One that was not measured takes no part where that counts.
        capacity: random.percent(85).then(|| random.within(100..1_000) as u32),
        drift_ppb: random.within(0..200_001) as i64 - 100_000,
        way_ms: (least_ms, least_ms.max(most_ms)),
        joins_ms,
        refuses: random.percent(1),
        disk: *random.pick(&[Disk::Works, Disk::Works, Disk::Works, Disk::None, Disk::Full]),
    }
}

fn event(random: &mut Random, hosts: usize, plan: &Drawn) -> Timed {
    // Now and then before the start, while it drains, or after the end.
    let at_ms = random.within(0..plan.lasts_ms + 4_000);
    let host = random.within(0..hosts as u64) as usize;
    let for_ms = match random.within(0..3) {
        0 => random.within(100..2_900),
        1 => random.within(2_500..6_000),
        _ => random.within(6_000..20_000),
    };
    let what = match random.within(0..22) {
        0..3 => Happens::Die { host, back_ms: random.percent(60).then(|| random.within(100..6_000)) },
        3..5 => Happens::Hang { host, for_ms },
        5..7 => Happens::Cut { host, for_ms },
        7..9 => Happens::Break { host, loses: random.percent(50) },
        9 => Happens::Slow { host, for_ms, by_ms: random.within(100..2_000) },
        10..12 => Happens::Leave { host },
        12 => Happens::Drain { host },
        13..18 => {
            let steps = random.within(0..30) as u32;
            let for_ms = match random.within(0..20) {
                0..12 => for_ms.min(2_500),
                12..19 => for_ms,
                // So long that agents give the run up.
                _ => for_ms + 58_000,
            };
            Happens::Kill { steps, for_ms }
        }
        18..20 => Happens::Adjust { to: random.within(0..if plan.is_open { 80 } else { 12 }) as u32 },
        20 if random.percent(50) => Happens::Stop,
        20 => Happens::BreakStore,
        _ => Happens::Break { host, loses: true },
    };
    Timed { at_ms, what }
}
