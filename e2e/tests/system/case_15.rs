//! Case 15: statistics don't stop at a million, and the last ones count like the first.

use volley_e2e::{Fleet, Target};

use crate::play;

#[test]
fn case_15_the_last_of_many_samples_count_like_the_first() {
    const N: u64 = 1_200_000;
    let (fleet, target) = (Fleet::start(1), Target::start());
    let slow_end = target.url("/?bytes=11&delay=5ms&delay-from=1000001");
    let plan = format!("target: \"{slow_end}\"\nusers: 250\nrequests: {N}\n");
    let report = play(&fleet.api(), 1, &plan);
    let counts = ["started", "ok", "body_bytes"].map(|name| report.count(name));
    assert_eq!(counts, [N, N, 11 * N], "{report:?}");
    assert_eq!(target.stats()["requests"].as_u64(), Some(N));
    // A sixth of all were slow.
    let p90 = report.percentile_ms("90").expect("a percentile");
    assert!(p90 >= 5.0, "{report:?}");
    // The same from the store.
    let again = fleet.api().run(report.text("id")).checked();
    assert_eq!(again.document(), report.document());
}
