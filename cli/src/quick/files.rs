//! Files of the command line as a plan names them. A plan's files lie in one folder and those below it; for a command line
//! that folder is the root, so that people may name whatever file they can read.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::exit::{Exit, Failure, OrExit as _};

/// The folder that files are looked up in.
pub(crate) const FOLDER: &str = "/";

/// The name below [`FOLDER`] of a file that is there; a relative one is meant from the current folder.
pub(crate) fn name(file: &Path) -> Result<String, Failure> {
    let whole = fs::canonicalize(file)
        .with_context(|| format!("{} can't be found", file.display()))
        .or_exit(Exit::Usage)?;
    let text = text(whole)?;
    Ok(text.strip_prefix(FOLDER).unwrap_or(&text).to_owned())
}

/// The whole path of a socket, which need not be there yet. Links stay, since rules of what may be loaded name sockets as
/// they are written.
pub(crate) fn socket(path: &Path) -> Result<String, Failure> {
    let whole = std::path::absolute(path)
        .with_context(|| format!("{} is no path", path.display()))
        .or_exit(Exit::Usage)?;
    // What leads back can be taken out only where it leads to something.
    let leads_back = whole.components().any(|part| matches!(part, std::path::Component::ParentDir));
    text(if leads_back { fs::canonicalize(&whole).unwrap_or(whole) } else { whole })
}

fn text(path: PathBuf) -> Result<String, Failure> {
    let not_text = |path: PathBuf| {
        Failure::new(Exit::Usage, format!("{} is not UTF-8, as names in plans are", path.display()))
    };
    path.into_os_string().into_string().map_err(|path| not_text(path.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_from_the_root() {
        let folder = tempfile::tempdir().unwrap();
        let file = fs::canonicalize(folder.path()).unwrap().join("a.pem");
        fs::write(&file, "").unwrap();
        let expected = file.to_str().unwrap().strip_prefix('/').unwrap();
        for path in [
            file.clone(),
            file.parent().unwrap().join("../").join(file.strip_prefix("/tmp").unwrap_or(&file)),
        ] {
            assert_eq!(
                name(&path).map_err(|failure| failure.error.to_string()).unwrap(),
                expected,
                "{path:?}"
            );
        }
        let here = std::env::current_dir().unwrap().join("Cargo.toml");
        let expected = fs::canonicalize(&here).unwrap().to_str().unwrap()[1..].to_owned();
        assert_eq!(
            name(Path::new("Cargo.toml")).map_err(|failure| failure.error.to_string()).unwrap(),
            expected
        );
        let failure = name(&folder.path().join("b.pem")).map(|_| ()).unwrap_err();
        assert!(failure.exit == Exit::Usage && failure.error.to_string().contains("b.pem can't be found"));
    }

    #[test]
    fn sockets_are_named_by_their_whole_path() {
        let check = |path: &str, expected: &str| {
            assert_eq!(
                socket(Path::new(path)).map_err(|failure| failure.error.to_string()).unwrap(),
                expected
            );
        };
        check("/run/app.sock", "/run/app.sock");
        check("/run//./app.sock", "/run/app.sock");
        let here = std::env::current_dir().unwrap();
        check("app.sock", here.join("app.sock").to_str().unwrap());
        check("/tmp/../tmp", fs::canonicalize("/tmp").unwrap().to_str().unwrap());
    }
}
