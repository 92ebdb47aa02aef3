//! TLS: certificates, versions, ends with and without a word, and what isn't TLS at all.

use volley_e2e::zoo::{Animal, Certificate, Talk, TlsOptions, animal, answers, closes};

use super::{HELLO, reasons};

const CA: (&str, &[&str]) = ("tls: { ca: ca.pem }", &["--cacert", "{folder}/ca.pem"]);
const INSECURE: (&str, &[&str]) = ("tls: { insecure: true }", &["-k"]);

/// An animal with nothing wrong but its TLS.
fn hello(name: &'static str) -> Animal {
    answers(name, HELLO)
}

pub(super) fn animals() -> Vec<Animal> {
    [good(), certificates(), versions(), clients(), sessions(), ends(), other_protocols()].concat()
}

fn good() -> Vec<Animal> {
    vec![
        hello("TLS by its authority").over_tls(TlsOptions::GOOD).handshakes(1, 0),
        hello("TLS by a name").over_tls(TlsOptions::GOOD).at("https://localhost:{port}/").with(
            "connect: { to: [\"127.0.0.1:{port}\"] }",
            &["--connect-to", "localhost:{port}:127.0.0.1:{port}"],
        ),
        hello("TLS by nobody's leave").over_untrusted_tls(TlsOptions::GOOD).with(INSECURE.0, INSECURE.1),
        answers("a large answer over TLS", {
            format!("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n{}", "x".repeat(1_000_000))
        })
        .over_tls(TlsOptions::GOOD)
        .gives(200, 1_000_000),
        animal("an answer over TLS byte by byte", |talk| {
            while talk.request()?.is_some() {
                talk.drip(HELLO)?;
            }
            Ok(())
        })
        .over_tls(TlsOptions::GOOD),
        hello("a large body over TLS").over_tls(TlsOptions::GOOD).posted_large(),
        asked_for("SNI is the host's name", "shop.test", "shop.test:{port}")
            .at("https://shop.test:{port}/")
            .with(CA.0, CA.1)
            .with(
                "connect: { to: [\"127.0.0.1:{port}\"] }",
                &["--connect-to", "shop.test:{port}:127.0.0.1:{port}"],
            ),
        asked_for("SNI, Host and address are three things", "shop.test", "other.test")
            .at("https://127.0.0.1:{port}/")
            .with("tls: { ca: ca.pem, server_name: shop.test }\nhost: other.test", &[])
            .without_curl("curl takes SNI and Host from one URL"),
    ]
}

/// Tells 421 to whom asks for another name in TLS, or another host.
fn asked_for(name: &'static str, server_name: &'static str, host: &'static str) -> Animal {
    animal(name, move |talk| {
        while let Some(request) = talk.request()? {
            let port = talk.port().to_string();
            let is_right = talk.server_name() == Some(server_name)
                && request.header("host") == Some(&host.replace("{port}", &port));
            talk.send(if is_right { HELLO } else { "HTTP/1.1 421 -\r\nContent-Length: 0\r\n\r\n" })?;
        }
        Ok(())
    })
    .over_untrusted_tls(TlsOptions::showing(Certificate::OtherName))
}

fn certificates() -> Vec<Animal> {
    let refused = |name, certificate| {
        hello(name).over_tls(TlsOptions::showing(certificate)).fails("tls_certificate").seen(0..=0)
    };
    let taken = |name, certificate| {
        hello(name).over_untrusted_tls(TlsOptions::showing(certificate)).with(INSECURE.0, INSECURE.1)
    };
    vec![
        refused("a certificate of another name", Certificate::OtherName),
        refused("a certificate that has expired", Certificate::Expired),
        refused("a certificate that isn't valid yet", Certificate::NotYetValid),
        refused("a certificate that is its own authority", Certificate::SelfSigned),
        refused("a certificate of an unknown authority", Certificate::UnknownAuthority),
        hello("a good certificate, and another authority is trusted")
            .over_untrusted_tls(TlsOptions::GOOD)
            .with("tls: { ca: unknown.pem }", &["--cacert", "{folder}/unknown.pem"])
            .fails("tls_certificate")
            .seen(0..=0),
        hello("a good certificate that this machine doesn't trust")
            .over_untrusted_tls(TlsOptions::GOOD)
            .fails("tls_certificate")
            .seen(0..=0),
        taken("a certificate of another name, and nobody minds", Certificate::OtherName),
        taken("a certificate that has expired, and nobody minds", Certificate::Expired),
        taken("a certificate that is its own authority, and nobody minds", Certificate::SelfSigned),
        taken("a certificate of an unknown authority, and nobody minds", Certificate::UnknownAuthority),
    ]
}

fn versions() -> Vec<Animal> {
    let offered = |name, options, version: &str, curl: &[&str]| {
        let plan = format!("tls: {{ ca: ca.pem, versions: [\"{version}\"] }}");
        hello(name).over_untrusted_tls(options).with(&plan, CA.1).with("", curl)
    };
    let only_1_2: &[&str] = &["--tls-max", "1.2"];
    let only_1_3: &[&str] = &["--tlsv1.3"];
    vec![
        hello("TLS 1.2 only").over_tls(TlsOptions::OF_1_2),
        hello("TLS 1.3 only").over_tls(TlsOptions::OF_1_3),
        offered("TLS 1.2 by one who wants no other", TlsOptions::GOOD, "1.2", only_1_2),
        offered("TLS 1.3 by one who wants no other", TlsOptions::GOOD, "1.3", only_1_3),
        offered("TLS 1.2 only, and 1.3 is wanted", TlsOptions::OF_1_2, "1.3", only_1_3)
            .fails("tls")
            .seen(0..=0),
        offered("TLS 1.3 only, and 1.2 is wanted", TlsOptions::OF_1_3, "1.2", only_1_2)
            .fails("tls")
            .seen(0..=0),
    ]
}

