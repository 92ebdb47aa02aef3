//! A machine's disk, on which results outlive the process that measured them.

use std::collections::BTreeMap;

use volley_agent::session::{Answer, Job, Numbered, Source};
use volley_plan::link::Incarnation;

use crate::scenario;

/// What is on the disk of a machine, by the process that wrote it.
#[derive(Debug)]
pub(super) struct Disk {
    state: scenario::Disk,
    files: BTreeMap<Incarnation, Vec<Numbered>>,
}

impl Disk {
    pub(super) fn new(state: scenario::Disk) -> Self {
        Self { state, files: BTreeMap::new() }
    }

    pub(super) fn is_there(&self) -> bool {
        self.state != scenario::Disk::None
    }

    /// The highest number of the windows that are there of a process.
    pub(super) fn highest(&self, of: Incarnation) -> Option<u64> {
        self.files.get(&of)?.last().map(|window| window.sequence)
    }

    /// Does a job of the process `own`, which has read so many windows of each earlier one.
    pub(super) fn work(
        &mut self,
        own: Incarnation,
        read: &mut BTreeMap<Incarnation, usize>,
        job: Job,
    ) -> Answer {
        match job {
            Job::Look => {
                let earlier = self.files.iter().filter(|(of, windows)| **of != own && !windows.is_empty());
                let source = |(&of, windows): (&Incarnation, &Vec<Numbered>)| {
                    Some(Source { run: windows.first()?.source.run.clone(), of: Some(of) })
                };
                Answer::Found(earlier.filter_map(source).collect())
            }
            Job::Keep(window) => self.keep(own, window),
            Job::Clear { up_to, .. } => {
                self.files.entry(own).or_default().retain(|window| window.sequence > up_to);
                Answer::Done
            }
            Job::Read(source) => {
                let of = source.of.unwrap_or(own);
                let place = read.entry(of).or_default();
                let window = self.files.get(&of).and_then(|windows| windows.get(*place)).cloned();
                *place += 1;
                let window = window.map(|window| Numbered { source: source.clone(), ..window });
                Answer::Left { source, window }
            }
            Job::Remove(source) => {
                self.files.remove(&source.of.unwrap_or(own));
                Answer::Done
            }
        }
    }

    fn keep(&mut self, own: Incarnation, window: Numbered) -> Answer {
        let (run, sequence) = (window.source.run.clone(), window.sequence);
        if self.state == scenario::Disk::Full {
            return Answer::Failed { run, reason: "no space left on device".to_owned() };
        }
        self.files.entry(own).or_default().push(window);
        Answer::Kept { run, sequence }
    }
}
