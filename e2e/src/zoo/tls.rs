//! The server's side of TLS.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned, SupportedProtocolVersion};

use super::certificates::{self, Certificate};

/// How a server speaks TLS.
#[derive(Debug, Clone)]
pub struct TlsOptions {
    /// What it shows.
    pub certificate: Certificate,
    /// Its versions.
    pub versions: &'static [&'static SupportedProtocolVersion],
    /// Whether it demands a certificate of the client.
    pub demands_certificate: bool,
    /// Whether it takes sessions up again.
    pub resumes: bool,
}

impl TlsOptions {
    /// A well-behaved server.
    pub const GOOD: Self = Self {
        certificate: Certificate::Good,
        versions: &[&TLS12, &TLS13],
        demands_certificate: false,
        resumes: true,
    };
    /// One that speaks TLS 1.2 only.
    pub const OF_1_2: Self = Self { versions: &[&TLS12], ..Self::GOOD };
    /// One that speaks TLS 1.3 only.
    pub const OF_1_3: Self = Self { versions: &[&TLS13], ..Self::GOOD };

    /// A well-behaved server with this certificate.
    #[must_use]
    pub fn showing(certificate: Certificate) -> Self {
        Self { certificate, ..Self::GOOD }
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

/// The configuration of one server, whose sessions are its own.
pub(super) fn server(options: &TlsOptions) -> Arc<ServerConfig> {
    let builder = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(options.versions)
        .expect("versions that the provider has");
    let builder = if options.demands_certificate {
        let mut roots = RootCertStore::empty();
        roots.add(certificates::root()).expect("a certificate of our own");
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider()).build();
        builder.with_client_cert_verifier(verifier.expect("there is a root"))
    } else {
        builder.with_no_client_auth()
    };
    let pair = certificates::of_server(options.certificate);
    let mut config = builder.with_single_cert(pair.chain(), pair.key()).expect("a key of its certificate");
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    if !options.resumes {
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
    }
    Arc::new(config)
}

/// The handshake. Where it fails the client is told why, and what it still sends is taken, so that it isn't reset before it
/// has read that.
pub(super) fn accept(
    config: &Arc<ServerConfig>,
    stream: TcpStream,
) -> io::Result<StreamOwned<ServerConnection, TcpStream>> {
    let connection = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(connection, stream);
    while stream.conn.is_handshaking() {
        if let Err(error) = stream.conn.complete_io(&mut stream.sock) {
            while stream.conn.wants_write() && stream.conn.write_tls(&mut stream.sock).is_ok() {}
            stream.sock.shutdown(std::net::Shutdown::Write)?;
            io::copy(&mut stream.sock, &mut io::sink())?;
            return Err(error);
        }
    }
    Ok(stream)
}