fn clients() -> Vec<Animal> {
    let demanding = TlsOptions { demands_certificate: true, ..TlsOptions::GOOD };
    let demanding_1_2 = TlsOptions { demands_certificate: true, ..TlsOptions::OF_1_2 };
    let shown = |name, options: &TlsOptions, who: &str| {
        let plan = format!("tls: {{ ca: ca.pem, certificate: {who}.pem, key: {who}.key }}");
        let (certificate, key) = (format!("{{folder}}/{who}.pem"), format!("{{folder}}/{who}.key"));
        hello(name)
            .over_untrusted_tls(options.clone())
            .with(&plan, CA.1)
            .with("", &["--cert", &certificate, "--key", &key])
    };
    vec![
        shown("a client's certificate is demanded", &demanding, "me"),
        shown("a client's certificate is demanded, TLS 1.2", &demanding_1_2, "me"),
        shown("a client's certificate that nobody demanded", &TlsOptions::GOOD, "me"),
        shown("a stranger's certificate", &demanding, "stranger").fails("tls").seen(0..=0),
        hello("a client's certificate is missing").over_tls(demanding).fails("tls").seen(0..=0),
        hello("a client's certificate is missing, TLS 1.2").over_tls(demanding_1_2).fails("tls").seen(0..=0),
    ]
}

fn sessions() -> Vec<Animal> {
    let each = |name, options| closes(name, HELLO).over_untrusted_tls(options);
    let without = TlsOptions { resumes: false, ..TlsOptions::GOOD };
    let off: (&str, &[&str]) = ("tls: { ca: ca.pem, resumption: false }", &["--no-sessionid"]);
    vec![
        each("sessions are taken up again", TlsOptions::GOOD).with(CA.0, CA.1).handshakes(1, 2),
        each("sessions are taken up again, TLS 1.2", TlsOptions::OF_1_2).with(CA.0, CA.1).handshakes(1, 2),
        each("a server that takes no session up again", without).with(CA.0, CA.1).handshakes(3, 0),
        each("a visitor who takes no session up again", TlsOptions::GOOD)
            .with(off.0, CA.1)
            .with("", off.1)
            .handshakes(3, 0),
        each("a visitor who takes no session up again, TLS 1.2", TlsOptions::OF_1_2)
            .with(off.0, CA.1)
            .with("", off.1)
            .handshakes(3, 0),
    ]
}

/// Answers so and ends the connection so.
fn ending(name: &'static str, answer: &'static str, end: fn(&mut Talk) -> std::io::Result<()>) -> Animal {
    animal(name, move |talk| {
        talk.request()?;
        talk.send(answer)?;
        end(talk)
    })
    .over_tls(TlsOptions::GOOD)
    .one_connection_each()
}

fn ends() -> Vec<Animal> {
    let until_close = "HTTP/1.1 200 OK\r\n\r\nhello";
    let half = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello";
    let cut = |talk: &mut Talk| {
        talk.cut()?;
        talk.drain()
    };
    vec![
        ending("TLS closed with a word, length", HELLO, Talk::close),
        ending("TLS closed without a word, length", HELLO, cut),
        ending("TLS closed with a word, until the close", until_close, Talk::close),
        ending("TLS closed without a word, until the close", until_close, cut)
            .fails("truncated")
            .curl_says("exit 0, status 200, 5 bytes, A 3, R 3", reasons::NO_CLOSE_NOTIFY),
        ending("TLS closed with a word in mid-body", half, Talk::close).fails("truncated"),
        ending("TLS closed without a word in mid-body", half, cut).fails("truncated"),
        ending("TLS reset in mid-body", half, Talk::reset).fails("reset"),
        ending("an alert in mid-body", half, Talk::alert).fails("tls"),
        ending("an alert in place of an answer", "", Talk::alert).fails("tls"),
        ending("a word of no TLS in mid-body", half, |talk| {
            talk.send_bare(b"HTTP/1.1 500 Oops\r\n\r\n")?;
            talk.drain()
        })
        .fails("tls"),
        ending("TLS closed under the first request", "", Talk::close).fails("closed_early"),
        ending("TLS closed without a word under the first request", "", cut).fails("closed_early"),
        closes("TLS closed after each answer, POST", HELLO).over_tls(TlsOptions::GOOD).posted().paced(),
    ]
}

fn other_protocols() -> Vec<Animal> {
    let plain = |name, end: fn(&mut Talk) -> std::io::Result<()>| {
        animal(name, end).at("https://127.0.0.1:{port}/").fails("tls").seen(0..=0)
    };
    vec![
        plain("plain HTTP where TLS is wanted", |talk| {
            talk.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")?;
            talk.close()
        }),
        plain("the connection ends in the handshake", Talk::close),
        plain("the connection is reset in the handshake", |talk| {
            talk.is_silent_for_ms(200)?;
            talk.reset()
        }),
        hello("TLS where plain HTTP is wanted")
            .over_untrusted_tls(TlsOptions::GOOD)
            .at("http://127.0.0.1:{port}/")
            .fails("protocol")
            .seen(0..=0),
    ]
}
