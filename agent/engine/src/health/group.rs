//! For how long a CPU quota kept the process from running: that of its control group, or of a group above it.
//!
//! There are two versions of control groups. In version 1 each controller has a hierarchy of its own, in version 2 there
//! is one for all; a machine may have both, mounted wherever its maker liked (`man 7 cgroups`). In a container the
//! process's path counts from a group that isn't the root, and so may the mount.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::source::{Counter, Source};

/// Most groups that are looked at, from the process's own one upwards.
const MOST_GROUPS: usize = 32;

/// The quotas that a process is under.
#[derive(Debug)]
pub(super) struct Quotas {
    mounts: PathBuf,
    membership: Source,
    /// What the membership was when the groups were looked up.
    known: String,
    groups: Vec<Group>,
}

/// One group's count of the time for which its quota held it up.
#[derive(Debug)]
struct Group {
    stat: Source,
    throttled: Counter,
}

impl Quotas {
    /// The quotas of the process of this directory in /proc, counted from now on.
    pub(super) fn of(process: &Path) -> Self {
        let mut quotas = Self {
            mounts: process.join("mountinfo"),
            membership: Source::open(&process.join("cgroup")),
            known: String::new(),
            groups: Vec::new(),
        };
        quotas.passed_ns();
        quotas
    }

    /// For how long the strictest quota held the process up since the last call, in nanoseconds. The kernel adds up what
    /// each processor was kept from doing, so on several of them this can be more than the time that passed.
    pub(super) fn passed_ns(&mut self) -> u64 {
        self.follow();
        self.groups.iter_mut().map(Group::passed_ns).max().unwrap_or(0)
    }

    /// Looks the groups up again where the process was moved to others.
    fn follow(&mut self) {
        let Some(membership) = self.membership.read() else { return };
        if membership == self.known {
            return;
        }
        membership.clone_into(&mut self.known);
        let mounts = fs::read(&self.mounts).unwrap_or_default();
        let directories = directories(membership, &String::from_utf8_lossy(&mounts));
        self.groups = directories.iter().map(|directory| Group::in_directory(directory)).collect();
    }
}

impl Group {
    fn in_directory(directory: &Path) -> Self {
        Self { stat: Source::open(&directory.join("cpu.stat")), throttled: Counter::default() }
    }

    fn passed_ns(&mut self) -> u64 {
        self.throttled.passed(self.stat.read().and_then(throttled_ns))
    }
}

/// Of a group's cpu.stat: version 2 writes microseconds, version 1 nanoseconds. The root of version 2, and groups in
/// which the `cpu` controller is off, have neither.
fn throttled_ns(stat: &str) -> Option<u64> {
    stat.lines().find_map(|line| match line.split_once(' ')? {
        ("throttled_usec", us) => us.trim().parse::<u64>().ok()?.checked_mul(1_000),
        ("throttled_time", ns) => ns.trim().parse().ok(),
        _ => None,
    })
}

/// The groups of a process that may have a CPU quota, from its own ones to the highest to be seen, as directories; out
/// of the texts of /proc/PID/cgroup and /proc/PID/mountinfo.
pub(super) fn directories(membership: &str, mountinfo: &str) -> Vec<PathBuf> {
    let mounts: Vec<Mount> = mountinfo.lines().filter_map(Mount::parse).collect();
    let mut found = Vec::new();
    for (version, path) in membership.lines().filter_map(hierarchy) {
        let chains = mounts.iter().filter(|mount| mount.version == version).map(|mount| mount.chain(path));
        // A hierarchy may be mounted more than once, and not always from its root.
        found.extend(chains.max_by_key(Vec::len).unwrap_or_default());
    }
    found
}

/// The version of control groups of a hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// A line of /proc/PID/cgroup, `id:controllers:path`, if CPU quotas belong to its hierarchy. The one of version 2 has no
/// controllers and the id 0.
fn hierarchy(line: &str) -> Option<(Version, &str)> {
    let mut fields = line.splitn(3, ':');
    let (id, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    if id == "0" && controllers.is_empty() {
        return Some((Version::Two, path));
    }
    has_cpu(controllers).then_some((Version::One, path))
}

fn has_cpu(controllers: &str) -> bool {
    controllers.split(',').any(|controller| controller == "cpu")
}

/// Where groups are to be seen.
#[derive(Debug)]
struct Mount {
    version: Version,
    /// The group that is mounted.
    root: PathBuf,
    /// Where it is mounted.
    point: PathBuf,
}

impl Mount {
    /// A line of /proc/PID/mountinfo: `id parent device root point options [more …] - type source super-options`.
    fn parse(line: &str) -> Option<Self> {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(3);
        let (root, point) = (before.next()?, before.next()?);
        let mut after = after.split(' ');
        let (kind, options) = (after.next()?, after.nth(1)?);
        let version = match kind {
            "cgroup2" => Version::Two,
            "cgroup" if has_cpu(options) => Version::One,
            _ => return None,
        };
        Some(Self { version, root: unescaped(root).into(), point: unescaped(point).into() })
    }

    /// The directories of the group of this path and of those above it, as far as they are to be seen here.
    fn chain(&self, path: &str) -> Vec<PathBuf> {
        let below = if self.root.starts_with("/..") {
            // It is mounted from above all that the process may know of: that group holds for the process too, and of
            // those between nothing is known.
            Path::new("")
        } else {
            match Path::new(path).strip_prefix(&self.root) {
                Ok(below) if below.components().all(|part| matches!(part, Component::Normal(_))) => below,
                _ => return Vec::new(),
            }
        };
        let own = self.point.join(below);
        let chain = own.ancestors().take_while(|directory| directory.starts_with(&self.point));
        chain.take(MOST_GROUPS).map(Path::to_path_buf).collect()
    }
}

/// A path as it is: mountinfo writes blanks, line breaks and backslashes as three octal digits.
fn unescaped(path: &str) -> String {
    let mut pieces = path.split('\\');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let code = piece.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) if code.is_ascii() => {
                plain.push(char::from(code));
                plain.push_str(&piece[3..]);
            }
            _ => {
                plain.push('\\');
                plain.push_str(piece);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests;
