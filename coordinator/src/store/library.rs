//! The library: plans that are kept by name, with their earlier versions. A version never changes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::ready;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use super::{StoreError, StoreFuture};

/// Most plans of a library.
pub const MAX_PLANS: usize = 1_000;
/// Versions that are kept of a plan, the latest ones.
pub const MAX_VERSIONS: usize = 100;

/// The name of a plan in a library: 1 to 100 letters, digits, `.`, `_` and `-`, the first of them a letter or a digit. It
/// stands in addresses as it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct PlanName(String);

impl PlanName {
    /// The name, if it can be one.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let is_name = (1..=100).contains(&text.len())
            && text.starts_with(|first: char| first.is_ascii_alphanumeric())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
        is_name.then(|| Self(text.to_owned()))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PlanName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One version of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedPlan {
    /// Its name.
    pub name: PlanName,
    /// Its number, from 1; a name that was removed and is used again goes on where it was.
    pub version: u32,
    /// When it was saved, RFC 3339 in UTC.
    pub saved_at: String,
    /// The plan as it was given, YAML or JSON.
    pub text: String,
}

impl SavedPlan {
    /// The entity tag (RFC 9110 section 8.8.3): version and content.
    #[must_use]
    pub fn etag(&self) -> String {
        let hash = Sha256::digest(self.text.as_bytes());
        let hash: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        format!("\"{}-{hash}\"", self.version)
    }
}

/// On which condition a plan is saved or removed (RFC 9110 section 13.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// None.
    Always,
    /// There is none of this name (`If-None-Match: *`).
    Absent,
    /// There is one (`If-Match: *`).
    Present,
    /// The latest version has one of these tags (`If-Match`).
    Tagged(Vec<String>),
}

impl Condition {
    /// Whether it holds, of the latest version.
    #[must_use]
    pub fn holds(&self, latest: Option<&SavedPlan>) -> bool {
        match (self, latest) {
            (Self::Always, _) | (Self::Absent, None) | (Self::Present, Some(_)) => true,
            (Self::Absent, Some(_)) | (Self::Present | Self::Tagged(_), None) => false,
            (Self::Tagged(tags), Some(latest)) => tags.contains(&latest.etag()),
        }
    }
}

/// Why a plan is neither saved nor removed.
#[derive(Debug, Error)]
pub enum LibraryError {
    /// The condition doesn't hold: somebody else was there first.
    #[error("{}", .0.as_ref().map_or("there is no such plan any more".to_owned(), |latest| format!("the latest version is {} by now", latest.version)))]
    Condition(Option<Box<SavedPlan>>),
    /// There is no room for another plan.
    #[error("the library holds {MAX_PLANS} plans, which is the most")]
    Full,
    /// It could not be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What saving a plan came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saved {
    /// The first version of a plan that was not there.
    Created(SavedPlan),
    /// Another version.
    Replaced(SavedPlan),
    /// The latest version is the same text.
    Unchanged(SavedPlan),
}

impl Saved {
    /// The latest version now.
    #[must_use]
    pub fn plan(&self) -> &SavedPlan {
        match self {
            Self::Created(plan) | Self::Replaced(plan) | Self::Unchanged(plan) => plan,
        }
    }
}

/// A plan that is to be saved.
#[derive(Clone, Debug)]
pub struct NewPlan {
    /// Its name.
    pub name: PlanName,
    /// The plan, checked.
    pub text: String,
    /// The moment, RFC 3339 in UTC.
    pub saved_at: String,
    /// Only then.
    pub condition: Condition,
}

/// What comes of saving a plan, given the latest version of its name, the latest one that a plan of this name had when it
/// was removed (0 where none was), and how many plans there are.
pub(super) fn decide(
    new: &NewPlan,
    latest: Option<SavedPlan>,
    removed: u32,
    plans: usize,
) -> Result<Saved, LibraryError> {
    if !new.condition.holds(latest.as_ref()) {
        return Err(LibraryError::Condition(latest.map(Box::new)));
    }
    let version = |number| SavedPlan {
        name: new.name.clone(),
        version: number,
        saved_at: new.saved_at.clone(),
        text: new.text.clone(),
    };
    match latest {
        Some(latest) if latest.text == new.text => Ok(Saved::Unchanged(latest)),
        Some(latest) => Ok(Saved::Replaced(version(latest.version.saturating_add(1)))),
        None if plans >= MAX_PLANS => Err(LibraryError::Full),
        None => Ok(Saved::Created(version(removed.saturating_add(1)))),
    }
}

/// What a library operation gives.
pub type LibraryFuture<'a, T> = futures_util::future::BoxFuture<'a, Result<T, LibraryError>>;

/// Where plans are kept.
pub trait Library: Send + Sync {
    /// Saves a plan, if its condition holds.
    fn save(&self, new: NewPlan) -> LibraryFuture<'_, Saved>;

