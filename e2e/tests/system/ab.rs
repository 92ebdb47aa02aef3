//! `volley ab` beside the real ab: the same flags, the same server, the same report, and what the server itself counted.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic where it stands")]

mod both;
mod fields;

use std::fs;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;
use volley_e2e::{Nginx, Outcome, Process, Reply, Request, Server, Then, ab, binary, closed_port};

use both::{Script, Seen, answer, both, ended, seen, told, volley_ab};
use fields::{check_alike, fields, number, row};

const HELLO: Script = |_, request| answer(request, 200, "hello world");
/// Every third one is longer.
const VARYING: Script = |n, request| answer(request, 200, if n % 3 == 2 { "hello world" } else { "hello" });
const LATE: Script = |_, request| answer(request, 200, "hello").after(Duration::from_millis(30));

/// Both programs with the same flags: their reports are alike, their requests are, and each is as many as the server saw.
fn check(flags: &[&str], script: Script) -> (Seen, Seen) {
    let (theirs, ours) = both(flags, script);
    check_alike(&theirs.outcome, &ours.outcome);
    for seen in [&theirs, &ours] {
        let complete = number(&seen.outcome.stdout, "Complete requests");
        assert_eq!(complete, seen.requests.len() as f64, "{flags:?} {:?}", seen.outcome);
    }
    let requests = |seen: &Seen| seen.requests.iter().map(told).collect::<Vec<_>>();
    assert_eq!(requests(&theirs), requests(&ours), "{flags:?}");
    (theirs, ours)
}

#[test]
fn ab_reports_are_alike_whatever_is_asked_for() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("body");
    fs::write(&file, "a=1&b=2").unwrap();
    let body = file.to_str().unwrap();
    let agent = "User-Agent: test";
    for flags in [
        vec!["-n", "20", "-c", "4", "{url}/a?b=c"],
        vec!["-n20", "-c4", "-k", "{url}/"],
        vec!["{url}/"],
        vec!["-n", "9", "-k", "-p", body, "-H", agent, "{url}/"],
        vec!["-n", "9", "-p", body, "-T", "text/x", "-H", agent, "{url}/"],
        vec!["-n", "9", "-u", body, "-H", agent, "{url}/"],
        vec!["-n", "2", "-p", body, "-m", "PATCH", "-H", agent, "{url}/"],
        vec!["-n", "5", "-i", "{url}/"],
        vec!["-n", "5", "-ik", "{url}/"],
        vec!["-n", "5", "-m", "DELETE", "{url}/"],
        vec!["-n", "5", "-H", "Host: shop.test", "-H", "Accept: a/b", "-H", "X-A: 1", "-C", "a=1", "{url}/"],
        vec!["-n", "5", "-A", "user:pass", "-P", "proxy:pass", "{url}/"],
        vec!["-n", "5", "-X", "{proxy}", "-P", "u:p", "http://shop.test:81/a?b"],
        vec!["-n", "5", "-k", "-X", "{proxy}", "-p", body, "-H", agent, "http://shop.test/"],
        vec!["-n", "5", "-B", "127.0.0.1", "-I", "-f", "ALL", "-s", "5", "{url}/"],
        vec!["-n", "5", "-S", "{url}/"],
        vec!["-n", "5", "-d", "{url}/"],
        vec!["-n", "5", "-Sdlq", "-v", "1", "{url}/"],
        vec!["-t", "60", "-n", "7", "{url}/"],
    ] {
        check(&flags, HELLO);
    }
}

#[test]
fn ab_closes_connections_where_a_header_says_so() {
    let ours = seen(&["-n", "5", "-k", "-H", "Connection: close", "{url}/"], HELLO, volley_ab);
    assert_eq!((ours.requests.len(), ours.connections), (5, 5));
    assert_eq!(number(&ours.outcome.stdout, "Keep-Alive requests"), 0.0);
}

