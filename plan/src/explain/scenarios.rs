//! What an iteration does.

use super::rows::Rows;
use crate::Plan;
use crate::model::{Body, BodyCheck, Check, Request, Scenario, Statuses, Step, Think};
use crate::units::{duration_in_words, format_size};
use crate::words::{count, counted, significant};

pub(super) fn tell(plan: &Plan, rows: &mut Rows) {
    let weights: u64 = plan.scenarios.iter().map(|scenario| u64::from(scenario.weight)).sum();
    for (index, scenario) in plan.scenarios.iter().enumerate() {
        let name = if index == 0 { "iterations" } else { "" };
        if plan.scenarios.len() > 1 {
            rows.tell(name, &format!("{}: {}", scenario.name, part(scenario, weights)));
            rows.list("", steps(scenario).map(|step| format!("  {step}")));
        } else {
            rows.list(if scenario.steps.len() == 1 { "request" } else { "iteration" }, steps(scenario));
        }
    }
}

/// How often a scenario is run.
#[expect(clippy::cast_precision_loss, reason = "weights are below a hundred thousand in all")]
fn part(scenario: &Scenario, weights: u64) -> String {
    let weight = u64::from(scenario.weight);
    if (100 * weight).is_multiple_of(weights) {
        return format!("{}% of all, exactly", 100 * weight / weights);
    }
    let percent = significant(100.0 * weight as f64 / weights as f64);
    format!("{} of {} ({percent}%), exactly", count(weight), count(weights))
}

fn steps(scenario: &Scenario) -> impl Iterator<Item = String> {
    let is_only = scenario.steps.len() == 1;
    scenario.steps.iter().enumerate().map(move |(index, step)| {
        let said = match step {
            Step::Request(request) => self::request(request),
            Step::Think(think) => pause(*think),
        };
        if is_only { said } else { format!("{}. {said}", index + 1) }
    })
}

fn pause(think: Think) -> String {
    let (least, most) = (duration_in_words(think.least), duration_in_words(think.most));
    if think.least == think.most {
        format!("a pause of {least}")
    } else {
        format!("a pause of {least} to {most}")
    }
}

/// What is sent, and what must come back. What stands in headers and bodies is nobody's business here.
fn request(request: &Request) -> String {
    let mut text = format!("{} {}", request.method, request.path);
    if request.name != Request::default_name(&request.method, &request.path) {
        text += &format!(", called {}", request.name);
    }
    let body = match &request.body {
        Body::Inline(bytes) if bytes.is_empty() => None,
        Body::Inline(bytes) => Some(format!("a body of {}", counted(bytes.len() as u64, "byte"))),
        Body::File(name) => Some(format!("the file {name} for a body")),
        Body::Filled(bytes) => Some(format!("a body of {}", format_size(*bytes))),
    };
    let headers = match request.headers.len() as u64 {
        0 => None,
        lines => Some(counted(lines, "header line")),
    };
    let with: Vec<_> = headers.into_iter().chain(body).collect();
    if !with.is_empty() {
        text += &format!(", with {}", with.join(" and "));
    }
    if let Some(wait) = request.ask_first {
        text += &format!(", sent once the target says so or after {}", duration_in_words(wait));
    }
    format!("{text}; {}", check(&request.check))
}

fn check(check: &Check) -> String {
    let body = check.body.as_ref().map(|body| match body {
        BodyCheck::Is(text) => {
            format!(" and a body of exactly the {} that the plan says", counted(text.len() as u64, "byte"))
        }
        BodyCheck::Contains(text) => format!(" and a body with `{}` in it", shown(text)),
        BodyCheck::Bytes(bytes) => format!(" and a body of {}", counted(*bytes, "byte")),
    });
    format!("ok is {}{}", statuses(&check.status), body.unwrap_or_default())
}

fn statuses(statuses: &Statuses) -> String {
    let one = |range: &std::ops::RangeInclusive<u16>| match (range.start(), range.end()) {
        (first, last) if first == last => first.to_string(),
        (first, last) if first % 100 == 0 && *last == first + 99 => format!("{}xx", first / 100),
        (first, last) => format!("{first} to {last}"),
    };
    let all: Vec<_> = statuses.ranges().iter().map(one).collect();
    if all.is_empty() { "a status below 400".to_owned() } else { format!("a status of {}", all.join(", ")) }
}

/// The beginning of a text, on one line.
fn shown(text: &[u8]) -> String {
    const MAX_CHARS: usize = 40;
    let text = String::from_utf8_lossy(text);
    let mut shown: String =
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_CHARS).collect();
    if text.chars().nth(MAX_CHARS).is_some() {
        shown.push('…');
    }
    shown
}
