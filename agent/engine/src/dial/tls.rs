//! TLS as a plan wants it: what it takes is read once, before the run, and each worker gets its own of it, so that no
//! session store is shared between threads.

use std::io;
use std::sync::Arc;

use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::danger::ServerCertVerifier;
use tokio_rustls::rustls::client::{Resumption, VerifierBuilderError, WebPkiServerVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, aws_lc_rs};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore, SupportedProtocolVersion, version};
use volley_plan::{FileName, Plan, TlsVersion};

use super::own_certificate::{AnyCertificate, OwnCertificates};
use crate::files::{FileError, Files};

/// Most bytes of a file with certificates or a key.
const PEM_BYTES_MAX: u64 = 1 << 20;
/// Sessions that a worker keeps, by server name; a plan has one. Of each TLS 1.3 has several tickets.
const SESSIONS: usize = 8;
/// What is spoken inside (RFC 7301).
const ALPN: &[u8] = b"http/1.1";

/// Why TLS can't be spoken as the plan wants it.
#[derive(Debug, Error)]
pub(crate) enum TlsError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("the file {name} is no PEM")]
    Pem { name: FileName, source: pem::Error },
    #[error("the file {name} has no PEM certificate in it")]
    NoCertificate { name: FileName },
    #[error("a certificate in the file {name} is of no use")]
    Certificate { name: FileName, source: rustls::Error },
    #[error(
        "the file {name} has no private key in it that is PEM (PKCS#8, PKCS#1 or SEC1) and not encrypted"
    )]
    NoKey { name: FileName },
    #[error("certificate {certificate} and key {key} cannot be used together")]
    Pair { certificate: FileName, key: FileName, source: rustls::Error },
    #[error(
        "this machine has no certificates of authorities that it trusts (looked for where OpenSSL does, and by SSL_CERT_FILE \
         and SSL_CERT_DIR): install its ca-certificates, name a file by `ca`, or say `insecure: true`"
    )]
    NoRoots,
    #[error("{name:?} is no name that a certificate could be of: set `server_name`")]
    ServerName { name: String },
    #[error("the versions of TLS cannot be had")]
    Versions(#[source] rustls::Error),
    #[error("the trusted certificates cannot be used")]
    Verifier(#[from] VerifierBuilderError),
}

/// What TLS takes, as read before the run.
#[derive(Debug)]
pub(crate) struct Material {
    provider: Arc<CryptoProvider>,
    verifier: Arc<dyn ServerCertVerifier>,
    identity: Option<Identity>,
    versions: Vec<&'static SupportedProtocolVersion>,
    resumption: bool,
    name: ServerName<'static>,
}

/// What the target is shown where it asks for a certificate.
#[derive(Debug)]
struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    certificate_file: FileName,
    key_file: FileName,
}

impl Material {
    /// That of a plan; nothing where its target is not `https`.
    pub(crate) fn read(plan: &Plan, files: &Files) -> Result<Option<Self>, TlsError> {
        if !plan.target.is_tls() {
            return Ok(None);
        }
        let tls = &plan.http.tls;
        let provider = Arc::new(aws_lc_rs::default_provider());
        // A process gathers entropy for its first random number, for a tenth of a second: here, and not in the run's first
        // handshake. Where there is none the handshake will tell.
        let _ = provider.secure_random.fill(&mut [0]);
        let verifier: Arc<dyn ServerCertVerifier> = match &tls.ca {
            _ if tls.insecure => Arc::new(AnyCertificate::new(&provider)),
            Some(ca) => {
                let trusted = certificates(files, ca)?;
                Arc::new(OwnCertificates::new(verifier(roots_of(&trusted, ca)?, &provider)?, trusted))
            }
            None => verifier(roots_of_this_machine()?, &provider)?,
        };
        let identity = match (&tls.certificate, &tls.key) {
            (Some(certificate), Some(key)) => Some(Identity::read(files, certificate, key)?),
            _ => None,
        };
        let name = tls.server_name.as_deref().unwrap_or_else(|| plan.target.host());
        let versions = tls.versions.iter().map(|version| match version {
            TlsVersion::V1_2 => &version::TLS12,
            TlsVersion::V1_3 => &version::TLS13,
        });
        Ok(Some(Self {
            provider,
            verifier,
            identity,
            versions: versions.collect(),
            resumption: tls.resumption,
            name: ServerName::try_from(name.to_owned())
                .map_err(|_| TlsError::ServerName { name: name.to_owned() })?,
        }))
    }

    /// One worker's.
    pub(crate) fn client(&self) -> Result<Tls, TlsError> {
        let builder = ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_protocol_versions(&self.versions)
            .map_err(TlsError::Versions)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(&self.verifier));
        let mut config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => builder
                .with_client_auth_cert(identity.chain.clone(), identity.key.clone_key())
                .map_err(|source| identity.unusable(source))?,
        };
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.resumption =
            if self.resumption { Resumption::in_memory_sessions(SESSIONS) } else { Resumption::disabled() };
        Ok(Tls { connector: Arc::new(config).into(), name: self.name.clone() })
    }
}

impl Identity {
    fn read(files: &Files, certificate: &FileName, key: &FileName) -> Result<Self, TlsError> {
        let no_key = || TlsError::NoKey { name: key.clone() };
        Ok(Self {
            chain: certificates(files, certificate)?,
            key: PrivateKeyDer::from_pem_slice(&files.read(key, PEM_BYTES_MAX)?).map_err(|_| no_key())?,
            certificate_file: certificate.clone(),
            key_file: key.clone(),
        })
    }

    fn unusable(&self, source: rustls::Error) -> TlsError {
        let (certificate, key) = (self.certificate_file.clone(), self.key_file.clone());
        TlsError::Pair { certificate, key, source }
    }
}

/// The certificates in a file, at least one.
fn certificates(files: &Files, name: &FileName) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let bytes = files.read(name, PEM_BYTES_MAX)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let found = found.map_err(|source| TlsError::Pem { name: name.clone(), source })?;
    if found.is_empty() { Err(TlsError::NoCertificate { name: name.clone() }) } else { Ok(found) }
}

fn roots_of(certificates: &[CertificateDer<'static>], file: &FileName) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        roots
            .add(certificate.clone())
            .map_err(|source| TlsError::Certificate { name: file.clone(), source })?;
    }
    Ok(roots)
}

fn roots_of_this_machine() -> Result<RootCertStore, TlsError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // Some machine always trusts a certificate that nobody can read.
    roots.add_parsable_certificates(found.certs);
    for error in found.errors {
        tracing::warn!(%error, "certificates that this machine trusts could not be read");
    }
    if roots.is_empty() { Err(TlsError::NoRoots) } else { Ok(roots) }
}

fn verifier(
    roots: RootCertStore,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, TlsError> {
    let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    Ok(builder.build()?)
}

/// TLS for one worker's connections, with the sessions that it can take up again.
#[derive(Clone)]
pub(crate) struct Tls {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Tls {
    /// Shakes hands over a connection.
    pub(crate) async fn handshake<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        socket: S,
    ) -> io::Result<TlsStream<S>> {
        self.connector.connect(self.name.clone(), socket).await
    }
}

#[cfg(test)]
mod tests;
