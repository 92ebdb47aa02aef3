//! What the flags ask for.

use super::address::Address;
use super::refusal::Refusal;
use super::words::{Flag, parted};

/// What `-t` means for `-n`.
const REQUESTS_OF_A_TIME: u64 = 50_000;
/// ab counts in 32 bits, and each request that is done is kept for the report.
const MAX_REQUESTS: u64 = i32::MAX as u64;
const MAX_SECONDS: u64 = 24 * 3600;
const DEFAULT_TIMEOUT_S: u64 = 30;

/// What to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Run(Box<Options>),
    /// As ab shows it: on stderr, like an error.
    Usage,
    /// By `--help`, which ab hasn't.
    Help,
    Version,
}

/// How to load what, and what to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) address: Address,
    pub(super) requests: u64,
    pub(super) concurrency: u64,
    pub(super) time_limit_s: Option<u64>,
    pub(super) timeout_s: u64,
    pub(super) keeps_alive: bool,
    /// A header line says `Connection: close`, which goes before `-k`.
    pub(super) closes: bool,
    /// `-r`.
    pub(super) goes_on: bool,
    /// `-l`.
    pub(super) lengths_may_differ: bool,
    pub(super) method: String,
    /// The file of `-p` or `-u`.
    pub(super) body: Option<Posted>,
    pub(super) content_type: String,
    /// `-H`, in their order.
    pub(super) headers: Vec<String>,
    pub(super) cookies: Vec<String>,
    pub(super) user: Option<String>,
    pub(super) proxy: Option<String>,
    pub(super) proxy_user: Option<String>,
    pub(super) source: Option<String>,
    /// `1.2` or `1.3`; none for both.
    pub(super) tls_version: Option<String>,
    pub(super) certificate: Option<String>,
    pub(super) hides_name: bool,
    pub(super) is_quiet: bool,
    pub(super) verbosity: u32,
    /// Not `-S`.
    pub(super) shows_deviations: bool,
    /// Not `-d`.
    pub(super) shows_percentiles: bool,
    pub(super) gnuplot_file: Option<String>,
    pub(super) csv_file: Option<String>,
}

/// A file that is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Posted {
    pub(super) file: String,
    /// `POST` or `PUT`, by which ab names it.
    pub(super) flag: &'static str,
}

impl Options {
    fn new(address: Address) -> Self {
        Self {
            address,
            requests: 1,
            concurrency: 1,
            time_limit_s: None,
            timeout_s: DEFAULT_TIMEOUT_S,
            keeps_alive: false,
            closes: false,
            goes_on: false,
            lengths_may_differ: false,
            method: "GET".to_owned(),
            body: None,
            content_type: "text/plain".to_owned(),
            headers: Vec::new(),
            cookies: Vec::new(),
            user: None,
            proxy: None,
            proxy_user: None,
            source: None,
            tls_version: None,
            certificate: None,
            hides_name: false,
            is_quiet: false,
            verbosity: 0,
            shows_deviations: true,
            shows_percentiles: true,
            gnuplot_file: None,
            csv_file: None,
        }
    }
}

/// Reads the words of the command line.
pub(super) fn read(words: &[String]) -> Result<Asked, Refusal> {
    let (flags, rest) = parted(words)?;
    if let Some(flag) = flags.iter().find(|flag| flag.letter == 'h') {
        return Ok(if flag.value.is_some() { Asked::Help } else { Asked::Usage });
    }
    if flags.iter().any(|flag| flag.letter == 'V') {
        return Ok(Asked::Version);
    }
    let [url] = rest else { return Err(Refusal::usage("wrong number of arguments")) };
    let mut options = Options::new(Address::parse(url)?);
    for flag in flags {
        take(&mut options, flag)?;
    }
    if options.concurrency > options.requests {
        let sentence = "Cannot use concurrency level greater than total number of requests";
        return Err(Refusal::usage(sentence));
    }
    Ok(Asked::Run(Box::new(options)))
}

