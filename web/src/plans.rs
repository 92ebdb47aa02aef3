//! The pages of the library: all plans, and one of them with its versions.

use askama::Template;

use crate::diff::{Diff, diff};
use crate::home::Fault;
use crate::parts::{Badge, readable_time};

/// `/plans`. Its form posts (urlencoded) `name` and `text` to `/plans`.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "plans.html")]
pub struct PlansPage {
    /// The plans by name.
    pub plans: Vec<PlanRow>,
    /// What the form holds: empty at first, what was typed after a refusal.
    pub form: NewPlan,
    /// Why the last form was refused, all faults at once.
    pub faults: Vec<Fault>,
    /// The command that saves a plan, shown where there is none.
    pub save_command: String,
}

impl PlansPage {
    /// The whole page as HTML.
    pub fn render(&self) -> Result<String, askama::Error> {
        Template::render(self)
    }
}

/// One plan of the list.
#[derive(Clone, Debug, Default)]
pub struct PlanRow {
    /// Its name, as in its address.
    pub name: String,
    /// Its latest version, from 1.
    pub version: u32,
    /// When that was saved, RFC 3339 in UTC.
    pub saved_at: String,
    /// Its load in words; empty where the plan can't be read.
    pub load: String,
    /// Where the load goes, literal; likewise.
    pub target: String,
    /// Its latest runs, newest first.
    pub runs: Vec<PlanRun>,
}

impl PlanRow {
    fn saved(&self) -> String {
        readable_time(&self.saved_at)
    }
}

/// A run of a plan.
#[derive(Clone, Debug, Default)]
pub struct PlanRun {
    /// The run's id, as in its address.
    pub id: String,
    /// The run's state, in a word.
    pub state: String,
    /// `passed`, `failed`, `invalid` or `none`; absent while the run goes on.
    pub verdict: Option<String>,
    /// Start, RFC 3339 in UTC; empty where it hasn't started.
    pub started_at: String,
    /// The version of the plan that it is of; absent where it is of none of the library.
    pub version: Option<u32>,
    /// How it came out, in a sentence.
    pub sentence: String,
}

impl PlanRun {
    fn badge(&self) -> Badge<'_> {
        Badge::new(&self.state, self.verdict.as_deref())
    }

    fn started(&self) -> String {
        readable_time(&self.started_at)
    }

    /// What a badge alone doesn't say.
    fn title(&self) -> String {
        let of = self.version.map(|version| format!("version {version}"));
        let started = Some(self.started()).filter(|started| !started.is_empty());
        of.into_iter().chain(started).collect::<Vec<_>>().join(", ")
    }
}

/// The form's fields, as typed.
#[derive(Clone, Debug, Default)]
pub struct NewPlan {
    /// The name.
    pub name: String,
    /// The plan, YAML or JSON.
    pub text: String,
}

/// `/plans/{name}`. Its forms post (urlencoded) `text` and `version` to `/plans/{name}`, `version` to `/plans/{name}/run`
/// and to `/plans/{name}/delete`.
#[derive(Clone, Debug, Default)]
pub struct PlanPage {
    /// The plan's name, as in its address.
    pub name: String,
    /// The version that is shown.
    pub version: u32,
    /// When that was saved, RFC 3339 in UTC.
    pub saved_at: String,
    /// The latest version, which what is saved takes the place of.
    pub latest: u32,
    /// Its load in words; empty where it can't be read.
    pub load: String,
    /// Where the load goes, literal; likewise.
    pub target: String,
    /// What the editor holds: the version's text, or what was typed.
    pub text: String,
    /// Why it wasn't saved or run.
    pub faults: Vec<Fault>,
    /// Somebody else has saved another version since what was typed was begun.
    pub overtaken: bool,
    /// The versions that are kept, the latest first.
    pub versions: Vec<PlanVersion>,
    /// Two texts of which the page shows how they differ.
    pub compared: Option<Compared>,
    /// Its latest runs, newest first.
    pub runs: Vec<PlanRun>,
}

/// A version of a plan.
#[derive(Clone, Debug, Default)]
pub struct PlanVersion {
    /// Its number, from 1.
    pub version: u32,
    /// When it was saved, RFC 3339 in UTC.
    pub saved_at: String,
}

impl PlanVersion {
    fn saved(&self) -> String {
        readable_time(&self.saved_at)
    }
}

/// Two texts, and what each is called ("version 3", "what you typed").
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// What the first is called.
    pub from: String,
    /// The first.
    pub from_text: String,
    /// What the second is called.
    pub to: String,
    /// The second.
    pub to_text: String,
}

impl PlanPage {
    /// The whole page as HTML.
    pub fn render(&self) -> Result<String, askama::Error> {
        let difference = self.compared.as_ref().map(|two| diff(&two.from_text, &two.to_text));
        PlanTemplate { page: self, difference }.render()
    }
}

#[derive(Template)]
#[template(path = "plan.html")]
struct PlanTemplate<'a> {
    page: &'a PlanPage,
    difference: Option<Diff>,
}

impl PlanTemplate<'_> {
    fn saved(&self) -> String {
        readable_time(&self.page.saved_at)
    }

    /// The version before that one, if it is kept.
    fn before(&self, version: &u32) -> Option<u32> {
        let earlier = self.page.versions.iter().map(|kept| kept.version).filter(|kept| kept < version);
        earlier.max()
    }

    /// How many lines the editor shows: those of the text and some to write on, within bounds.
    fn rows(&self) -> usize {
        (self.page.text.lines().count() + 2).clamp(10, 32)
    }
}
