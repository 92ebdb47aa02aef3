//! One animal: what its server does, how it is asked, and what must come of it.

use std::io;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use super::expected::{End, Expected};
use super::talk::Talk;
use super::tls::TlsOptions;

pub(super) type Script = dyn Fn(&mut Talk) -> io::Result<()> + Send + Sync;

/// Where a server listens, and what it speaks.
#[derive(Debug, Clone)]
pub enum Habitat {
    /// A free TCP port of this address.
    Tcp(&'static str),
    /// A Unix socket.
    Unix,
    /// A free TCP port of 127.0.0.1, with TLS on it.
    Tls(TlsOptions),
    /// A TCP port of 127.0.0.1 at which nobody listens.
    Nobody,
    /// A TCP port of 127.0.0.1 whose listener takes no connection, and has as many waiting as it may.
    Full,
}

/// What curl makes of an animal.
#[derive(Debug, Clone, Copy)]
pub(super) enum Curl {
    /// The same: as many answers of the same statuses and lengths over as many connections, or a failure of the same kind.
    Same,
    /// Something else: what it is, as [`Said`](super::curl::Said) writes it, and why we differ.
    Differs { said: &'static str, why: &'static str },
    /// It can't be asked, or what it says is decided by a race.
    NotAsked { why: &'static str },
}

/// A misbehaving server and its visitors' fate.
#[derive(Clone)]
pub struct Animal {
    pub(super) name: &'static str,
    pub(super) script: Arc<Script>,
    pub(super) habitat: Habitat,
    pub(super) target: String,
    pub(super) requests: u64,
    pub(super) users: u64,
    pub(super) plan: String,
    pub(super) curl_arguments: Vec<String>,
    pub(super) decoded: bool,
    pub(super) expected: Expected,
    pub(super) curl: Curl,
}

/// An animal that does so with each connection. Unless told otherwise it is asked three times by one user, and each answer
/// is a 200 with five bytes over one connection.
pub fn animal(
    name: &'static str,
    script: impl Fn(&mut Talk) -> io::Result<()> + Send + Sync + 'static,
) -> Animal {
    Animal {
        name,
        script: Arc::new(script),
        habitat: Habitat::Tcp("127.0.0.1"),
        target: "http://127.0.0.1:{port}/".to_owned(),
        requests: 3,
        users: 1,
        plan: String::new(),
        curl_arguments: Vec::new(),
        decoded: false,
        expected: Expected::answers(200, 5),
        curl: Curl::Same,
    }
}

/// An animal that answers each request so and keeps the connection.
pub fn answers(name: &'static str, answer: impl Into<Vec<u8>>) -> Animal {
    let answer = answer.into();
    animal(name, move |talk| {
        while talk.request()?.is_some() {
            talk.send(&answer)?;
        }
        Ok(())
    })
}

/// An animal that answers one request of each connection so and closes it.
pub fn closes(name: &'static str, answer: impl Into<Vec<u8>>) -> Animal {
    let answer = answer.into();
    let closing = animal(name, move |talk| {
        talk.request()?;
        talk.send(&answer)?;
        talk.close()
    });
    closing.one_connection_each()
}

/// How it is asked.
impl Animal {
    /// So many times.
    #[must_use]
    pub fn asked(mut self, requests: u64) -> Self {
        self.requests = requests;
        self
    }

    /// Twice, at the same time: for what takes a while.
    #[must_use]
    pub fn asked_at_once(mut self) -> Self {
        (self.requests, self.users) = (2, 2);
        self.expected.connections = Some(2..=2);
        self
    }

    /// With these lines more in the plan, and these arguments more for curl. `{port}`, `{folder}` and `{socket}` stand for
    /// the server's port, the folder with the certificates, and the server's Unix socket.
    #[must_use]
    pub fn with(mut self, plan: &str, curl: &[&str]) -> Self {
        self.plan.push_str(plan);
        self.plan.push('\n');
        self.curl_arguments.extend(curl.iter().map(|&argument| argument.to_owned()));
        self
    }

    /// By POST with a body of five bytes.
    #[must_use]
    pub fn posted(self) -> Self {
        self.with("method: POST\nbody: hello", &["-d", "hello"])
    }

    /// By HEAD.
    #[must_use]
    pub fn headed(self) -> Self {
        self.with("method: HEAD", &["-I"])
    }

    /// With so much time for a whole request.
    #[must_use]
    pub fn within(self, timeout: Duration) -> Self {
        let plan = format!("timeout: {}ms", timeout.as_millis());
        self.with(&plan, &["-m", &timeout.as_secs_f64().to_string()])
    }

    /// Where a check reads the body, which must be this text once it is decoded.
    #[must_use]
    pub fn decoded_to(mut self, text: &str) -> Self {
        self.decoded = true;
        self.with(&format!("check: {{ body: {{ is: {text:?} }} }}"), &["--compressed"])
    }

