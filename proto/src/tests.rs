//! Every message goes there and back unchanged; whatever else arrives is an error that names the field.

mod arbitrary;
mod orders;
mod rows;
mod windows;

use std::collections::BTreeMap;

use proptest::prelude::*;
use prost::Message;
use volley_plan::link::{FromAgent, Hello, Incarnation, Report, RunId, ToAgent};
use volley_stats::{ErrorKind, Part, Timed};

use crate::limits::{MAX_LABELS, MAX_REASON_BYTES};
use crate::{WireError, v1};

fn there_and_back_agent(message: FromAgent) -> Result<FromAgent, WireError> {
    let bytes = v1::FromAgent::from(message).encode_to_vec();
    v1::FromAgent::decode(bytes.as_slice()).expect("what was encoded is decoded").try_into()
}

fn there_and_back_coordinator(message: ToAgent) -> Result<ToAgent, WireError> {
    let bytes = v1::ToAgent::from(message).encode_to_vec();
    v1::ToAgent::decode(bytes.as_slice()).expect("what was encoded is decoded").try_into()
}

proptest! {
    #[test]
    fn what_an_agent_says_comes_back(message in arbitrary::from_agent()) {
        prop_assert_eq!(there_and_back_agent(message.clone()), Ok(message));
    }

    #[test]
    fn what_a_coordinator_says_comes_back(message in arbitrary::to_agent()) {
        prop_assert_eq!(there_and_back_coordinator(message.clone()), Ok(message));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = v1::FromAgent::decode(bytes.as_slice()).map(FromAgent::try_from);
        let _ = v1::ToAgent::decode(bytes.as_slice()).map(ToAgent::try_from);
    }

    #[test]
    fn damaged_messages_never_panic(
        message in arbitrary::from_agent(), at in any::<prop::sample::Index>(), byte: u8, cut in 0usize..40,
    ) {
        let mut bytes = v1::FromAgent::from(message).encode_to_vec();
        let index = at.index(bytes.len());
        bytes[index] = byte;
        bytes.truncate(bytes.len() - cut.min(bytes.len()));
        let _ = v1::FromAgent::decode(bytes.as_slice()).map(FromAgent::try_from);
    }
}

fn check_from_agent(message: Option<v1::from_agent::Message>, field: &str) {
    let error = FromAgent::try_from(v1::FromAgent { message }).expect_err(field).to_string();
    assert!(error.starts_with(field), "{error} should begin with {field}");
}

fn hello() -> v1::Hello {
    let hello = Hello {
        protocol: 7,
        version: "9.9.9".to_owned(),
        incarnation: Incarnation(1),
        name: "a".to_owned(),
        workers: 1,
        labels: BTreeMap::new(),
        weight: None,
        capacity: None,
    };
    hello.into()
}

#[test]
fn broken_messages_of_an_agent_are_refused_by_field() {
    use v1::from_agent::Message as M;
    check_from_agent(None, "FromAgent.message");
    check_from_agent(Some(M::Join(v1::Hello { name: "a\nb".to_owned(), ..hello() })), "Hello.name");
    check_from_agent(Some(M::Join(v1::Hello { name: "x".repeat(256), ..hello() })), "Hello.name");
    check_from_agent(Some(M::Join(v1::Hello { version: String::new(), ..hello() })), "Hello.version");
    check_from_agent(Some(M::Join(v1::Hello { workers: 0, ..hello() })), "Hello.workers");
    let progress = Some(v1::Progress { run: "a/b".to_owned(), ..v1::Progress::default() });
    check_from_agent(Some(M::Ping(v1::Ping { progress, ..v1::Ping::default() })), "Progress.run");

    let report = |report| Some(M::Report(v1::Report { run: "r".to_owned(), of: None, report }));
    check_from_agent(Some(M::Report(v1::Report::default())), "Report.run");
    check_from_agent(report(None), "Report.report");
    let refused = v1::Refused { reason: "x".repeat(MAX_REASON_BYTES + 1) };
    check_from_agent(report(Some(v1::report::Report::Refused(refused))), "Refused.reason");
    let window = |sequence, window| v1::NumberedWindow { sequence, window, last: false };
    let zero = window(0, Some(v1::Window::default()));
    check_from_agent(report(Some(v1::report::Report::Window(zero))), "NumberedWindow.sequence");
    check_from_agent(report(Some(v1::report::Report::Window(window(1, None)))), "NumberedWindow.window");
}

