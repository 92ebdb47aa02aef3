//! The zoo: each animal is visited by the program and by curl, and must come to what it says.
//!
//! `ZOO=words cargo nextest run -p volley-e2e -E 'test(zoo)'` visits only animals whose names have these words.

mod addresses;
mod chunked;
mod closing;
mod codings;
mod early;
mod endings;
mod interim;
mod lengths;
mod lines;
mod pieces;
mod reasons;
mod status_lines;
mod timeouts;
mod tls;
mod unasked;

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use volley_e2e::zoo::{Animal, visit_all};

/// A small answer.
const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
/// The time-out of animals that never answer.
const SHORT: Duration = Duration::from_millis(300);

fn animals() -> Vec<Animal> {
    [
        status_lines::animals(),
        interim::animals(),
        lengths::animals(),
        chunked::animals(),
        closing::animals(),
        lines::animals(),
        unasked::animals(),
        tls::animals(),
        timeouts::animals(),
        pieces::animals(),
        endings::animals(),
        early::animals(),
        codings::animals(),
        addresses::animals(),
    ]
    .concat()
}

#[test]
fn zoo_every_animal_does_what_it_says() {
    let words = std::env::var("ZOO").unwrap_or_default();
    let chosen: Vec<Animal> = animals().into_iter().filter(|animal| animal.name().contains(&words)).collect();
    assert!(!chosen.is_empty(), "no animal has {words:?} in its name");
    let wrong = visit_all(&chosen);
    let told: String = wrong.iter().map(ToString::to_string).collect();
    assert!(wrong.is_empty(), "{} of {} animals:\n{told}", wrong.len(), chosen.len());
}

#[test]
fn zoo_is_large_and_each_animal_has_a_name_of_its_own() {
    let animals = animals();
    let names: BTreeSet<&str> = animals.iter().map(Animal::name).collect();
    assert_eq!(names.len(), animals.len());
    assert!(animals.len() >= 120, "only {} animals", animals.len());
}

/// Which animals curl sees otherwise than we do, or isn't asked about, by the reason.
fn table(head: &str, reason: impl Fn(&Animal) -> Option<&'static str>) -> String {
    let mut rows: Vec<(&str, Vec<&str>)> = Vec::new();
    for animal in &animals() {
        let Some(reason) = reason(animal) else { continue };
        match rows.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(animal.name()),
            None => rows.push((reason, vec![animal.name()])),
        }
    }
    let rows = rows.iter().map(|(reason, names)| format!("| {reason} | {} |\n", names.join(" · ")));
    format!("| {head} | animals |\n|---|---|\n{}", rows.collect::<String>())
}

#[test]
fn zoo_tells_where_curl_differs() {
    let told = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/CASES.md")).expect("CASES.md");
    let differences = table("why we differ", |animal| animal.difference().map(|(_, why)| why));
    let not_asked = table("why curl isn't asked", Animal::not_asked);
    for table in [differences, not_asked] {
        assert!(told.contains(&table), "CASES.md must have this table:\n{table}");
    }
}
