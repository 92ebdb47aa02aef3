//! The token and the targets that may be loaded, as services and clients are told them.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use volley_coordinator::Token;
use volley_plan::{AllowList, RuleFault};

use crate::exit::{Exit, Failure, OrExit as _};

/// The variable that holds the token where no file does.
pub(crate) const VARIABLE: &str = "VOLLEY_TOKEN";
/// Most bytes of a file of rules, and of one with a token.
const MAX_RULES_BYTES: u64 = 1 << 20;
const MAX_TOKEN_BYTES: u64 = 4_096;

/// The token.
#[derive(Debug, Args)]
pub(crate) struct TokenOptions {
    /// A file with the token that coordinator, agents and clients share [default: the variable VOLLEY_TOKEN, if it is set]
    #[arg(long, value_name = "FILE", global = true)]
    token_file: Option<PathBuf>,
}

impl TokenOptions {
    /// The token of the file, else of the variable; none where there is neither.
    pub(crate) fn token(&self) -> Result<Option<Token>, Failure> {
        let (text, from) = match &self.token_file {
            Some(file) => {
                warn_if_open(file);
                (read(file, MAX_TOKEN_BYTES)?, format!("--token-file {}", file.display()))
            }
            // An empty variable is what scripts have that set it for no token.
            None => match std::env::var(VARIABLE).ok().filter(|text| !text.is_empty()) {
                Some(text) => (text, VARIABLE.to_owned()),
                None => return Ok(None),
            },
        };
        Token::new(&text).context(from).or_exit(Exit::Usage).map(Some)
    }
}

/// Says so where every user of this host can read the token, or replace it.
fn warn_if_open(file: &Path) {
    if std::fs::metadata(file).is_ok_and(|metadata| is_open_to_all(metadata.permissions().mode())) {
        let file = file.display();
        tracing::warn!(%file, "every user of this host can read the token's file, or change it: chmod 600 helps");
    }
}

/// Whether a file of this mode is anybody's. What its group may do says little: secrets that systemd and Kubernetes hand
/// over are readable for a group, or look so for their access lists, where that is one user's own.
fn is_open_to_all(mode: u32) -> bool {
    mode & 0o006 != 0
}

/// The targets that may be loaded.
#[derive(Debug, Args)]
#[command(next_help_heading = "Targets that may be loaded")]
pub(crate) struct AllowOptions {
    /// A target that may be loaded, as often as needed: `HOST or CIDR[:PORT[-PORT]] [max RATE]`, `*.example.org`, `any`, or
    /// a socket, `unix:/run/app.sock` [default: any and all sockets; loopback only in a fleet whose coordinator is reached beyond loopback]
    #[arg(long, value_name = "RULE")]
    allow: Vec<String>,
    /// A file with such rules, one a line; what follows a # is a remark
    #[arg(long, value_name = "FILE")]
    allow_file: Option<PathBuf>,
}

impl AllowOptions {
    /// Whether there are rules.
    pub(crate) fn are_given(&self) -> bool {
        !self.allow.is_empty() || self.allow_file.is_some()
    }

    /// The list of these rules for a process that has all of the run in it, or the one that goes without saying.
    pub(crate) fn list_here(&self) -> Result<Arc<AllowList>, Failure> {
        self.list(true)
    }

    /// The list of these rules, or the one that goes without saying.
    pub(crate) fn list(&self, is_all_loopback: bool) -> Result<Arc<AllowList>, Failure> {
        if !self.are_given() {
            let list = if is_all_loopback { AllowList::anything() } else { AllowList::loopback_only() };
            return Ok(Arc::new(list));
        }
        let mut rules = checked("--allow", &self.allow)?;
        if let Some(file) = &self.allow_file {
            let text = read(file, MAX_RULES_BYTES)?;
            let lines: Vec<_> = text.lines().map(str::to_owned).collect();
            rules.extend(checked(&file.display().to_string(), &lines)?);
        }
        let list = AllowList::parse(&rules).map_err(|faults| refused("the rules", &faults))?;
        if list.is_empty() {
            tracing::warn!("the allow-list has no rule, so no target may be loaded");
        }
        Ok(Arc::new(list))
    }
}

/// Rules that are ones, each with its place in what `from` names.
fn checked(from: &str, rules: &[String]) -> Result<Vec<String>, Failure> {
    match AllowList::parse(rules) {
        Ok(_) => Ok(rules.to_vec()),
        Err(faults) => Err(refused(from, &faults)),
    }
}

