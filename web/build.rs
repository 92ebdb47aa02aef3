//! Lists every asset with the hash of all of them in its address, so that browsers may keep them for ever.
//!
//! No network here: uPlot comes from `node_modules`, which `make assets` fills from the lock file.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// uPlot's files (below `node_modules/uplot`), and the names they are served by.
const UPLOT: [(&str, &str); 3] = [
    ("dist/uPlot.iife.min.js", "uplot.js"),
    ("dist/uPlot.min.css", "uplot.css"),
    ("LICENSE", "uplot-license.txt"),
];

struct Source {
    name: String,
    file: PathBuf,
    bytes: Vec<u8>,
}

fn main() {
    if let Err(error) = run() {
        println!("cargo::error={error}");
    }
}

fn run() -> Result<(), String> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").map_err(|e| e.to_string())?);
    let out = PathBuf::from(env::var("OUT_DIR").map_err(|e| e.to_string())?);
    println!("cargo::rerun-if-changed=build.rs");
    let mut sources = uplot(&root.join("node_modules/uplot"))?;
    sources.extend(own(&root.join("assets")).map_err(|e| format!("web/assets can't be read: {e}"))?);
    fs::write(out.join("assets.rs"), listing(&sources)).map_err(|e| format!("assets.rs: {e}"))
}

fn uplot(dir: &Path) -> Result<Vec<Source>, String> {
    let mut sources = Vec::new();
    for (path, name) in UPLOT {
        let file = dir.join(path);
        println!("cargo::rerun-if-changed={}", file.display());
        let bytes = fs::read(&file).map_err(|_| {
            format!("web/node_modules/uplot/{path} is missing: run `make assets` (npm ci --prefix web) first")
        })?;
        sources.push(Source { name: name.to_owned(), file, bytes });
    }
    Ok(sources)
}

fn own(dir: &Path) -> io::Result<Vec<Source>> {
    println!("cargo::rerun-if-changed={}", dir.display());
    let mut sources = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let file = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        println!("cargo::rerun-if-changed={}", file.display());
        sources.push(Source { name, bytes: fs::read(&file)?, file });
    }
    sources.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(sources)
}

fn listing(sources: &[Source]) -> String {
    let all = sources.iter().fold(FNV_START, |hash, s| fnv(fnv(hash, s.name.as_bytes()), &s.bytes));
    let base = format!("/assets/{all:016x}");
    let mut code = format!("pub(super) const BASE: &str = {base:?};\npub(super) static ALL: &[Asset] = &[\n");
    for source in sources {
        let (path, kind) = (format!("{base}/{}", source.name), content_type(&source.name));
        let etag = format!("\"{:016x}\"", fnv(FNV_START, &source.bytes));
        // Writing to a String can't fail.
        let _ = writeln!(
            code,
            "    Asset {{ path: {path:?}, content_type: {kind:?}, etag: {etag:?}, bytes: include_bytes!({:?}) }},",
            source.file
        );
    }
    code + "];\n"
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a, 64 bits: names a version, guards nothing.
fn fnv(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
