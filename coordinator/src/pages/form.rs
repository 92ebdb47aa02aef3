//! What the form for a new run sends: either its few fields, or a whole plan.

use serde::Deserialize;
use volley_plan::units::format_duration;
use volley_plan::{ClosedLoad, Plan, QuickPlan};
use volley_web::{Fault, NewRun};

use crate::view;

/// The form's fields, as typed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RunForm {
    url: String,
    users: String,
    requests: String,
    duration: String,
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
        let (users, requests) = (number("users", &self.users), number("requests", &self.requests));
        let plan = QuickPlan {
            url: self.url.trim().to_owned(),
            users,
            requests,
            duration: Some(self.duration.trim().to_owned()).filter(|text| !text.is_empty()),
            drain: Some(format_duration(ClosedLoad::DEFAULT_DRAIN)),
            ..QuickPlan::default()
        };
        let plan = plan.into_plan().map_err(from_plan);
        match plan {
            Ok(plan) if faults.is_empty() => Ok(plan),
            Ok(_) => Err(faults),
            Err(more) => Err(faults.into_iter().chain(more).collect()),
        }
    }

    /// The fields, for the form to be shown again.
    pub(super) fn as_typed(&self) -> NewRun {
        let Self { url, users, requests, duration, plan } = self.clone();
        NewRun { url, users, requests, duration, plan }
    }
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
        RunForm { url, users, requests, duration, plan: String::new() }
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
    fn a_plan_goes_before_the_fields() {
        let plan = "target: http://127.0.0.1:1/\r\nusers: 2\r\nduration: 1s\r\n".to_owned();
        check(&RunForm { plan, ..RunForm::default() }, Ok("2 users closed, 1 s"));
        let plan = "target: http://127.0.0.1:1/\nusers: 0\nduration: 1s\n".to_owned();
        check(&RunForm { plan, ..RunForm::default() }, Err(&["2:8 users"]));
    }
}