fn take(options: &mut Options, Flag { letter, value }: Flag) -> Result<(), Refusal> {
    let value = value.unwrap_or_default();
    match letter {
        'n' => {
            let invalid = || Refusal::plain("Invalid number of requests");
            options.requests = whole(&value, 1..=MAX_REQUESTS).ok_or_else(invalid)?;
        }
        'c' => options.concurrency = number(&value, MAX_REQUESTS, "concurrency level")?,
        't' => {
            options.time_limit_s = Some(number(&value, MAX_SECONDS, "time limit in seconds")?);
            options.requests = REQUESTS_OF_A_TIME;
        }
        's' => options.timeout_s = number(&value, MAX_SECONDS, "timeout in seconds")?,
        'v' => {
            let most = u64::from(u32::MAX);
            let level = whole(&value, 0..=most).ok_or_else(|| wrong("verbosity", &value))?;
            options.verbosity = u32::try_from(level).unwrap_or(u32::MAX);
        }
        'k' => options.keeps_alive = true,
        'r' => options.goes_on = true,
        'l' => options.lengths_may_differ = true,
        'q' => options.is_quiet = true,
        'S' => options.shows_deviations = false,
        'd' => options.shows_percentiles = false,
        'I' => options.hides_name = true,
        'm' => options.method = value,
        'i' => method(options, "HEAD")?,
        'p' => post(options, "POST", value)?,
        'u' => post(options, "PUT", value)?,
        'g' => options.gnuplot_file = Some(value),
        'e' => options.csv_file = Some(value),
        _ => return take_of_requests(options, letter, value),
    }
    Ok(())
}

/// What requests and connections are made of.
fn take_of_requests(options: &mut Options, letter: char, value: String) -> Result<(), Refusal> {
    match letter {
        'T' => options.content_type = value,
        'H' => header(options, value)?,
        'C' => options.cookies.push(value),
        'A' => options.user = Some(value),
        'P' => options.proxy_user = Some(value),
        'X' => options.proxy = Some(value),
        'B' => options.source = Some(value),
        'E' => options.certificate = Some(value),
        'f' => options.tls_version = tls_version(&value)?,
        'b' => {
            return Err(Refusal::not_here("-b is not here: the system chooses the sizes of socket buffers"));
        }
        'Z' => {
            return Err(Refusal::not_here("-Z is not here: which cipher suites are offered can't be chosen"));
        }
        // The letters of HTML tables.
        _ => return Err(Refusal::not_here(format!("-{letter} is not here: reports are plain text"))),
    }
    Ok(())
}

/// A method by a flag of its own, of which there is one.
fn method(options: &mut Options, name: &'static str) -> Result<(), Refusal> {
    if options.method != "GET" || options.body.is_some() {
        return Err(Refusal::plain(format!("Cannot mix {name} with other methods")));
    }
    options.method = name.to_owned();
    Ok(())
}

fn post(options: &mut Options, flag: &'static str, file: String) -> Result<(), Refusal> {
    method(options, flag)?;
    options.body = Some(Posted { file, flag });
    Ok(())
}

/// A header line. What becomes of the connection is not said by one here, so a `close` is taken as what it means.
fn header(options: &mut Options, line: String) -> Result<(), Refusal> {
    let is_connection = |name: &str| name.trim().eq_ignore_ascii_case("connection");
    match line.split_once(':') {
        Some((name, value)) if is_connection(name) && value.trim().eq_ignore_ascii_case("close") => {
            options.closes = true;
        }
        Some((name, _)) if is_connection(name) => {
            return Err(Refusal::not_here(format!("-H '{line}' is not here: -k keeps connections alive")));
        }
        _ => options.headers.push(line),
    }
    Ok(())
}

fn tls_version(name: &str) -> Result<Option<String>, Refusal> {
    match name.to_ascii_uppercase().as_str() {
        "ALL" => Ok(None),
        "TLS1.2" => Ok(Some("1.2".to_owned())),
        "TLS1.3" => Ok(Some("1.3".to_owned())),
        _ => Err(Refusal::not_here(format!("-f {name} is not here: TLS1.2, TLS1.3 and ALL are"))),
    }
}

fn number(text: &str, most: u64, what: &str) -> Result<u64, Refusal> {
    whole(text, 1..=most).ok_or_else(|| wrong(what, text))
}

