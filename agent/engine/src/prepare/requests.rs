//! The plan's requests, made ready to be sent.

use std::borrow::Cow;
use std::sync::Arc;

use volley_plan::{Body, HttpOptions, HttpVersion, Plan, Request};

use super::Refusal;
use crate::control::NEVER;
use crate::dial::PROXY_AUTHORIZATION;
use crate::files::Files;
use crate::http1::{Content, NUMBER_PLACEHOLDER, Parts, Prepared};
use crate::nanoseconds;
use crate::prepared_step::{BodySource, PreparedStep, Waits};

/// The plan's requests, in order; the place of each is its [`StepId`](volley_stats::StepId). The files that they send are
/// open from here on, and as long as they are now.
pub(crate) fn requests(plan: &Plan, files: &Files) -> Result<Vec<PreparedStep>, Refusal> {
    let steps = plan.requests().map(|request| step(plan, request, files));
    let steps: Vec<PreparedStep> = steps.collect::<Result<_, _>>()?;
    if steps.is_empty() { Err(Refusal::NoRequest) } else { Ok(steps) }
}

fn step(plan: &Plan, request: &Request, files: &Files) -> Result<PreparedStep, Refusal> {
    let (body, content) = match &request.body {
        Body::Inline(bytes) => (BodySource::Prepared, Content::Inline(bytes)),
        Body::Filled(bytes) => (BodySource::Filling, Content::Streamed(*bytes)),
        Body::File(name) => {
            let (file, bytes) = files.open(name)?;
            (BodySource::File(Arc::new(file)), Content::Streamed(bytes))
        }
    };
    let prepared = prepare(plan, request, content)
        .map_err(|source| Refusal::Request { name: request.name.clone(), source })?;
    let waits = waits(&plan.http, request, &prepared);
    Ok(PreparedStep { request: prepared, body, waits, check: request.check.clone() })
}

fn prepare(
    plan: &Plan,
    request: &Request,
    body: Content<'_>,
) -> Result<Prepared, crate::http1::RequestError> {
    let number = plan.http.number_header.as_deref();
    let line = number.map(|name| (name.to_owned(), NUMBER_PLACEHOLDER.to_owned()));
    let headers: Vec<_> = request.headers.iter().cloned().chain(to_proxy(plan)).chain(line).collect();
    let prepared = Prepared::new(&Parts {
        method: request.method.as_str(),
        host: plan.http.host.as_deref().unwrap_or_else(|| plan.target.authority()),
        request_target: &request_target(plan, request),
        headers: &headers,
        body,
        asks_first: request.ask_first.is_some(),
        keep_alive: plan.http.keep_alive,
        http_1_0: plan.http.version == HttpVersion::V1_0,
    })?;
    Ok(match number {
        Some(name) => prepared.numbered_by(name),
        None => prepared,
    })
}

/// What a proxy is told of who sends, in each request that it reads.
fn to_proxy(plan: &Plan) -> Option<(String, String)> {
    let proxy = plan.http.connect.proxy.as_ref().filter(|_| !plan.target.is_tls())?;
    Some((PROXY_AUTHORIZATION.to_owned(), proxy.authorization.clone()?))
}

/// What stands in the request line: the path, and for a proxy the whole URL (RFC 9112 section 3.2.2). What is TLS goes
/// through a proxy unseen.
fn request_target<'a>(plan: &Plan, request: &'a Request) -> Cow<'a, str> {
    if plan.http.connect.proxy.is_none() || plan.target.is_tls() {
        return Cow::Borrowed(&request.path);
    }
    Cow::Owned(format!("http://{}{}", plan.target.authority(), request.path))
}

fn waits(http: &HttpOptions, request: &Request, prepared: &Prepared) -> Waits {
    let asked = request.ask_first.filter(|_| prepared.asks_first());
    Waits {
        first_byte_ns: http.first_byte_timeout.map_or(NEVER, nanoseconds),
        idle_ns: http.idle_timeout.map_or(NEVER, nanoseconds),
        leave_ns: asked.map_or(NEVER, nanoseconds),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use volley_plan::{FileName, Step};

    use super::*;

    fn plan(rest: &str) -> Plan {
        let text = format!("version: 1\ntarget: http://127.0.0.1:8080/\nusers: 1\nduration: 1s\n{rest}");
        volley_plan::parse(&text).unwrap()
    }

    fn first(plan: &mut Plan) -> &mut Request {
        let Step::Request(request) = &mut plan.scenarios[0].steps[0] else { panic!("no request") };
        request
    }

    fn text(step: &PreparedStep) -> String {
        String::from_utf8(step.request.bytes().to_vec()).unwrap()
    }

    #[test]
    fn requests_are_in_the_order_of_their_steps() {
        let plan = plan(
            "scenarios:\n\
             \x20 browse: { weight: 2, steps: [ get: /list, think: 1s, get: /item ] }\n\
             \x20 buy: { steps: [ post: /cart, delete: /cart ] }\n",
        );
        let steps = requests(&plan, &Files::new(None)).unwrap();
        let lines: Vec<String> =
            steps.iter().map(|step| text(step).lines().next().unwrap().to_owned()).collect();
        let expected =
            ["GET /list HTTP/1.1", "GET /item HTTP/1.1", "POST /cart HTTP/1.1", "DELETE /cart HTTP/1.1"];
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_file_is_as_long_as_it_is_when_it_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("body.bin"), [7; 1234]).unwrap();
        let mut plan = plan("");
        first(&mut plan).body = Body::File(FileName::parse("body.bin").unwrap());
        let steps = requests(&plan, &Files::new(Some(folder.path()))).unwrap();
        assert!(text(&steps[0]).contains("\r\nContent-Length: 1234\r\n") && steps[0].request.is_streamed());
        let refusal = requests(&plan, &Files::new(None)).unwrap_err().sentence();
        assert!(refusal.contains("--files"), "{refusal}");
        first(&mut plan).body = Body::File(FileName::parse("other.bin").unwrap());
        let refusal = requests(&plan, &Files::new(Some(folder.path()))).unwrap_err().sentence();
        assert!(refusal.contains("other.bin"), "{refusal}");
    }

    #[test]
    fn a_host_of_its_own_goes_before_the_plans_and_that_before_the_targets() {
        let mut plan = plan("");
        let mut check = |expected: &str, change: &dyn Fn(&mut Plan)| {
            change(&mut plan);
            let text = text(&requests(&plan, &Files::new(None)).unwrap()[0]);
            assert!(text.contains(&format!("\r\nHost: {expected}\r\n")), "{text}");
            assert_eq!(text.matches("Host:").count(), 1);
        };
        check("127.0.0.1:8080", &|_| ());
        check("plan.test", &|plan| plan.http.host = Some("plan.test".to_owned()));
        check("step.test", &|plan| first(plan).headers.push(("host".to_owned(), "step.test".to_owned())));
    }

    #[test]
    fn waits_are_the_plans_and_for_leave_only_where_there_is_a_body() {
        let mut plan = plan("method: POST");
        first(&mut plan).ask_first = Some(Duration::from_secs(1));
        plan.http.idle_timeout = Some(Duration::from_millis(5));
        let waits = |plan: &Plan| requests(plan, &Files::new(None)).unwrap()[0].waits;
        assert_eq!(waits(&plan), Waits { idle_ns: 5_000_000, ..Waits::NONE });
        first(&mut plan).body = Body::Filled(10);
        assert_eq!(waits(&plan), Waits { idle_ns: 5_000_000, leave_ns: 1_000_000_000, ..Waits::NONE });
    }
}
