//! Texts that are expectations, and texts that are none.

use super::*;
use proptest::prelude::*;

/// What is written reads back, and in one form.
fn good(text: &str, written: &str) -> Expectation {
    let expectation: Expectation = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(expectation.to_string(), written, "{text}");
    assert_eq!(written.parse().as_ref(), Ok(&expectation), "{written}");
    expectation
}

#[test]
fn metrics_of_all_units() {
    for (text, written) in [
        ("p99 < 300ms", "p99 < 300ms"),
        ("p99<300ms", "p99 < 300ms"),
        ("  p99.9   <=  1m30s ", "p99.9 <= 1m30s"),
        ("p0 > 1us", "p0 > 1us"),
        ("p100 >= 0s", "p100 >= 0s"),
        ("p99.990 < 1s", "p99.99 < 1s"),
        ("mean < 1.5ms", "mean < 1ms500us"),
        ("service_max < 2s", "service_max < 2s"),
        ("lag_p99 < 10ms", "lag_p99 < 10ms"),
        ("error_rate < 0.1%", "error_rate < 0.1%"),
        ("error_rate < 0.001", "error_rate < 0.1%"),
        ("check_rate >= 1", "check_rate >= 100%"),
        ("check_rate > 99.999%", "check_rate > 99.999%"),
        ("ok_rate > 30/m", "ok_rate > 0.5/s"),
        ("started_rate >= 100/h", "started_rate >= 100/h"),
        ("errors < 10", "errors < 10"),
        ("missed <= 0", "missed <= 0"),
        ("unknown < 0.5%", "unknown < 0.5%"),
    ] {
        good(text, written);
    }
}

#[test]
fn selectors_name_steps_statuses_and_kinds() {
    for (text, written) in [
        ("p95{step=list} < 1s", "p95{step=list} < 1s"),
        ("p95{ step = log in , scenario = buy } < 1s", "p95{scenario=buy,step=log in} < 1s"),
        ("p95{step=\"GET /a,b\"} < 1s", "p95{step=\"GET /a,b\"} < 1s"),
        ("p95{step=\"a < b\"}<1s", "p95{step=\"a < b\"} < 1s"),
        ("p95{step=\"say \\\"hi\\\" \\\\\"} < 1s", "p95{step=\"say \\\"hi\\\" \\\\\"} < 1s"),
        ("error_rate{status=503} < 1%", "error_rate{status=503} < 1%"),
        ("errors{kind=total_timeout,step=list} < 3", "errors{step=list,kind=total_timeout} < 3"),
        ("ok_rate{status=201} > 1/s", "ok_rate{status=201} > 1/s"),
    ] {
        good(text, written);
    }
    let of = good("errors{step=a,kind=reset} < 1", "errors{step=a,kind=reset} < 1").of;
    assert_eq!((of.step.as_deref(), of.kind), (Some("a"), Some(ErrorKind::Reset)));
    assert!(of.wants("any", "a") && !of.wants("any", "b"));
}