#[test]
fn ab_counts_the_same_failures() {
    // Each of these by its failures, and the lines of the report that say so.
    let (_, ours) = check(&["-n", "9", "{url}/"], VARYING);
    assert!(ours.outcome.stdout.contains("   (Connect: 0, Receive: 0, Length: 3, Exceptions: 0)\n"));
    let (_, ours) = check(&["-n", "9", "-l", "{url}/"], VARYING);
    assert_eq!(number(&ours.outcome.stdout, "Failed requests"), 0.0);
    let (_, ours) = check(&["-n", "9", "-k", "{url}/"], |_, request| answer(request, 404, "no"));
    assert_eq!(number(&ours.outcome.stdout, "Non-2xx responses"), 9.0);
    // The third of each three is cut off in its body.
    let (_, ours) = check(&["-n", "9", "{url}/"], |n, request| match n % 3 {
        2 => Reply::raw("HTTP/1.1 200 -\r\nContent-Length: 5\r\n\r\nhe").then(Then::Close),
        _ => answer(request, 200, "hello"),
    });
    assert_eq!(number(&ours.outcome.stdout, "Failed requests"), 3.0);
    assert_eq!(number(&ours.outcome.stdout, "HTML transferred"), 36.0);
    // The same without a byte of an answer.
    let (_, ours) = check(&["-n", "9", "{url}/"], |n, request| match n % 3 {
        2 => Reply::nothing().then(Then::Close),
        _ => answer(request, 200, "hello"),
    });
    assert_eq!(number(&ours.outcome.stdout, "Failed requests"), 3.0);
}

#[test]
fn ab_counts_a_kept_connection_where_the_answer_keeps_it() {
    let (theirs, ours) =
        check(&["-n", "7", "-k", "{url}/"], |n, request| ended(request, 200, "hello", n % 3 != 2));
    assert_eq!(number(&ours.outcome.stdout, "Keep-Alive requests"), 5.0);
    assert_eq!((theirs.connections, ours.connections), (3, 3));
}

#[test]
fn ab_tells_how_far_it_is() {
    let stderr = |flags: &[&str]| {
        let (theirs, ours) = check(flags, HELLO);
        assert_eq!(theirs.outcome.stderr, ours.outcome.stderr, "{flags:?}");
        ours.outcome.stderr
    };
    assert_eq!(stderr(&["-n", "150", "-k", "{url}/"]), "");
    assert_eq!(stderr(&["-n", "151", "-k", "{url}/"]), "Completed 100 requests\nFinished 151 requests\n");
    assert_eq!(stderr(&["-n", "300", "-kq", "{url}/"]), "");
    let told = stderr(&["-n", "2503", "-k", "-c", "3", "{url}/"]);
    assert!(
        told.starts_with("Completed 250 requests\n")
            && told.ends_with("2500 requests\nFinished 2503 requests\n")
    );
}

#[test]
fn ab_measures_what_the_server_takes() {
    let (theirs, ours) = check(&["-n", "12", "-c", "3", "{url}/"], LATE);
    for seen in [theirs, ours] {
        let report = &seen.outcome.stdout;
        for label in ["Processing", "Waiting", "Total"] {
            let [min, mean, _, median, max] = row(report, label)[..] else { panic!("{report}") };
            assert!(min >= 30.0 && mean >= min && median >= min && max >= mean, "{report}");
        }
        // Four rounds of 30 ms.
        let taken_s = number(report, "Time taken for tests");
        assert!((0.12..5.0).contains(&taken_s), "{report}");
        let rate = number(report, "Requests per second");
        assert!((rate * taken_s - 12.0).abs() < 0.2, "{report}");
    }
}