fn wrong(what: &str, text: &str) -> Refusal {
    Refusal::usage(format!("Invalid {what}: {text}"))
}

fn whole(text: &str, range: std::ops::RangeInclusive<u64>) -> Option<u64> {
    text.parse().ok().filter(|number| range.contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Result<Options, Refusal> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        match read(&words)? {
            Asked::Run(options) => Ok(*options),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn flags_are_taken_in_their_order() {
        let plain = || Options::new(Address::parse("http://h/").unwrap());
        let check = |line: &str, change: &dyn Fn(&mut Options)| {
            let mut expected = plain();
            change(&mut expected);
            assert_eq!(options(&format!("{line} http://h/")).unwrap(), expected, "{line}");
        };
        check("", &|_| ());
        check("-n 10 -c2 -k", &|o| (o.requests, o.concurrency, o.keeps_alive) = (10, 2, true));
        check("-n 10 -t 5", &|o| (o.requests, o.time_limit_s) = (50_000, Some(5)));
        check("-t 5 -n 10", &|o| (o.requests, o.time_limit_s) = (10, Some(5)));
        check("-qldSr -v 4", &|o| {
            (o.is_quiet, o.lengths_may_differ, o.goes_on, o.verbosity) = (true, true, true, 4);
            (o.shows_percentiles, o.shows_deviations) = (false, false);
        });
        check("-p f -m PATCH -T a/b", &|o| {
            o.body = Some(Posted { file: "f".to_owned(), flag: "POST" });
            (o.method, o.content_type) = ("PATCH".to_owned(), "a/b".to_owned());
        });
        check("-i", &|o| o.method = "HEAD".to_owned());
        check("-i -m PUT", &|o| o.method = "PUT".to_owned());
        check("-k -H Connection:Close -H a:b", &|o| {
            (o.keeps_alive, o.closes, o.headers) = (true, true, vec!["a:b".to_owned()]);
        });
        check("-C a=1 -C b=2", &|o| o.cookies = vec!["a=1".to_owned(), "b=2".to_owned()]);
        check("-f TLS1.3 -I", &|o| (o.tls_version, o.hides_name) = (Some("1.3".to_owned()), true));
        check("-f all", &|_| ());
    }

    #[test]
    fn what_cannot_be_is_refused_with_abs_code() {
        let check = |line: &str, code: u8, part: &str| {
            let refusal = options(line).unwrap_err();
            assert!(refusal.code == code && refusal.sentence.contains(part), "{line}: {refusal:?}");
        };
        check("", 22, "wrong number of arguments");
        check("http://h/ http://h/", 22, "wrong number of arguments");
        check("http://h", 22, "invalid URL");
        check("-n 0 http://h/", 1, "Invalid number of requests");
        check("-n 3x http://h/", 1, "Invalid number of requests");
        check("-n 9999999999 http://h/", 1, "Invalid number of requests");
        check("-c 0 http://h/", 22, "Invalid concurrency level: 0");
        check("-n 2 -c 3 http://h/", 22, "greater than total number");
        check("-t 0 http://h/", 22, "Invalid time limit");
        check("-s 0 http://h/", 22, "Invalid timeout");
        check("-v a http://h/", 22, "Invalid verbosity");
        check("-p a -u b http://h/", 1, "Cannot mix PUT with other methods");
        check("-i -p a http://h/", 1, "Cannot mix POST with other methods");
        check("-m GETS -i http://h/", 1, "Cannot mix HEAD with other methods");
        check("-b 1 http://h/", 22, "-b is not here");
        check("-w http://h/", 22, "-w is not here");
        check("-x a http://h/", 22, "-x is not here");
        check("-H Connection:keep-alive http://h/", 22, "-k keeps");
        check("-Z a http://h/", 22, "-Z is not here");
        check("-f TLS1 http://h/", 22, "-f TLS1 is not here");
    }

    #[test]
    fn help_and_version_go_before_all_else() {
        let check = |line: &str, expected: &Asked| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(&read(&words).unwrap(), expected);
        };
        check("-h", &Asked::Usage);
        check("-n 0 --help", &Asked::Help);
        check("-kV", &Asked::Version);
    }
}