#[test]
fn broken_words_of_an_agent_about_itself_are_refused_by_field() {
    let check = |break_it: &dyn Fn(&mut v1::Hello), field: &str| {
        let mut hello = hello();
        break_it(&mut hello);
        check_from_agent(Some(v1::from_agent::Message::Join(hello)), field);
    };
    check(&|hello| hello.weight = Some(0), "Hello.weight is 0, allowed is 1 to 1000000");
    check(&|hello| hello.weight = Some(u32::MAX), "Hello.weight");
    check(&|hello| hello.capacity = Some(0), "Hello.capacity");
    check(&|hello| hello.capacity = Some(u32::MAX), "Hello.capacity");
    let labels = |labels: &[(&str, &str)]| {
        let labels = labels.iter().map(|&(key, value)| v1::Label { key: key.into(), value: value.into() });
        labels.flat_map(|label| label.encode_length_delimited_to_vec()).collect::<Vec<u8>>()
    };
    let check_labels = |broken: &[(&str, &str)], field| check(&|hello| hello.labels = labels(broken), field);
    check_labels(&[("", "eu")], "Label.key");
    check_labels(&[("zone", "")], "Label.value");
    check_labels(&[("zo\nne", "eu")], "Label.key");
    check_labels(&[(&"x".repeat(64), "eu")], "Label.key has 64 bytes, allowed are 63");
    check_labels(&[("zone", &"x".repeat(64))], "Label.value has 64 bytes");
    check_labels(&[("zone", "eu"), ("zone", "us")], "Hello.labels is repeated");
    check_labels(&[("zone", "eu"), ("a", "b")], "Hello.labels is repeated or out of order");
    let keys: Vec<String> = (0..=MAX_LABELS).map(|n| format!("{n:02}")).collect();
    let many: Vec<(&str, &str)> = keys.iter().map(|key| (key.as_str(), "x")).collect();
    check_labels(&many, "Hello.labels has more than 16 entries");
    check(&|hello| hello.labels = vec![0; 1 << 20], "Label.key");
}

#[test]
fn an_agent_of_another_version_can_still_be_read() {
    let wire = v1::FromAgent { message: Some(v1::from_agent::Message::Join(hello())) };
    let Ok(FromAgent::Join(hello)) = FromAgent::try_from(wire) else {
        panic!("another protocol is no fault here")
    };
    assert_eq!((hello.protocol, hello.version.as_str()), (7, "9.9.9"));
}

#[test]
fn a_long_reason_is_cut_at_a_character() {
    let report = Report::Refused { reason: "ä".repeat(MAX_REASON_BYTES) };
    let run = RunId::new("r").expect("a run's name");
    let Ok(FromAgent::Report { report: Report::Refused { reason }, .. }) =
        there_and_back_agent(FromAgent::Report { run, of: None, report })
    else {
        panic!("a refusal comes back as one")
    };
    assert_eq!(reason, "ä".repeat(MAX_REASON_BYTES / 2));
}

/// Numbers on the wire may never change, or an old agent's errors would be counted as others.
#[test]
fn error_kinds_have_fixed_numbers() {
    let numbers: BTreeMap<&str, i32> =
        ErrorKind::ALL.iter().map(|&kind| (kind.name(), v1::ErrorKind::from(kind).into())).collect();
    let fixed = BTreeMap::from([
        ("resolve", 1),
        ("connect_refused", 2),
        ("connect_timeout", 3),
        ("connect_unreachable", 4),
        ("local_ports", 5),
        ("descriptors", 6),
        ("tls", 7),
        ("write", 8),
        ("closed_early", 9),
        ("first_byte_timeout", 10),
        ("truncated", 11),
        ("reset", 12),
        ("protocol", 13),
        ("total_timeout", 14),
        ("decode", 15),
        ("redirect_limit", 16),
        ("status", 17),
        ("check", 18),
        ("tls_certificate", 19),
        ("idle_timeout", 20),
    ]);
    assert_eq!(numbers, fixed);
}

#[test]
fn what_is_timed_and_parts_have_fixed_numbers() {
    let timed: Vec<(&str, u32)> = Timed::ALL.iter().map(|timed| (timed.name(), *timed as u32)).collect();
    let fixed = [
        ("lag", 0),
        ("wait", 1),
        ("resolve", 2),
        ("connect", 3),
        ("tls", 4),
        ("send", 5),
        ("first_byte", 6),
        ("receive", 7),
    ];
    assert_eq!(timed, fixed);
    assert_eq!([Part::Warmup, Part::Measured].map(|part| v1::Part::from(part) as i32), [1, 2]);
}

/// What an agent of protocol 1 says at joining is told from all else, and so is a refusal, as long as there are agents.
#[test]
fn a_hello_and_a_refusal_have_fixed_places() {
    let hello = v1::FromAgent { message: Some(v1::from_agent::Message::Join(hello())) };
    let mut expected = vec![0x0a, 23, 0x08, 7, 0x12, 5];
    expected.extend(b"9.9.9");
    expected.extend([0x19, 1, 0, 0, 0, 0, 0, 0, 0, 0x22, 1, b'a', 0x28, 1]);
    assert_eq!(hello.encode_to_vec(), expected);
    let refused = ToAgent::Refused { reason: "no".to_owned() };
    assert_eq!(v1::ToAgent::from(refused).encode_to_vec(), [0x12, 4, 0x0a, 2, b'n', b'o']);
}