fn refused(from: &str, faults: &[RuleFault]) -> Failure {
    let lines: String = faults.iter().map(|fault| format!("\n{from}: {fault}")).collect();
    let rules = if faults.len() == 1 { "a rule of targets is" } else { "rules of targets are" };
    Failure::new(Exit::Usage, format!("{rules} not understood{lines}"))
}

/// A file's text, which must not be longer.
fn read(file: &Path, bytes_max: u64) -> Result<String, Failure> {
    let text = || -> io::Result<String> {
        let mut text = String::new();
        File::open(file)?.take(bytes_max + 1).read_to_string(&mut text)?;
        Ok(text)
    };
    let text = text().with_context(|| format!("{} can't be read", file.display())).or_exit(Exit::Usage)?;
    if text.len() as u64 > bytes_max {
        return Err(Failure::new(Exit::Usage, format!("{} has more than {bytes_max} bytes", file.display())));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use volley_plan::parse;

    use super::*;

    /// What comes of these rules and lines of a file for a target: `Ok` with whether it may be loaded, or a part of the
    /// refusal.
    fn check(
        allow: &[&str],
        file: Option<&str>,
        is_all_loopback: bool,
        target: &str,
        expected: Result<bool, &str>,
    ) {
        let mut lines = tempfile::NamedTempFile::new().unwrap();
        lines.write_all(file.unwrap_or_default().as_bytes()).unwrap();
        let options = AllowOptions {
            allow: allow.iter().map(|rule| (*rule).to_owned()).collect(),
            allow_file: file.map(|_| lines.path().to_owned()),
        };
        let plan = parse(&format!("target: {target}\nusers: 1\nduration: 1s\n")).unwrap();
        match (options.list(is_all_loopback), expected) {
            (Ok(list), Ok(is_allowed)) => {
                assert_eq!(list.permits_plan(&plan).is_ok(), is_allowed, "{allow:?} {file:?} {target}");
            }
            (Err(failure), Err(part)) => {
                let said = failure.error.to_string();
                assert!(failure.exit == Exit::Usage && said.contains(part), "{allow:?} {file:?}: {said}");
            }
            (found, _) => panic!("{allow:?} {file:?}: {:?}", found.map_err(|failure| failure.error)),
        }
    }

    #[test]
    fn rules_come_from_flags_and_a_file() {
        let (here, there) = ("http://127.0.0.1:80/", "http://10.0.0.1:80/");
        check(&[], None, true, there, Ok(true));
        check(&[], None, false, there, Ok(false));
        check(&[], None, false, here, Ok(true));
        check(&["10.0.0.0/8"], None, false, there, Ok(true));
        check(&["10.0.0.0/8"], None, true, here, Ok(false));
        check(&[], Some("# ours\n10.0.0.0/8:80-90\n"), false, there, Ok(true));
        check(&["127.0.0.1"], Some("10.0.0.0/8"), false, there, Ok(true));
        check(&["127.0.0.1"], Some("10.0.0.0/8"), false, here, Ok(true));
        check(&[], Some("# none\n"), true, here, Ok(false));
        check(&["http://x/"], None, true, here, Err("--allow: rule 1"));
        check(&[], Some("any\n\n10.0.0.0/99\n"), true, here, Err("rule 3"));
    }

    #[test]
    fn a_file_that_everybody_can_read_is_open() {
        for (mode, expected) in
            [(0o600, false), (0o400, false), (0o440, false), (0o644, true), (0o604, true), (0o602, true)]
        {
            assert_eq!(is_open_to_all(0o100_000 | mode), expected, "{mode:o}");
        }
    }

    #[test]
    fn a_token_comes_from_a_file() {
        let check = |text: &str, expected: Result<(), &str>| {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(text.as_bytes()).unwrap();
            let options = TokenOptions { token_file: Some(file.path().to_owned()) };
            match (options.token(), expected) {
                (Ok(token), Ok(())) => assert!(token.is_some(), "{text:?}"),
                (Err(failure), Err(part)) => {
                    let said = format!("{:#}", failure.error);
                    assert!(said.contains("--token-file") && said.contains(part), "{text:?}: {said}");
                }
                (found, _) => panic!("{text:?}: {:?}", found.map_err(|failure| failure.error)),
            }
        };
        check("0123456789abcdef\n", Ok(()));
        check("short\n", Err("at least 16"));
        check("", Err("this has 0"));
        let missing = TokenOptions { token_file: Some("/nowhere/token".into()) };
        assert!(format!("{:#}", missing.token().unwrap_err().error).contains("/nowhere/token"));
        let endless = TokenOptions { token_file: Some("/dev/zero".into()) };
        assert!(format!("{:#}", endless.token().unwrap_err().error).contains("more than"));
    }
}