#[test]
fn ab_ends_at_its_time_and_counts_what_was_done() {
    for run in [ab as fn(&[&str]) -> Outcome, volley_ab] {
        let seen = seen(&["-t", "1", "-c", "2", "{url}/"], LATE, run);
        let report = &seen.outcome.stdout;
        assert_eq!(seen.outcome.code, Some(0), "{:?}", seen.outcome);
        let done = number(report, "Complete requests");
        // Those that were in flight at the end are no part of it.
        let sent = seen.requests.len() as f64;
        assert!(done > 2.0 && done < 70.0 && (done..=done + 2.0).contains(&sent), "{sent} {report}");
        let taken_s = number(report, "Time taken for tests");
        assert!((0.9..1.5).contains(&taken_s), "{report}");
        assert_eq!(seen.outcome.stderr, format!("Finished {done} requests\n"));
    }
}

#[test]
fn ab_writes_its_tables() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (csv, gnuplot) = (path("csv"), path("gnuplot"));
    let flags = ["-n", "40", "-c", "2", "-e", &csv, "-g", &gnuplot, "{url}/"];
    let written = |run: fn(&[&str]) -> Outcome| {
        let seen = seen(&flags, LATE, run);
        assert_eq!(seen.outcome.code, Some(0), "{:?}", seen.outcome);
        let read = |file: &str| fs::read_to_string(file).unwrap();
        (seen.outcome.stdout, read(&csv), read(&gnuplot))
    };
    let (_, their_csv, their_gnuplot) = written(ab);
    let (report, our_csv, our_gnuplot) = written(volley_ab);
    let percents =
        |csv: &str| csv.lines().map(|line| line.split(',').next().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(percents(&their_csv), percents(&our_csv));
    let times: Vec<f64> =
        our_csv.lines().skip(1).map(|line| line.split_once(',').unwrap().1.parse().unwrap()).collect();
    assert!(times.is_sorted() && times[0] >= 30.0 && times.len() == 101, "{our_csv}");
    let total = row(&report, "Total");
    assert_eq!((times[0].round(), times[100].round()), (total[0], total[4]));
    check_gnuplot(&their_gnuplot);
    check_gnuplot(&our_gnuplot);
    assert_eq!(their_gnuplot.lines().next(), our_gnuplot.lines().next());
    // Both began in the same hour, or at the end of one.
    let hour = |text: &str| text.lines().nth(1).unwrap().split(':').next().unwrap().to_owned();
    let is_close = |a: i64, b: i64| (a - b).abs() < 600;
    let second =
        |text: &str| text.lines().nth(1).unwrap().split('\t').nth(1).unwrap().parse::<i64>().unwrap();
    assert!(is_close(second(&their_gnuplot), second(&our_gnuplot)));
    assert!(hour(&their_gnuplot) == hour(&our_gnuplot) || second(&our_gnuplot) % 3600 < 600);
}

/// A line for each of 40 requests, the quickest first, whose parts add up but for rounding.
fn check_gnuplot(text: &str) {
    let lines: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines.len(), 40, "{text}");
    let number = |line: &Vec<&str>, at: usize| line[at].parse::<i64>().unwrap();
    assert!(lines.is_sorted_by_key(|line| number(line, 4)), "{text}");
    for line in &lines {
        assert_eq!((line.len(), line[0].len()), (6, "Tue Dec 01 05:21:25 2026".len()), "{line:?}");
        assert!((number(line, 2) + number(line, 3) - number(line, 4)).abs() <= 1, "{line:?}");
        assert!(number(line, 5) >= 29 && number(line, 4) >= 30, "{line:?}");
    }
}

