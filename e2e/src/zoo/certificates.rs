//! Certificates of the zoo's own authority, and those that no authority stands for; made once for a process.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// What a server shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certificate {
    /// A good one, of localhost, 127.0.0.1 and `::1`.
    Good,
    /// A good one of another name, `shop.test`.
    OtherName,
    /// One that has expired.
    Expired,
    /// One that isn't valid yet.
    NotYetValid,
    /// One that is its own authority.
    SelfSigned,
    /// One of an authority that nobody has heard of.
    UnknownAuthority,
}

/// A certificate with its key.
pub(super) struct Pair {
    chain: Vec<CertificateDer<'static>>,
    pem: String,
    key: KeyPair,
}

impl Pair {
    pub(super) fn chain(&self) -> Vec<CertificateDer<'static>> {
        self.chain.clone()
    }

    pub(super) fn key(&self) -> PrivateKeyDer<'static> {
        PrivatePkcs8KeyDer::from(self.key.serialize_der()).into()
    }
}

/// The zoo's authority, and another one that visitors don't trust.
struct Authorities {
    ours: CertifiedIssuer<'static, KeyPair>,
    unknown: CertifiedIssuer<'static, KeyPair>,
}

fn authorities() -> &'static Authorities {
    static AUTHORITIES: OnceLock<Authorities> = OnceLock::new();
    AUTHORITIES.get_or_init(|| Authorities { ours: authority("The zoo"), unknown: authority("Nobody knows") })
}

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).expect("no names are no wrong names");
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    CertifiedIssuer::self_signed(params, key()).expect("an authority of our own")
}

fn key() -> KeyPair {
    KeyPair::generate().expect("keys can be drawn")
}

/// The certificate of our authority, which visitors may trust.
pub(super) fn root() -> CertificateDer<'static> {
    authorities().ours.der().clone()
}

/// What a server shows, and its key.
pub(super) fn of_server(certificate: Certificate) -> Pair {
    let names: &[&str] = match certificate {
        Certificate::OtherName => &["shop.test"],
        _ => &["localhost", "127.0.0.1", "::1"],
    };
    let mut params = params(names, ExtendedKeyUsagePurpose::ServerAuth);
    match certificate {
        Certificate::Expired => params.not_after = date_time_ymd(2020, 1, 1),
        Certificate::NotYetValid => params.not_before = date_time_ymd(4000, 1, 1),
        _ => {}
    }
    let key = key();
    let made = match certificate {
        Certificate::SelfSigned => params.self_signed(&key),
        Certificate::UnknownAuthority => params.signed_by(&key, &authorities().unknown),
        _ => params.signed_by(&key, &authorities().ours),
    };
    let made = made.expect("a certificate of our own");
    Pair { chain: vec![made.der().clone()], pem: made.pem(), key }
}

fn params(names: &[&str], purpose: ExtendedKeyUsagePurpose) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let mut params = CertificateParams::new(names).expect("names and addresses");
    params.distinguished_name.push(DnType::CommonName, "An animal");
    params.extended_key_usages = vec![purpose];
    params.not_before = date_time_ymd(2019, 1, 1);
    params.not_after = date_time_ymd(4000, 1, 2);
    params
}

/// What a client shows, by this authority.
fn of_client(authority: &CertifiedIssuer<'static, KeyPair>) -> Pair {
    let key = key();
    let params = params(&["visitor.test"], ExtendedKeyUsagePurpose::ClientAuth);
    let made = params.signed_by(&key, authority).expect("a certificate of our own");
    Pair { chain: vec![made.der().clone()], pem: made.pem(), key }
}

/// Writes what a visitor may be told to use into its folder: `ca.pem` (ours), `unknown.pem` (the other authority), `me.pem`
/// and `me.key` (a client's of ours), `stranger.pem` and `stranger.key` (a client's of the other one).
pub(super) fn write_into(folder: &Path) {
    static FILES: OnceLock<Vec<(&str, String)>> = OnceLock::new();
    let files = FILES.get_or_init(|| {
        let Authorities { ours, unknown } = authorities();
        let (me, stranger) = (of_client(ours), of_client(unknown));
        vec![
            ("ca.pem", ours.pem()),
            ("unknown.pem", unknown.pem()),
            ("me.key", me.key.serialize_pem()),
            ("me.pem", me.pem),
            ("stranger.key", stranger.key.serialize_pem()),
            ("stranger.pem", stranger.pem),
        ]
    });
    for (name, text) in files {
        fs::write(folder.join(name), text).expect("a folder of our own");
    }
}
