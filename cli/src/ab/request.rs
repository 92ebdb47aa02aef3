//! The plan that ab's flags stand for: users that send HTTP/1.0 requests, as ab does.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use volley_plan::{Plan, QuickConnect, QuickPlan, QuickTls};

use super::options::{Options, Posted};
use super::refusal::Refusal;
use crate::quick::{basic_authorization as basic, files};

/// Bodies up to this length are part of the request; longer ones are streamed from their file.
const INLINE_BYTES_MAX: usize = 64 * 1024;
/// An address, which is never asked for by SNI; certificates aren't looked at.
const NO_NAME: &str = "127.0.0.1";

/// The plan.
pub(super) fn plan(options: &Options) -> Result<Plan, Refusal> {
    let timeout = format!("{}s", options.timeout_s);
    let Sent { text, file } = options.body.as_ref().map(sent).transpose()?.unwrap_or_default();
    let quick = QuickPlan {
        url: options.address.url(),
        users: Some(options.concurrency),
        requests: Some(options.requests),
        duration: options.time_limit_s.map(|seconds| format!("{seconds}s")),
        http_version: Some("1.0".to_owned()),
        keep_alive: Some(options.keeps_alive && !options.closes),
        status: Some("200..999".to_owned()),
        method: Some(options.method.clone()),
        headers: headers(options),
        body: text,
        body_file: file,
        timeout: Some(timeout.clone()),
        connect_timeout: Some(timeout),
        tls: tls(options)?,
        connect: QuickConnect {
            proxy: options.proxy.clone(),
            proxy_authorization: options.proxy.as_ref().and(options.proxy_user.as_deref()).map(basic),
            from: options.source.iter().cloned().collect(),
            ..QuickConnect::default()
        },
        drain: Some("0s".to_owned()),
        ..QuickPlan::default()
    };
    quick.into_plan().map_err(|faults| Refusal::usage(in_abs_letters(&faults.to_string())))
}