#[test]
fn ab_by_tls_names_what_was_settled() {
    let nginx = Nginx::start();
    let check = |flags: &[&str], host: &str, labels: &[&str]| {
        let url = nginx.tls_url(host, "/");
        let flags = [flags, &["-n", "10", "-c", "2", &url]].concat();
        let (theirs, ours) = (ab(&flags), volley_ab(&flags));
        check_alike(&theirs, &ours);
        let fields = fields(&ours.stdout);
        for label in ["SSL/TLS Protocol", "TLS Server Name"] {
            assert_eq!(fields.contains_key(label), labels.contains(&label), "{}", ours.stdout);
        }
        // A handshake for each connection, which are two or ten.
        assert!(row(&ours.stdout, "Connect")[4] >= row(&ours.stdout, "Connect")[0], "{}", ours.stdout);
    };
    check(&[], "localhost", &["SSL/TLS Protocol", "TLS Server Name"]);
    check(&["-k"], "127.0.0.1", &["SSL/TLS Protocol"]);
    check(&["-f", "TLS1.2"], "localhost", &["SSL/TLS Protocol", "TLS Server Name"]);
    check(&["-f", "TLS1.3", "-i"], "127.0.0.1", &["SSL/TLS Protocol"]);
    assert_eq!(nginx.logged().requests, 80);
}

#[test]
fn ab_does_not_ask_by_name_where_it_should_not() {
    let nginx = Nginx::start();
    let outcome = volley_ab(&["-I", &nginx.tls_url("localhost", "/")]).exited(0);
    assert!(!outcome.stdout.contains("TLS Server Name"), "{}", outcome.stdout);
    assert_eq!(nginx.logged().requests, 1);
}

#[test]
fn ab_counts_what_nginx_logged() {
    for run in [ab as fn(&[&str]) -> Outcome, volley_ab] {
        let nginx = Nginx::start();
        let outcome = run(&["-n", "3000", "-c", "20", "-k", "-q", &nginx.url("/")]).exited(0);
        let report = &outcome.stdout;
        assert_eq!(number(report, "Complete requests"), 3000.0);
        assert_eq!(number(report, "Keep-Alive requests"), 3000.0);
        assert_eq!(number(report, "Failed requests"), 0.0);
        assert_eq!(number(report, "HTML transferred"), 3000.0 * 11.0);
        let logged = nginx.logged();
        assert_eq!((logged.requests, logged.statuses.get("200")), (3000, Some(&3000)));
    }
}

#[test]
fn ab_ends_with_the_first_connection_that_breaks() {
    let reset: Script = |n, request| match n {
        2 => Reply::nothing().then(Then::Reset),
        _ => answer(request, 200, "hello"),
    };
    let (theirs, ours) = both(&["-n", "9", "{url}/"], reset);
    for seen in [&theirs, &ours] {
        assert_eq!(seen.outcome.code, Some(104), "{:?}", seen.outcome);
        assert_eq!(seen.outcome.stderr, "apr_socket_recv: Connection reset by peer (104)\n");
        assert!(seen.outcome.stdout.ends_with("(be patient)...Total of 2 requests completed\n"));
    }
    // With -r it goes on. ab counts what broke three times, and here it counts once.
    let ours = seen(&["-r", "-n", "9", "{url}/"], reset, volley_ab);
    let report = &ours.outcome.stdout;
    assert_eq!((ours.outcome.code, ours.requests.len()), (Some(0), 9));
    assert!(report.contains("Complete requests:      9\nFailed requests:        1\n"), "{report}");
    assert!(report.contains("   (Connect: 0, Receive: 1, Length: 0, Exceptions: 0)\n"), "{report}");
}

#[test]
fn ab_tells_writes_that_fail_in_a_line_of_their_own() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("large");
    fs::write(&file, vec![0; 20_000_000]).unwrap();
    // It doesn't read the body.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let resetting = std::thread::spawn(move || {
        for _ in 0..2 {
            let (stream, _) = listener.accept().unwrap();
            let _ = stream.peek(&mut [0]);
            socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
        }
    });
    let outcome = volley_ab(&["-n", "2", "-p", file.to_str().unwrap(), &url]).exited(0);
    resetting.join().unwrap();
    let report = &outcome.stdout;
    assert!(report.contains("Failed requests:        0\nWrite errors:           2\n"), "{report}");
}

