//! A target that speaks TLS, with certificates made for the test.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Once};
use std::thread::{self, JoinHandle};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{
    HandshakeKind, RootCertStore, ServerConfig, ServerConnection, StreamOwned, version,
};

use crate::target::listener;

/// A certificate and its key, in PEM and as the server takes them.
pub(crate) struct Pair {
    pub(crate) certificate_pem: String,
    pub(crate) key_pem: String,
    certificate: CertificateDer<'static>,
}

impl Pair {
    fn key(&self) -> PrivateKeyDer<'static> {
        let key = KeyPair::from_pem(&self.key_pem).unwrap();
        PrivateKeyDer::try_from(key.serialize_der()).unwrap()
    }
}

/// An authority that signs for a test.
pub(crate) struct Authority {
    params: CertificateParams,
    key: KeyPair,
    pub(crate) pem: String,
    certificate: CertificateDer<'static>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        Self { params, key, pem: certificate.pem(), certificate: certificate.der().clone() }
    }

    /// A certificate for these names or addresses.
    pub(crate) fn signs(&self, names: &[&str]) -> Pair {
        self.signs_with(names, |_| ())
    }

    /// The same with something else about it.
    pub(crate) fn signs_with(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Pair {
        let key = KeyPair::generate().unwrap();
        let mut params = params(names);
        change(&mut params);
        let issuer = Issuer::from_params(&self.params, &self.key);
        let certificate = params.signed_by(&key, &issuer).unwrap();
        Pair {
            certificate_pem: certificate.pem(),
            key_pem: key.serialize_pem(),
            certificate: certificate.der().clone(),
        }
    }
}

/// A certificate behind which nobody stands but itself, as `openssl req -x509` makes it: an authority's.
pub(crate) fn self_signed(names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Pair {
    let key = KeyPair::generate().unwrap();
    let mut params = params(names);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    change(&mut params);
    let certificate = params.self_signed(&key).unwrap();
    Pair {
        certificate_pem: certificate.pem(),
        key_pem: key.serialize_pem(),
        certificate: certificate.der().clone(),
    }
}

fn params(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    CertificateParams::new(names).unwrap()
}

/// A certificate that was good long ago.
pub(crate) fn expired(params: &mut CertificateParams) {
    params.not_before = date_time_ymd(2001, 1, 1);
    params.not_after = date_time_ymd(2002, 1, 1);
}

/// A folder with files of these names.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        Self(folder)
    }

    pub(crate) fn path(&self) -> Option<PathBuf> {
        Some(self.0.path().to_owned())
    }
}

/// What a server wants of its clients.
pub(crate) fn config(pair: &Pair) -> ServerConfig {
    config_of(pair, &[&version::TLS12, &version::TLS13], None)
}