    /// A version of a plan, or the latest one.
    fn plan<'a>(&'a self, name: &'a PlanName, version: Option<u32>) -> StoreFuture<'a, Option<SavedPlan>>;

    /// All plans by name, each in its latest version.
    fn plans(&self) -> StoreFuture<'_, Vec<SavedPlan>>;

    /// The versions of a plan that are kept, the latest first; none where there is no such plan.
    fn versions<'a>(&'a self, name: &'a PlanName) -> StoreFuture<'a, Vec<SavedPlan>>;

    /// Removes a plan with all its versions, if the condition holds. Gives whether there was one.
    fn remove<'a>(&'a self, name: &'a PlanName, condition: Condition) -> LibraryFuture<'a, bool>;
}

/// A library in memory.
#[derive(Debug, Default)]
pub(super) struct MemoryLibrary {
    plans: Mutex<BTreeMap<PlanName, Vec<SavedPlan>>>,
    /// The latest versions of those that were removed.
    removed: Mutex<BTreeMap<PlanName, u32>>,
}

impl MemoryLibrary {
    fn plans(&self) -> MutexGuard<'_, BTreeMap<PlanName, Vec<SavedPlan>>> {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn removed(&self) -> MutexGuard<'_, BTreeMap<PlanName, u32>> {
        self.removed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn save_now(&self, new: &NewPlan) -> Result<Saved, LibraryError> {
        let mut plans = self.plans();
        let count = plans.len();
        let latest = plans.get(&new.name).and_then(|versions| versions.last().cloned());
        let removed = self.removed().get(&new.name).copied().unwrap_or(0);
        let saved = decide(new, latest, removed, count)?;
        if let Saved::Created(plan) | Saved::Replaced(plan) = &saved {
            let versions = plans.entry(new.name.clone()).or_default();
            versions.push(plan.clone());
            let too_many = versions.len().saturating_sub(MAX_VERSIONS);
            versions.drain(..too_many);
        }
        Ok(saved)
    }

    fn remove_now(&self, name: &PlanName, condition: &Condition) -> Result<bool, LibraryError> {
        let mut plans = self.plans();
        let latest = plans.get(name).and_then(|versions| versions.last());
        if !condition.holds(latest) {
            return Err(LibraryError::Condition(latest.cloned().map(Box::new)));
        }
        let Some(latest) = latest.map(|plan| plan.version) else { return Ok(false) };
        self.removed().insert(name.clone(), latest);
        Ok(plans.remove(name).is_some())
    }
}

impl Library for MemoryLibrary {
    fn save(&self, new: NewPlan) -> LibraryFuture<'_, Saved> {
        ready(self.save_now(&new)).boxed()
    }

    fn plan<'a>(&'a self, name: &'a PlanName, version: Option<u32>) -> StoreFuture<'a, Option<SavedPlan>> {
        let plans = self.plans();
        let versions = plans.get(name).map(Vec::as_slice).unwrap_or_default();
        let found = match version {
            None => versions.last(),
            Some(number) => versions.iter().find(|plan| plan.version == number),
        };
        ready(Ok(found.cloned())).boxed()
    }

    fn plans(&self) -> StoreFuture<'_, Vec<SavedPlan>> {
        let latest = self.plans().values().filter_map(|versions| versions.last().cloned()).collect();
        ready(Ok(latest)).boxed()
    }

    fn versions<'a>(&'a self, name: &'a PlanName) -> StoreFuture<'a, Vec<SavedPlan>> {
        let versions = self.plans().get(name).cloned().unwrap_or_default();
        ready(Ok(versions.into_iter().rev().collect())).boxed()
    }

    fn remove<'a>(&'a self, name: &'a PlanName, condition: Condition) -> LibraryFuture<'a, bool> {
        ready(self.remove_now(name, &condition)).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_in_addresses_as_they_are() {
        for name in ["a", "checkout", "A.b-c_9", &"x".repeat(100)] {
            assert!(PlanName::new(name).is_some(), "{name}");
        }
        for name in ["", ".", "..", "-a", "a/b", "a b", "é", "a:b", &"x".repeat(101)] {
            assert!(PlanName::new(name).is_none(), "{name}");
        }
    }

    #[test]
    fn a_tag_is_of_version_and_content() {
        let plan = |version, text: &str| SavedPlan {
            name: PlanName::new("a").unwrap(),
            version,
            saved_at: String::new(),
            text: text.to_owned(),
        };
        let tags = [plan(1, "x"), plan(2, "x"), plan(1, "y")].map(|plan| plan.etag());
        assert!(tags[0].starts_with("\"1-") && tags[0].ends_with('"') && tags[0].len() == 20, "{}", tags[0]);
        assert!(tags[0] != tags[1] && tags[0] != tags[2]);
    }
}
