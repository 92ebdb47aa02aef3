//! The store's file: its connections, its schema, and the lock that keeps a second coordinator away.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

use super::StoreError;

/// Marks the file as ours (`PRAGMA application_id`): "VLLY".
const APPLICATION_ID: i64 = 0x564c_4c59;

/// The steps from an empty file to the schema of today. A step is never altered once it was released: a file knows by
/// `PRAGMA user_version` how many it has behind it.
const MIGRATIONS: &[&str] = &[
    include_str!("schema.sql"),
    include_str!("migration_2.sql"),
    include_str!("migration_3.sql"),
    include_str!("migration_4.sql"),
    include_str!("migration_5.sql"),
];

/// How long a statement waits for another connection. Only the checkpoint's last moments can hold one up.
const BUSY: Duration = Duration::from_secs(5);

/// How long to wait for a coordinator that is about to end.
const ENDING: Duration = Duration::from_secs(2);
/// How often to look whether it has.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// For every connection. The cache is in KiB.
const PRAGMAS: &str = "PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -2048;
    PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 67108864;";

/// Where a new file differs from SQLite's defaults. Pages hold a few rows each; freed ones can be given back.
const NEW_FILE: &str =
    "PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;";

/// A reason to give, from whatever error.
pub(super) fn failed(what: &str, path: &Path) -> impl FnOnce(&dyn std::error::Error) -> StoreError {
    move |error| StoreError::Failed(format!("{what} {}: {error}", path.display()))
}

/// The exclusive right to the store; it ends with this value, or with the process, however that ends.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the right to this file, or says who has it. The lock is on a file beside it, since SQLite's own locks come
    /// and go with its transactions.
    pub(super) fn take(path: &Path) -> Result<Self, StoreError> {
        let beside = with_ending(path, ".lock");
        let cannot = |error: &std::io::Error| failed("no lock file", &beside)(error);
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(&beside).map_err(|error| cannot(&error))?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if begun.elapsed() < ENDING => std::thread::sleep(LOOK_EVERY),
                Err(TryLockError::WouldBlock) => {
                    let mut text = String::new();
                    let pid = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
                    return Err(StoreError::InUse { path: path.to_owned(), pid });
                }
                Err(TryLockError::Error(error)) => return Err(cannot(&error)),
            }
        }
        // For people alone, so it does no harm where it can't be written.
        let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(Self { _file: file })
    }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Makes the file and the folders above it where they are missing, readable by their owner alone; gives back the one
/// true path, so that a link can't lead a second coordinator past the lock.
pub(super) fn prepare(path: &Path) -> Result<PathBuf, StoreError> {
    let cannot = |error: &std::io::Error| failed("no store at", path)(error);
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let mut builder = fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(folder).map_err(|error| cannot(&error))?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    options.open(path).and_then(|_| fs::canonicalize(path)).map_err(|error| cannot(&error))
}

/// A connection that writes. The schema is brought up to date.
pub(super) fn writer(path: &Path) -> Result<Connection, StoreError> {
    let mut db = connect(path)?;
    let cannot = |error: &rusqlite::Error| failed("no store at", path)(error);
    let version = version(&db, path)?;
    if version == 0 {
        db.execute_batch(NEW_FILE).map_err(|error| cannot(&error))?;
    }
    for (number, step) in (1..).zip(MIGRATIONS).skip(version) {
        migrate(&mut db, number, step).map_err(|error| cannot(&error))?;
    }
    Ok(db)
}

/// A connection that only reads.
pub(super) fn reader(path: &Path) -> Result<Connection, StoreError> {
    let db = connect(path)?;
    db.execute_batch("PRAGMA query_only = ON").map_err(|error| failed("no store at", path)(&error))?;
    Ok(db)
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || -> rusqlite::Result<Connection> {
        let db = Connection::open_with_flags(path, flags)?;
        db.busy_timeout(BUSY)?;
        db.execute_batch(PRAGMAS)?;
        db.set_prepared_statement_cache_capacity(64);
        Ok(db)
    };
    open().map_err(|error| failed("no store at", path)(&error))
}

/// How many migrations a file has behind it; 0 for an empty one. Anything that isn't ours is left alone.
fn version(db: &Connection, path: &Path) -> Result<usize, StoreError> {
    let number = |pragma: &str| db.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get::<_, i64>(0));
    let tables = || db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0));
    let read = || Ok((number("application_id")?, number("user_version")?, tables()?));
    let (id, version, tables) =
        read().map_err(|error: rusqlite::Error| failed("no store at", path)(&error))?;
    let refused = |why: String| Err(StoreError::Failed(format!("{}: {why}", path.display())));
    match usize::try_from(version) {
        Ok(0) if tables == 0 => Ok(0),
        Ok(version) if id == APPLICATION_ID && version <= MIGRATIONS.len() => Ok(version),
        Ok(version) if id == APPLICATION_ID => {
            let known = MIGRATIONS.len();
            refused(format!("its form {version} is of a later version; this one knows forms up to {known}"))
        }
        _ => refused("it is no store of Volley".to_owned()),
    }
}

fn migrate(db: &mut Connection, number: i64, step: &str) -> rusqlite::Result<()> {
    let transaction = db.transaction()?;
    transaction.execute_batch(step)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", number)?;
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_coordinator_is_kept_away_and_told_who_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = prepare(&folder.path().join("deep/er/volley.db")).unwrap();
        let link = folder.path().join("link.db");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let lock = Lock::take(&path).unwrap();
        for way in [&path, &link] {
            let said = Lock::take(&prepare(way).unwrap()).unwrap_err().to_string();
            let us = std::process::id();
            assert_eq!(said, format!("{} is in use by another coordinator (process {us})", path.display()));
        }
        drop(lock);
        Lock::take(&path).unwrap();
    }

    /// What opening a file with this content and these pragmas says.
    fn check(content: &[u8], pragmas: &str, expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("volley.db");
        fs::write(&path, content).unwrap();
        if !pragmas.is_empty() {
            Connection::open(&path).unwrap().execute_batch(pragmas).unwrap();
        }
        let before = fs::read(&path).unwrap();
        let said = writer(&path).unwrap_err().to_string();
        assert!(said.contains(expected) && said.contains("volley.db"), "{said}");
        assert_eq!(fs::read(&path).unwrap(), before, "it is left alone");
    }

    #[test]
    fn other_files_are_left_alone() {
        check(b"", "CREATE TABLE t (x)", "no store of Volley");
        check(b"", "CREATE TABLE t (x); PRAGMA user_version = 1", "no store of Volley");
        let later =
            format!("CREATE TABLE t (x); PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 99");
        check(b"", &later, "form 99 is of a later version");
        check(b"something else altogether, and long enough to be looked at", "", "not a database");
    }

    #[test]
    fn a_new_file_is_a_store_and_stays_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = prepare(&folder.path().join("volley.db")).unwrap();
        for _ in 0..2 {
            let db = writer(&path).unwrap();
            let text = |pragma| db.query_row(pragma, [], |row| row.get::<_, String>(0)).unwrap();
            let number = |pragma| db.query_row(pragma, [], |row| row.get::<_, i64>(0)).unwrap();
            assert_eq!(text("PRAGMA journal_mode"), "wal");
            assert_eq!((number("PRAGMA auto_vacuum"), number("PRAGMA page_size")), (2, 8192));
            assert_eq!(number("PRAGMA user_version"), i64::try_from(MIGRATIONS.len()).unwrap());
        }
        assert!(reader(&path).unwrap().execute("DELETE FROM runs", []).is_err(), "readers only read");
    }
}