#[test]
fn what_cannot_be_read_is_named_with_what_may_be_meant() {
    let check = |text: &str, said: &str, hint: &str| {
        let error = text.parse::<Expectation>().expect_err(text);
        assert_eq!(
            (error.to_string().as_str(), error.hint(text).unwrap_or_default().as_str()),
            (said, hint),
            "{text}"
        );
    };
    let operator = "write it like p99 < 300ms";
    check("", "none of the operators < <= > >=", operator);
    check("p99 300ms", "none of the operators < <= > >=", operator);
    check("p99 == 1s", "the operator `==`, which is none of < <= > >=", "did you mean <= or >=?");
    check("p99 = 1s", "the operator `=`, which is none of < <= > >=", "did you mean <= or >=?");
    check("p99 != 1s", "the operator `!=`, which is none of < <= > >=", "");
    check("p99 => 1s", "the operator `=>`, which is none of < <= > >=", "did you mean >=?");
    check("p99 =< 1s", "the operator `=<`, which is none of < <= > >=", "did you mean <=?");
    check(
        "p99 < 300",
        "a limit of time that is a number without one of the units ns us ms s m h",
        "did you mean 300ms?",
    );
    check(
        "p99 < 0.3",
        "a limit of time that is a number without one of the units ns us ms s m h",
        "did you mean 0.3s?",
    );
    check("p99 < 3 ms", "a limit of time that is a space inside a duration", "did you mean 3ms?");
    check("p99 <", "a limit of time that is an empty text", "");
    check("pp < 1s", "the metric `pp`, which isn't known", "");
    check("avg < 1s", "the metric `avg`, which isn't known", "did you mean mean?");
    check("latency_p99 < 1s", "the metric `latency_p99`, which isn't known", "did you mean p99?");
    check("p99_latency < 1s", "the metric `p99_latency`, which isn't known", "did you mean p99?");
    check("rps > 5/s", "the metric `rps`, which isn't known", "did you mean ok_rate?");
    check("errors_rate < 1%", "the metric `errors_rate`, which isn't known", "did you mean error_rate?");
    check("P99 < 1s", "the metric `P99`, which isn't known", "did you mean p99?");
    check("p\n9 < 1s", "the metric `p\\n9`, which isn't known", "");
    check("eror_rate < 1%", "the metric `eror_rate`, which isn't known", "did you mean error_rate?");
    let percentile = "which is none of p0 to p100 with up to three decimals";
    check("p101 < 1s", &format!("the percentile `p101`, {percentile}"), "");
    check("p999 < 1s", &format!("the percentile `p999`, {percentile}"), "did you mean p99.9?");
    check("p99. < 1s", &format!("the percentile `p99.`, {percentile}"), "");
    check("p99.9999 < 1s", &format!("the percentile `p99.9999`, {percentile}"), "");
    let braces = ("braces without `key=value` in them", "write it like p95{step=list}");
    for text in [
        "p95{} < 1s",
        "p95{step} < 1s",
        "p95{step=} < 1s",
        "p95{step=a < 1s}",
        "p95{step=\"a} < 1s",
        "p95{step=a,} < 1s",
    ] {
        let error = text.parse::<Expectation>().expect_err(text);
        let is_either = matches!(error, ExpectationError::Braces | ExpectationError::NoOperator);
        assert!(is_either, "{text}: {error}");
    }
    check("p95{step=a}} < 1s", braces.0, braces.1);
    check(
        "p95{stp=a} < 1s",
        "the key `stp`, which is none of step, scenario, status and kind",
        "did you mean step?",
    );
    check("p95{step=a,step=b} < 1s", "the key `step` twice", "");
    check("p95{status=200} < 1s", "`p95` by status, which it can't be told by", "");
    check("missed{step=a} < 1", "`missed` by step, which it can't be told by", "");
    check("ok_rate{kind=reset} < 1/s", "`ok_rate` by kind, which it can't be told by", "");
    check("errors{status=20} < 1", "the status `20`, which is none of 100 to 999", "");
    check("errors{kind=rest} < 1", "the kind of error `rest`, which isn't known", "did you mean reset?");
    check("error_rate < 101%", "the limit `101%`, which is no share such as 1% or 0.01", "");
    let unit = "a share has no unit of time, write it like 0.1%";
    check("error_rate < 10ms", "the limit `10ms`, which is no share such as 1% or 0.01", unit);
    check("error_rate < 5", "the limit `5`, which is no share such as 1% or 0.01", "did you mean 5%?");
    check("error_rate < 0.0000001%", "the limit `0.0000001%`, which is no share such as 1% or 0.01", "");
    check("errors < 1.5", "the limit `1.5`, which is no whole number", "");
    check("errors < 1%", "the limit `1%`, which is no whole number", "the share is error_rate");
    check(
        "ok_rate > 500",
        "a limit of a rate that is a number without one of the units /s /m /h",
        "did you mean 500/s?",
    );
}

