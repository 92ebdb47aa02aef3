//! What the form for a new run sends: either its few fields, or a whole plan.

use serde::Deserialize;
use volley_plan::units::format_duration;
use volley_plan::{Load, Plan, QuickPlan};
use volley_web::{Fault, NewRun};

use crate::view;

/// The form's fields, as typed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RunForm {
    url: String,
    /// `users` or `rate`: which of the two makes the load.
    model: String,
    users: String,
    rate: String,
    connections: String,
    requests: String,
    duration: String,
    warmup: String,
    plan: String,
}

impl RunForm {
    /// The plan that it stands for, or all that is wrong with it.
    pub(super) fn plan(&self) -> Result<Plan, Vec<Fault>> {
        let from_plan = |faults: volley_plan::Faults| faults.0.iter().map(view::fault).collect();
        if !self.plan.trim().is_empty() {
            // Browsers send line ends as CR LF, which YAML takes as well.
            return volley_plan::parse(&self.plan).map_err(from_plan);
        }
        let mut faults = Vec::new();
        let mut number =
            |field: &str, text: &str| whole_number(field, text).map_err(|f| faults.push(f)).ok().flatten();
        // What stands in the fields of the other model is left alone.
        let (users, rate, connections) = match self.model.as_str() {
            "rate" => (None, Some(self.rate.trim()), number("connections", &self.connections)),
            _ => (number("users", &self.users), None, None),
        };
        // Any rate does where it is missing, so that the other fields are looked at all the same.
        let lacks_rate = rate == Some("");
        let rate = rate.map(|rate| if lacks_rate { "1/s" } else { rate }.to_owned());
        let plan = QuickPlan {
            url: self.url.trim().to_owned(),
            users,
            rate,
            connections,
            requests: number("requests", &self.requests),
            duration: typed(&self.duration),
            warmup: typed(&self.warmup),
            drain: Some(format_duration(Load::DEFAULT_DRAIN)),
            ..QuickPlan::default()
        };
        if lacks_rate {
            faults.push(missing("rate", "write it with its time, as in `200/s`"));
        }
        let plan = plan.into_plan().map_err(from_plan);
        match plan {
            Ok(plan) if faults.is_empty() => Ok(plan),
            Ok(_) => Err(faults),
            Err(more) => Err(faults.into_iter().chain(more).collect()),
        }
    }

    /// The fields, for the form to be shown again.
    pub(super) fn as_typed(&self) -> NewRun {
        let Self { url, model, users, rate, connections, requests, duration, warmup, plan } = self.clone();
        NewRun { url, model, users, rate, connections, requests, duration, warmup, plan }
    }
}

fn missing(field: &str, hint: &str) -> Fault {
    Fault { place: field.to_owned(), detail: "missing".to_owned(), hint: hint.to_owned() }
}

/// A field's text; nothing where nothing was typed.
fn typed(text: &str) -> Option<String> {
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// A field's number; nothing where nothing was typed.
fn whole_number(field: &str, text: &str) -> Result<Option<u64>, Fault> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| Fault {
        place: field.to_owned(),
        detail: "expected a whole number".to_owned(),
        hint: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(form: &RunForm, expected: Result<&str, &[&str]>) {
        let said = form.plan().map(|plan| plan.load_in_words());
        let said = said.map_err(|faults| faults.iter().map(|fault| fault.place.clone()).collect::<Vec<_>>());
        let expected = expected.map(str::to_owned);
        assert_eq!(said, expected.map_err(|places| places.iter().map(|&place| place.to_owned()).collect()));
    }

    fn form(url: &str, users: &str, requests: &str, duration: &str) -> RunForm {
        let [url, users, requests, duration] = [url, users, requests, duration].map(str::to_owned);
        RunForm { url, users, requests, duration, ..RunForm::default() }
    }

    fn rate(rate: &str, connections: &str, requests: &str, warmup: &str) -> RunForm {
        let [rate, connections, requests, warmup] = [rate, connections, requests, warmup].map(str::to_owned);
        let (model, users) = ("rate".to_owned(), "not looked at".to_owned());
        let url = "http://127.0.0.1:1/".to_owned();
        RunForm { url, model, users, rate, connections, requests, warmup, ..RunForm::default() }
    }

    #[test]
    fn fields_become_a_plan_or_faults_by_field() {
        let url = "http://127.0.0.1:1/";
        check(&form(url, "3", "7", ""), Ok("3 users closed, 7 requests"));
        check(&form(url, "", "", ""), Ok("50 users closed, 10 s"));
        check(&form(url, "x", "-1", "10"), Err(&["users", "requests", "duration"]));
        check(&form("", "1", "1", ""), Err(&["target"]));
        check(&form("nonsense", "0", "", ""), Err(&["users", "target"]));
    }

    #[test]
    fn a_rate_makes_a_load_of_the_open_model() {
        check(&rate("200/s", "", "", ""), Ok("200/s open, 10 s"));
        check(&rate("200/s", "30", "500", "5s"), Ok("200/s open, 500 requests after 5 s of warm-up"));
        check(&rate("", "", "", ""), Err(&["rate"]));
        check(&rate(" ", "many", "", "5"), Err(&["connections", "rate", "warmup"]));
        assert_eq!(rate("", "", "", "").plan().unwrap_err()[0].detail, "missing");
        check(&rate("200", "many", "x", "5"), Err(&["connections", "requests", "rate", "warmup"]));
        check(&RunForm { model: "users".to_owned(), ..rate("x", "x", "", "") }, Err(&["users"]));
    }

    #[test]
    fn a_plan_goes_before_the_fields() {
        let plan = "target: http://127.0.0.1:1/\r\nusers: 2\r\nduration: 1s\r\n".to_owned();
        check(&RunForm { plan, ..RunForm::default() }, Ok("2 users closed, 1 s"));
        let plan = "target: http://127.0.0.1:1/\nusers: 0\nduration: 1s\n".to_owned();
        check(&RunForm { plan, ..RunForm::default() }, Err(&["2:8 users"]));
    }
}