/// What `volley URL` has under other flags.
fn in_abs_letters(faults: &str) -> String {
    const LETTERS: [(&str, &str); 5] = [
        ("--source: ", "-B: "),
        ("-x: ", "-X: "),
        ("-t: ", "-s: "),
        ("-z: ", "-t: "),
        ("--tls-version: ", "-f: "),
    ];
    let line = |line: &str| {
        let known = LETTERS.iter().find_map(|(flag, letter)| Some((line.strip_prefix(flag)?, letter)));
        known.map_or_else(|| line.to_owned(), |(rest, letter)| format!("{letter}{rest}"))
    };
    faults.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn headers(options: &Options) -> Vec<String> {
    let cookies = (!options.cookies.is_empty()).then(|| format!("Cookie: {}", options.cookies.join("; ")));
    let user = options.user.as_deref().map(|user| format!("Authorization: {}", basic(user)));
    // Without a proxy the target is told, as by ab.
    let proxy_user = options.proxy_user.as_deref().filter(|_| options.proxy.is_none());
    let proxy_user = proxy_user.map(|user| format!("Proxy-Authorization: {}", basic(user)));
    let kind = options.body.as_ref().map(|_| format!("Content-Type: {}", options.content_type));
    let first = [cookies, user, proxy_user, kind].into_iter().flatten();
    first.chain(options.headers.iter().cloned()).collect()
}

fn tls(options: &Options) -> Result<QuickTls, Refusal> {
    if !options.address.is_tls {
        return Ok(QuickTls::default());
    }
    let certificate = options.certificate.as_deref().map(|file| files::name(Path::new(file))).transpose()?;
    Ok(QuickTls {
        insecure: true,
        key: certificate.clone(),
        certificate,
        server_name: options.hides_name.then(|| NO_NAME.to_owned()),
        versions: options.tls_version.iter().cloned().collect(),
        ..QuickTls::default()
    })
}

/// A body as a plan has it: a text, or the name of a file below the root.
#[derive(Default)]
struct Sent {
    text: Option<String>,
    file: Option<String>,
}

fn sent(posted: &Posted) -> Result<Sent, Refusal> {
    let Posted { file, flag } = posted;
    let path = Path::new(file);
    let cannot = |error: std::io::Error| {
        let why = match error.kind() {
            ErrorKind::NotFound => "No such file or directory".to_owned(),
            ErrorKind::PermissionDenied => "Permission denied".to_owned(),
            _ => error.to_string(),
        };
        Refusal::plain(format!("Could not open {flag} data file ({file}): {why}"))
    };
    let facts = fs::metadata(path).map_err(cannot)?;
    if facts.is_file() && facts.len() > INLINE_BYTES_MAX as u64 {
        return Ok(Sent { file: Some(files::name(path)?), text: None });
    }
    match String::from_utf8(fs::read(path).map_err(cannot)?) {
        Ok(text) => Ok(Sent { text: Some(text), file: None }),
        Err(_) if facts.is_file() => Ok(Sent { file: Some(files::name(path)?), text: None }),
        Err(_) => Err(Refusal::plain(format!(
            "{file} is neither a file nor UTF-8, one of which {flag} data must be"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use volley_plan::parse;

    use super::*;
    use crate::ab::options::{Asked, read};

    fn plan_of(words: &[&str]) -> Result<Plan, Refusal> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        match read(&words).unwrap() {
            Asked::Run(options) => plan(&options),
            other => panic!("{other:?}"),
        }
    }

    /// The words make the plan that the lines of a file would.
    fn check(words: &[&str], lines: &str) {
        let common = "http_version: 1.0\ndrain: 0s\n";
        let status = if lines.contains("scenarios") { "" } else { "check: { status: 200..999 }\n" };
        let expected = parse(&format!("{common}{status}{lines}")).unwrap();
        assert_eq!(plan_of(words).unwrap(), expected, "{words:?}");
    }

    const TIMES: &str = "timeout: 30s\nconnect_timeout: 30s\n";

    #[test]
    fn flags_make_the_plan_that_a_file_would() {
        let times = TIMES;
        check(
            &["http://h/a"],
            &format!("target: http://h/a\nusers: 1\nrequests: 1\nkeep_alive: false\n{times}"),
        );
        check(
            &["-kn100", "-c", "7", "-t", "5", "-n", "9", "-s", "3", "-i", "h/"],
            "target: http://h/\nusers: 7\nrequests: 9\nduration: 5s\nmethod: HEAD\nkeep_alive: true\ntimeout: 3s\n\
             connect_timeout: 3s",
        );
        check(
            &["-A", "u:p", "-P", "q:r", "-C", "a=1", "-C", "b=2", "-H", "X: ${y}", "-H", "host: z", "h/"],
            &format!(
                "target: http://h/\nusers: 1\nrequests: 1\nkeep_alive: false\n{times}headers:\n  Cookie: a=1; b=2\n  \
                 Authorization: Basic dTpw\n  Proxy-Authorization: Basic cTpy\n  X: $${{y}}\n  host: z"
            ),
        );
        check(
            &["-X", "p:3128", "-P", "q:r", "-B", "127.0.0.5", "h/"],
            &format!(
                "target: http://h/\nusers: 1\nrequests: 1\nkeep_alive: false\n{times}connect: {{ proxy: 'p:3128', \
                 proxy_authorization: Basic cTpy, from: 127.0.0.5 }}"
            ),
        );
        check(
            &["-I", "-f", "TLS1.2", "https://h/"],
            &format!(
                "target: https://h/\nusers: 1\nrequests: 1\nkeep_alive: false\n{times}tls: {{ insecure: true, \
                 server_name: 127.0.0.1, versions: 1.2 }}"
            ),
        );
    }

    #[test]
    fn bodies_are_sent_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let file = fs::canonicalize(folder.path()).unwrap().join(name);
            fs::write(&file, bytes).unwrap();
            file.to_str().unwrap().to_owned()
        };
        let head = format!("target: http://h/\nusers: 1\nrequests: 1\nkeep_alive: false\n{TIMES}");
        let (small, empty) = (write("small", b"a=${b}"), write("empty", b""));
        let (binary, large) = (write("binary", &[0, 255]), write("large", &vec![b'x'; INLINE_BYTES_MAX + 1]));
        let kind = "headers: { Content-Type: text/plain }";
        check(&["-p", &small, "h/"], &format!("{head}method: POST\nbody: a=$${{b}}\n{kind}"));
        check(&["-u", &empty, "h/"], &format!("{head}method: PUT\nbody: ''\n{kind}"));
        check(&["-p", &binary, "h/"], &format!("{head}method: POST\nbody_file: {}\n{kind}", &binary[1..]));
        check(
            &["-p", &large, "-T", "a/b", "h/"],
            &format!("{head}method: POST\nbody_file: {}\nheaders: {{ Content-Type: a/b }}", &large[1..]),
        );
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        let check = |words: &[&str], code: u8, part: &str| {
            let refusal = plan_of(words).unwrap_err();
            assert!(refusal.code == code && refusal.sentence.contains(part), "{words:?}: {refusal:?}");
        };
        check(
            &["-p", "/no/file", "h/"],
            1,
            "Could not open POST data file (/no/file): No such file or directory",
        );
        check(&["-H", "junk", "h/"], 22, "without a colon");
        check(&["-H", "Transfer-Encoding: chunked", "h/"], 22, "belongs to the framing");
        check(&["-X", "p", "h/"], 22, "-X: connect.proxy: found a host without a port");
        check(&["-B", "name", "h/"], 22, "-B: connect.from");
        check(&["-E", "/no/file", "https://h/"], 1, "can't be found");
    }
}
