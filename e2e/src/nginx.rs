//! A real nginx with an access log: the witness of what was really sent.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::process::{PATIENCE, Process};
use crate::server::closed_port;

/// What nginx answers.
const BODY: &str = "hello world";

/// One nginx with one worker, in a directory of its own.
pub struct Nginx {
    process: Process,
    dir: TempDir,
    port: u16,
    tls_port: u16,
}

/// What the access log says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Logged {
    /// Requests.
    pub requests: u64,
    /// Requests by status.
    pub statuses: BTreeMap<String, u64>,
    /// Connections that carried a request.
    pub connections: u64,
}

impl Nginx {
    /// Starts one on a free port, and waits until it listens.
    ///
    /// # Panics
    /// If nginx is missing or doesn't start.
    #[must_use]
    pub fn start() -> Self {
        let dir = TempDir::new().expect("a directory for nginx");
        let (port, tls_port) = (closed_port(), closed_port());
        fs::write(dir.path().join("nginx.conf"), configuration(port, tls_port))
            .expect("nginx.conf can be written");
        write_certificate(dir.path());
        // Debian has it in /usr/sbin, which is not on everyone's path.
        let path = format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default());
        let mut command = Command::new("/usr/bin/env");
        command.env("PATH", path).arg("nginx").arg("-p").arg(dir.path()).args([
            "-c",
            "nginx.conf",
            "-e",
            "stderr",
        ]);
        let nginx = Self { process: Process::start(&mut command), dir, port, tls_port };
        nginx.wait_until_it_listens();
        nginx
    }

    fn wait_until_it_listens(&self) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(Instant::now() < deadline, "nginx does not listen:\n{}", self.process.stderr());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// The URL of a path that begins with `/`.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The same by TLS, with a certificate that nobody trusts; for a host that leads to loopback.
    #[must_use]
    pub fn tls_url(&self, host: &str, path: &str) -> String {
        format!("https://{host}:{}{path}", self.tls_port)
    }

    /// Ends it in the orderly way, which completes the access log, and counts that.
    ///
    /// # Panics
    /// If nginx doesn't end, or its log is not what it was told to write.
    #[must_use]
    pub fn logged(mut self) -> Logged {
        self.process.signal(Signal::QUIT);
        let (status, _, stderr) = self.process.wait(PATIENCE);
        assert!(status.success(), "nginx ended with {status}:\n{stderr}");
        let log = fs::read_to_string(self.dir.path().join("access.log")).expect("nginx wrote a log");
        let mut logged = Logged::default();
        let mut connections = std::collections::HashSet::new();
        for line in log.lines() {
            let (connection, status) = line.split_once(' ').expect("a connection and a status");
            logged.requests += 1;
            *logged.statuses.entry(status.to_owned()).or_default() += 1;
            connections.insert(connection);
        }
        logged.connections = connections.len() as u64;
        logged
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Its worker is a process too.
        self.process.terminate();
    }
}

/// The certificate and key that it shows by TLS.
fn write_certificate(folder: &Path) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    fs::write(folder.join("cert.pem"), made.cert.pem()).expect("the certificate can be written");
    fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).expect("its key can be written");
}

/// Every path is below nginx's own directory, so that it needs no rights.
fn configuration(port: u16, tls_port: u16) -> String {
    format!(
        r#"
daemon off;
worker_processes 1;
pid nginx.pid;
events {{ worker_connections 4096; }}
http {{
    log_format truth '$connection $status';
    access_log access.log truth buffer=256k;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    keepalive_requests 1000000000;
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        listen 127.0.0.1:{tls_port} ssl backlog=4096;
        ssl_protocols TLSv1.2 TLSv1.3;
        ssl_certificate cert.pem;
        ssl_certificate_key key.pem;
        location / {{ return 200 "{BODY}"; }}
    }}
}}
"#
    )
}