    /// At another URL.
    #[must_use]
    pub fn at(mut self, target: &str) -> Self {
        target.clone_into(&mut self.target);
        self
    }

    /// With so long from one request of a user to its next.
    #[must_use]
    pub fn paced(self) -> Self {
        self.with("pacing: 60ms", &["--rate", "960/m"])
    }

    /// With a large body, of ten mebibytes. curl is kept from asking first.
    #[must_use]
    pub fn posted_large(self) -> Self {
        self.with("method: POST\nbody_size: 10MiB", &["--data-binary", "@{folder}/large", "-H", "Expect:"])
    }

    /// With its server elsewhere.
    #[must_use]
    pub fn living(mut self, habitat: Habitat) -> Self {
        self.habitat = habitat;
        self
    }

    /// Over TLS, by one who trusts its certificate's authority.
    #[must_use]
    pub fn over_tls(self, options: TlsOptions) -> Self {
        self.over_untrusted_tls(options).with("tls: { ca: ca.pem }", &["--cacert", "{folder}/ca.pem"])
    }

    /// Over TLS, by one who trusts what the machine trusts.
    #[must_use]
    pub fn over_untrusted_tls(self, options: TlsOptions) -> Self {
        self.living(Habitat::Tls(options)).at("https://127.0.0.1:{port}/")
    }
}

/// What must come of it.
impl Animal {
    /// Each request is answered with this status and so many bytes of body.
    #[must_use]
    pub fn gives(mut self, status: u16, body_bytes: u64) -> Self {
        self.expected.ends = vec![(End::Answer { status, body_bytes }, None)];
        self
    }

    /// Each answer is ok whatever its status: the plan's check allows it.
    #[must_use]
    pub fn allowed(mut self) -> Self {
        self.expected.allowed = true;
        self
    }

    /// Each request fails so, on a connection of its own.
    #[must_use]
    pub fn fails(mut self, kind: &'static str) -> Self {
        self.expected.ends = vec![(End::Error(kind), None)];
        self.one_connection_each()
    }

    /// Each answer comes whole, with this status and so many bytes of body, and is not what was asked for.
    #[must_use]
    pub fn disappoints(mut self, kind: &'static str, status: u16, body_bytes: u64) -> Self {
        self.expected.ends = vec![(End::Disappointment { kind, status, body_bytes }, None)];
        self
    }

    /// So many are answered with 200 and five bytes, and the others fail so.
    #[must_use]
    pub fn fails_after(mut self, answered: u64, kind: &'static str) -> Self {
        let answer = End::Answer { status: 200, body_bytes: 5 };
        self.expected.ends = vec![(answer, Some(answered)), (End::Error(kind), None)];
        self
    }

    /// Each request fails so, and the server sees no connection.
    #[must_use]
    pub fn is_never_reached(self, kind: &'static str) -> Self {
        self.fails(kind).connections(0..=0).seen(0..=0)
    }

    /// Each request takes a connection.
    #[must_use]
    pub fn one_connection_each(mut self) -> Self {
        self.expected.one_connection_each = true;
        self
    }

    /// So many connections in all.
    #[must_use]
    pub fn connections(mut self, connections: RangeInclusive<u64>) -> Self {
        self.expected.connections = Some(connections);
        self
    }

    /// The server sees so many requests in all.
    #[must_use]
    pub fn seen(mut self, requests: RangeInclusive<u64>) -> Self {
        self.expected.requests = Some(requests);
        self
    }

    /// The server makes so many full handshakes and so many that take up an earlier session.
    #[must_use]
    pub fn handshakes(mut self, full: u64, resumed: u64) -> Self {
        self.expected.handshakes = Some((full, resumed));
        self
    }

    /// curl says something else, and why.
    #[must_use]
    pub fn curl_says(mut self, said: &'static str, why: &'static str) -> Self {
        self.curl = Curl::Differs { said, why };
        self
    }

    /// curl isn't asked, and why.
    #[must_use]
    pub fn without_curl(mut self, why: &'static str) -> Self {
        self.curl = Curl::NotAsked { why };
        self
    }
}

/// What it is called.
impl Animal {
    /// Its name, by which it can be chosen.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What curl says where that isn't the same, and why: a row of the table in `CASES.md`.
    #[must_use]
    pub fn difference(&self) -> Option<(&'static str, &'static str)> {
        match self.curl {
            Curl::Differs { said, why } => Some((said, why)),
            Curl::Same | Curl::NotAsked { .. } => None,
        }
    }

    /// Why curl isn't asked, where it isn't.
    #[must_use]
    pub fn not_asked(&self) -> Option<&'static str> {
        match self.curl {
            Curl::NotAsked { why } => Some(why),
            Curl::Same | Curl::Differs { .. } => None,
        }
    }
}