#[test]
fn shares_and_rates_are_kept_exactly() {
    let check = |text: &str, (part, whole): (u64, u64)| {
        let limit = good(text, text).limit_value();
        assert_eq!(Some(limit), Ratio::new(part, whole), "{text}");
    };
    check("error_rate < 0.1%", (1, 1_000));
    check("error_rate < 0.000001%", (1, 100_000_000));
    check("error_rate < 33.333333%", (33_333_333, 100_000_000));
    check("missed < 100%", (1, 1));
    check("ok_rate > 7/h", (7, 3_600));
    check("ok_rate > 10000000/s", (10_000_000, 1));
    check("p99 < 1ns", (1, 1));
}

fn point() -> impl Strategy<Value = Point> {
    prop_oneof![(0_u32..=100_000).prop_map(Point::Percentile), Just(Point::Mean), Just(Point::Max)]
}

fn metric() -> impl Strategy<Value = Metric> {
    prop_oneof![
        point().prop_map(Metric::Latency),
        point().prop_map(Metric::ServiceTime),
        point().prop_map(Metric::Lag),
        prop::sample::select(NAMED.map(|(_, metric)| metric).to_vec()),
    ]
}

/// What can be named of each metric; what it can't be told by is left out.
fn selector(metric: Metric) -> impl Strategy<Value = Selector> {
    let name = || prop::option::of(prop_oneof!["[a-c ,{}\"\\\\<>=\n]{1,6}", any::<String>()]);
    let kind = prop::option::of(prop::sample::select(ErrorKind::ALL));
    (name(), name(), prop::option::of(100_u16..1000), kind).prop_map(move |(scenario, step, status, kind)| {
        let knows_steps = !metric.is_of_the_whole();
        let status = status.filter(|_| metric.counts_outcomes());
        let knows_kinds = metric.counts_outcomes() && metric != Metric::OkRate && status.is_none();
        Selector {
            scenario: scenario.filter(|_| knows_steps),
            step: step.filter(|_| knows_steps),
            status,
            kind: kind.filter(|_| knows_kinds),
        }
    })
}

fn limit(metric: Metric) -> BoxedStrategy<Limit> {
    let plain = |limit: u64, over: u64| Limit::Plain(Ratio::new(limit, over).unwrap());
    let share = || 0..=100_000_000_u64;
    match metric.unit() {
        Unit::Time => any::<u64>().prop_map(move |limit| plain(limit, 1)).boxed(),
        Unit::Share => share().prop_map(move |limit| plain(limit, 100_000_000)).boxed(),
        Unit::PerSecond => {
            (0..=36_000_000_000_000_000_u64).prop_map(move |limit| plain(limit, MICRO_PER_HOUR)).boxed()
        }
        Unit::Count if metric == Metric::Errors => {
            any::<u64>().prop_map(move |limit| plain(limit, 1)).boxed()
        }
        Unit::Count => prop_oneof![
            any::<u64>().prop_map(move |limit| plain(limit, 1)),
            share().prop_map(|limit| Limit::OfPlanned(Ratio::new(limit, 100_000_000).unwrap())),
        ]
        .boxed(),
    }
}

fn expectation() -> impl Strategy<Value = Expectation> {
    let comparison = prop::sample::select(Comparison::ALL.as_slice());
    let of_metric = metric().prop_flat_map(|metric| (Just(metric), selector(metric), limit(metric)));
    (of_metric, comparison).prop_map(|((metric, of, limit), comparison)| Expectation {
        metric,
        of,
        comparison,
        limit,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_reads_back(expectation in expectation()) {
        let written = expectation.to_string();
        prop_assert_eq!(written.parse(), Ok(expectation), "{}", written);
    }

    #[test]
    fn any_text_gets_an_answer(
        text in prop_oneof![any::<String>(), "(p9|errors|_rate|[{}=,\"\\\\<>.%0-9 \n]|step|kind|status|/s|ms)*"],
    ) {
        match text.parse::<Expectation>() {
            Ok(expectation) => prop_assert_eq!(expectation.to_string().parse(), Ok(expectation)),
            Err(error) => prop_assert!(!error.to_string().contains('\n'), "{:?}: {:?}", error.hint(&text), error),
        }
    }
}