/// Flags, the exit code of both, and a part of what ab says on either stream, which is said here too.
#[test]
fn ab_exits_with_the_same_codes() {
    let (closed, hanging) = (closed_port(), Server::start(|_| Reply::nothing().then(Then::Hang)));
    let (refused, hangs) = (format!("http://127.0.0.1:{closed}/"), hanging.url("/"));
    for (flags, code, part) in [
        (vec!["-n", "5", &refused], 111, "apr_socket_recv: Connection refused (111)"),
        (vec!["-s", "1", &hangs], 119, "apr_pollset_poll: The timeout specified has expired (70007)"),
        (vec!["-n", "0", "h/"], 1, "Invalid number of requests"),
        (vec!["-n", "x", "h/"], 1, "Invalid number of requests"),
        (
            vec!["-n", "2", "-c", "3", "h/"],
            22,
            "Cannot use concurrency level greater than total number of requests",
        ),
        (vec![], 22, "wrong number of arguments"),
        (vec!["h/", "h/"], 22, "wrong number of arguments"),
        (vec!["http://h"], 22, "invalid URL"),
        (
            vec!["-p", "/no/such", "h/"],
            1,
            "Could not open POST data file (/no/such): No such file or directory",
        ),
        (vec!["-i", "-p", "/dev/null", "h/"], 1, "Cannot mix POST with other methods"),
        (vec!["http://no.such.name.invalid/"], 50, "apr_sockaddr_info_get() for no.such.name.invalid: "),
        (vec!["-h"], 22, "Usage: "),
        (vec!["-V"], 0, "Licensed "),
    ] {
        for run in [ab as fn(&[&str]) -> Outcome, volley_ab] {
            let outcome = run(&flags).exited(code);
            let said = format!("{}{}", outcome.stdout, outcome.stderr);
            assert!(said.contains(part), "{flags:?}: {said}");
        }
    }
    // What ab has and this hasn't is refused in a sentence.
    for flags in [["-w", "h/"].as_slice(), &["-b", "1", "h/"], &["-Z", "a", "h/"], &["-f", "SSL3", "h/"]] {
        let outcome = volley_ab(flags).exited(22);
        assert!(outcome.stderr.contains(" is not here: ") && outcome.stdout.is_empty(), "{outcome:?}");
    }
}

#[test]
fn ab_reports_what_was_done_when_it_is_interrupted() {
    for program in [vec!["ab"], vec![binary().to_str().unwrap(), "ab"]] {
        let (first, answered) = std::sync::mpsc::channel();
        let server = Server::start(move |request: &Request| match request.connection {
            1..=3 => answer(request, 200, "hello"),
            _ => {
                first.send(()).unwrap();
                Reply::nothing().then(Then::Hang)
            }
        });
        let mut command = Command::new(program[0]);
        command.args(&program[1..]).args(["-n", "9", &server.url("/")]);
        let mut process = Process::start(&mut command);
        answered.recv().unwrap();
        process.signal(Signal::INT);
        let (status, stdout, stderr) = process.wait(Duration::from_secs(20));
        let report = String::from_utf8(stdout).unwrap();
        assert_eq!((status.code(), stderr.as_str()), (Some(1), ""), "{program:?} {report}");
        assert!(report.contains("(be patient)...\n\nServer Software:        scripted/1.0\n"), "{report}");
        assert_eq!(number(&report, "Complete requests"), 3.0, "{report}");
    }
}

#[test]
fn ab_shows_what_goes_to_and_fro() {
    let (theirs, ours) = both(&["-v", "3", "-n", "2", "{url}/"], HELLO);
    let shown = |seen: &Seen| {
        let text = &seen.outcome.stdout;
        let from = text.find("LOG: header received:").unwrap();
        text[from..text.find("..done").unwrap()].to_owned()
    };
    assert_eq!(shown(&theirs), shown(&ours));
    assert_eq!(shown(&ours).matches("LOG: Response code = 200\n").count(), 2);
    assert!(
        ours.outcome.stdout.contains("INFO: GET header == \n---\nGET / HTTP/1.0\n"),
        "{:?}",
        ours.outcome
    );
}