/// The same of these versions, with clients that an authority stands behind.
pub(crate) fn config_of(
    pair: &Pair,
    versions: &[&'static tokio_rustls::rustls::SupportedProtocolVersion],
    clients: Option<&Authority>,
) -> ServerConfig {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder =
        ServerConfig::builder_with_provider(Arc::clone(&provider)).with_protocol_versions(versions).unwrap();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            roots.add(authority.certificate.clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    let mut config = builder.with_single_cert(vec![pair.certificate.clone()], pair.key()).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config
}

/// What a target counted.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) connections: AtomicU64,
    pub(crate) handshakes: AtomicU64,
    pub(crate) resumed: AtomicU64,
    pub(crate) requests: AtomicU64,
    /// Connections that ended as TLS has it.
    pub(crate) goodbyes: AtomicU64,
}

impl Seen {
    /// Connections, whole handshakes, those that took a session up again, requests.
    pub(crate) fn counts(&self) -> (u64, u64, u64, u64) {
        let of = |count: &AtomicU64| count.load(Ordering::SeqCst);
        (of(&self.connections), of(&self.handshakes), of(&self.resumed), of(&self.requests))
    }
}

/// One connection.
pub(crate) struct Peer {
    pub(crate) stream: StreamOwned<ServerConnection, TcpStream>,
    pub(crate) seen: Arc<Seen>,
}

impl Peer {
    /// Shakes hands; the name that the client asked for and what is spoken inside.
    fn handshake(&mut self) -> Option<(Option<String>, Option<Vec<u8>>)> {
        while self.stream.conn.is_handshaking() {
            if self.stream.conn.complete_io(&mut self.stream.sock).is_err() {
                return None;
            }
        }
        self.seen.handshakes.fetch_add(1, Ordering::SeqCst);
        if self.stream.conn.handshake_kind() == Some(HandshakeKind::Resumed) {
            self.seen.resumed.fetch_add(1, Ordering::SeqCst);
        }
        let name = self.stream.conn.server_name().map(str::to_owned);
        Some((name, self.stream.conn.alpn_protocol().map(<[u8]>::to_vec)))
    }

    /// Waits for a request without a body and counts it.
    pub(crate) fn request(&mut self) -> Option<()> {
        let mut head = Vec::new();
        let mut piece = [0; 4096];
        while !head.ends_with(b"\r\n\r\n") {
            match self.stream.read(&mut piece) {
                Ok(0) => {
                    self.seen.goodbyes.fetch_add(1, Ordering::SeqCst);
                    return None;
                }
                Ok(bytes) => head.extend_from_slice(&piece[..bytes]),
                Err(_) => return None,
            }
        }
        self.seen.requests.fetch_add(1, Ordering::SeqCst);
        Some(())
    }

    pub(crate) fn say(&mut self, text: &str) -> Option<()> {
        self.stream.write_all(text.as_bytes()).ok()?;
        self.stream.flush().ok()
    }

    pub(crate) fn hello(&mut self) -> Option<()> {
        self.say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
    }

    /// Ends the connection as TLS has it.
    pub(crate) fn goodbye(&mut self) {
        self.stream.conn.send_close_notify();
        let _ = self.stream.flush();
    }
}

/// A listening target; its thread ends with it.
pub(crate) struct TlsTarget {
    pub(crate) address: SocketAddr,
    pub(crate) seen: Arc<Seen>,
    ended: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl TlsTarget {
    /// Serves each connection by `serve` once hands are shaken, and makes sure that the clients ask for this name, and for
    /// HTTP/1.1.
    pub(crate) fn new(
        config: ServerConfig,
        name: Option<&'static str>,
        serve: impl Fn(&mut Peer) + Send + Sync + 'static,
    ) -> Self {
        let listener = listener(1024);
        let address = listener.local_addr().unwrap();
        let (seen, ended, serve) = (Arc::<Seen>::default(), Arc::<AtomicBool>::default(), Arc::new(serve));
        let config = Arc::new(config);
        let accepting = {
            let (seen, ended) = (Arc::clone(&seen), Arc::clone(&ended));
            thread::spawn(move || {
                for socket in listener.incoming() {
                    if ended.load(Ordering::SeqCst) {
                        return;
                    }
                    let (seen, serve) = (Arc::clone(&seen), Arc::clone(&serve));
                    let session = ServerConnection::new(Arc::clone(&config)).unwrap();
                    let socket = socket.unwrap();
                    socket.set_nodelay(true).unwrap();
                    seen.connections.fetch_add(1, Ordering::SeqCst);
                    let mut peer = Peer { stream: StreamOwned::new(session, socket), seen };
                    thread::spawn(move || {
                        let Some((asked, inside)) = peer.handshake() else { return };
                        let as_wanted = asked.as_deref() == name && inside.as_deref() == Some(b"http/1.1");
                        if as_wanted {
                            serve(&mut peer);
                        } else {
                            complain(&format!("{asked:?} and {inside:?} were asked for"));
                        }
                    });
                }
            })
        };
        Self { address, seen, ended, accepting: Some(accepting) }
    }

    /// Answers every request with 200 and `hello`.
    pub(crate) fn hello(config: ServerConfig, name: Option<&'static str>) -> Self {
        Self::new(config, name, |peer| while peer.request().and_then(|()| peer.hello()).is_some() {})
    }
}

/// Once is enough: the requests that are left without an answer fail the test.
fn complain(what: &str) {
    static COMPLAINED: Once = Once::new();
    COMPLAINED.call_once(|| eprintln!("{what}"));
}

impl Drop for TlsTarget {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            accepting.join().unwrap();
        }
    }
}
