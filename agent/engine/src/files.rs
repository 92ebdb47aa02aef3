//! Files that a plan names: they are looked up in one folder of this machine, which nothing leads out of.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat, openat2};
use rustix::io::Errno;
use thiserror::Error;
use volley_plan::FileName;

/// Why a file can't be used.
#[derive(Debug, Error)]
pub(crate) enum FileError {
    #[error(
        "the plan names the file {name}, and no folder for such files was given here: start this with `--files DIR`"
    )]
    NoFolder { name: FileName },
    #[error("the folder for files, {}, cannot be opened", folder.display())]
    Folder { folder: PathBuf, source: io::Error },
    #[error("the file {name} cannot be opened in {}", folder.display())]
    Open { name: FileName, folder: PathBuf, source: io::Error },
    #[error("{name} in {} is no regular file", folder.display())]
    NotRegular { name: FileName, folder: PathBuf },
    #[error("the file {name} cannot be read")]
    Read { name: FileName, source: io::Error },
    #[error("the file {name} is larger than {bytes_max} bytes")]
    TooLarge { name: FileName, bytes_max: u64 },
}

/// Where files are looked up, if there are any to be had.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    folder: Option<PathBuf>,
}

impl Files {
    /// Those of a folder; no files at all without one.
    pub(crate) fn new(folder: Option<&Path>) -> Self {
        Self { folder: folder.map(Path::to_owned) }
    }

    /// Opens a regular file for reading; gives its length in bytes too, as it is now.
    pub(crate) fn open(&self, name: &FileName) -> Result<(File, u64), FileError> {
        let folder = self.folder.as_ref().ok_or_else(|| FileError::NoFolder { name: name.clone() })?;
        let failed = |errno: Errno| FileError::Open {
            name: name.clone(),
            folder: folder.clone(),
            source: errno.into(),
        };
        let base = open(folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|errno| FileError::Folder { folder: folder.clone(), source: errno.into() })?;
        let file = match open_within(&base, folder, name) {
            // Before Linux 5.6, or where a sandbox doesn't know of openat2.
            Err(Errno::NOSYS | Errno::PERM) => open_by_steps(&base, name),
            opened => opened,
        };
        let file = File::from(file.map_err(failed)?);
        let facts = file.metadata().map_err(|source| FileError::Read { name: name.clone(), source })?;
        if facts.is_file() {
            Ok((file, facts.len()))
        } else {
            Err(FileError::NotRegular { name: name.clone(), folder: folder.clone() })
        }
    }

    /// The whole of a small file.
    pub(crate) fn read(&self, name: &FileName, bytes_max: u64) -> Result<Vec<u8>, FileError> {
        let (file, _) = self.open(name)?;
        let mut bytes = Vec::new();
        let read = file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|source| FileError::Read { name: name.clone(), source })?;
        if bytes.len() as u64 > bytes_max {
            return Err(FileError::TooLarge { name: name.clone(), bytes_max });
        }
        Ok(bytes)
    }
}

/// A pipe without a writer would hold up whoever opens it.
const READ: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// The kernel follows links, as far as they stay in the folder. Nothing leads out of the root, where links are as good as
/// anywhere.
fn open_within(base: &OwnedFd, folder: &Path, name: &FileName) -> Result<OwnedFd, Errno> {
    let bound = if folder == Path::new("/") { ResolveFlags::IN_ROOT } else { ResolveFlags::BENEATH };
    openat2(base, name.as_str(), READ, Mode::empty(), bound | ResolveFlags::NO_MAGICLINKS)
}

/// The same without links.
fn open_by_steps(base: &OwnedFd, name: &FileName) -> Result<OwnedFd, Errno> {
    let step = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut folder = openat(base, ".", step, Mode::empty())?;
    let (folders, file) = name.as_str().rsplit_once('/').unwrap_or(("", name.as_str()));
    for part in folders.split('/').filter(|part| !part.is_empty()) {
        folder = openat(&folder, part, step, Mode::empty())?;
    }
    openat(&folder, file, READ | OFlags::NOFOLLOW, Mode::empty())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use rustix::fs::CWD;

    use super::*;

    fn name(text: &str) -> FileName {
        FileName::parse(text).unwrap()
    }

    /// A folder with files and links in it, beside one that it must not lead to.
    fn folder() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let files = dir.path().join("files");
        fs::create_dir_all(files.join("below")).unwrap();
        fs::write(dir.path().join("secret"), "secret").unwrap();
        fs::write(files.join("below/a.pem"), "abc").unwrap();
        symlink("below/a.pem", files.join("inside")).unwrap();
        symlink("../secret", files.join("outside")).unwrap();
        symlink("/etc/passwd", files.join("absolute")).unwrap();
        symlink("..", files.join("up")).unwrap();
        rustix::fs::mkfifoat(CWD, files.join("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        (dir, files)
    }

    fn said<T>(result: Result<T, FileError>) -> Result<T, String> {
        result.map_err(|error| crate::sentence(&error))
    }

    #[test]
    fn files_are_found_beneath_the_folder_and_nowhere_else() {
        let (_dir, path) = folder();
        let files = Files::new(Some(&path));
        let check = |text: &str, bytes_max, expected: Result<&str, &str>| match (
            said(files.read(&name(text), bytes_max)),
            expected,
        ) {
            (Ok(found), expected) => assert_eq!(Ok(found.as_slice()), expected.map(str::as_bytes)),
            (Err(sentence), Err(part)) => assert!(sentence.contains(part), "{text}: {sentence}"),
            (Err(sentence), Ok(_)) => panic!("{text}: {sentence}"),
        };
        check("below/a.pem", 3, Ok("abc"));
        check("inside", 3, Ok("abc"));
        check("below/a.pem", 2, Err("the file below/a.pem is larger than 2 bytes"));
        check("missing", 3, Err("the file missing cannot be opened in "));
        check("below", 3, Err("is no regular file"));
        check("pipe", 3, Err("is no regular file"));
        check("outside", 9, Err("the file outside cannot be opened in "));
        check("absolute", 9999, Err("the file absolute cannot be opened in "));
        check("up/secret", 9, Err("the file up/secret cannot be opened in "));
    }

    #[test]
    fn without_openat2_no_link_is_followed() {
        let (_dir, path) = folder();
        let base = open(&path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap();
        for (text, is_there) in
            [("below/a.pem", true), ("inside", false), ("outside", false), ("up/secret", false)]
        {
            assert_eq!(open_by_steps(&base, &name(text)).is_ok(), is_there, "{text}");
        }
    }

    #[test]
    fn the_root_is_a_folder_like_any_other_and_its_links_count() {
        let (dir, path) = folder();
        let link = dir.path().join("link");
        symlink(path.join("below/a.pem"), &link).unwrap();
        let text = link.to_str().unwrap().strip_prefix('/').unwrap();
        assert_eq!(said(Files::new(Some(Path::new("/"))).read(&name(text), 3)).as_deref(), Ok(&b"abc"[..]));
    }

    #[test]
    fn without_a_folder_the_cure_is_named() {
        let sentence = said(Files::new(None).read(&name("ca.pem"), 1)).unwrap_err();
        assert!(sentence.contains("ca.pem") && sentence.contains("--files DIR"), "{sentence}");
        let sentence = said(Files::new(Some(Path::new("/no/such"))).open(&name("ca.pem"))).unwrap_err();
        assert!(sentence.starts_with("the folder for files, /no/such, cannot be opened: "), "{sentence}");
    }
}
