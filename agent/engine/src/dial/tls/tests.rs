//! What is refused of a plan's TLS before the run.

use std::fs;

use rcgen::{CertificateParams, KeyPair};
use volley_plan::Target;

use super::*;

/// A certificate and its key, in PEM.
fn pair() -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let certificate =
        CertificateParams::new(vec!["shop.test".to_owned()]).unwrap().self_signed(&key).unwrap();
    (certificate.pem(), key.serialize_pem())
}

fn name(text: &str) -> Option<FileName> {
    Some(FileName::parse(text).unwrap())
}

/// What becomes of a plan for `https://shop.test/` with something else about its TLS, and these files.
fn check(files: &[(&str, &[u8])], change: impl FnOnce(&mut Plan), expected: Result<(), &str>) {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    let mut plan = volley_plan::parse("target: http://shop.test/\nusers: 1\nduration: 1s").unwrap();
    plan.target = Target::parse("https://shop.test/").unwrap();
    plan.http.tls.insecure = true;
    change(&mut plan);
    let made = Material::read(&plan, &Files::new(Some(folder.path())))
        .and_then(|material| material.expect("an https target").client());
    match (made, expected) {
        (Ok(_), expected) => assert_eq!(Ok(()), expected),
        (Err(error), Err(part)) => {
            let sentence = crate::sentence(&error);
            assert!(sentence.contains(part), "{sentence}");
        }
        (Err(error), Ok(())) => panic!("{}", crate::sentence(&error)),
    }
}

fn trusts(plan: &mut Plan) {
    (plan.http.tls.insecure, plan.http.tls.ca) = (false, name("ca.pem"));
}

fn shows(plan: &mut Plan) {
    (plan.http.tls.certificate, plan.http.tls.key) = (name("me.pem"), name("me.key"));
}

#[test]
fn trusted_certificates_must_be_some() {
    let (certificate, key) = pair();
    let check = |text: &str, expected| check(&[("ca.pem", text.as_bytes())], trusts, expected);
    check(&certificate, Ok(()));
    check(&format!("{key}{certificate}{certificate}"), Ok(()));
    check("", Err("the file ca.pem has no PEM certificate in it"));
    check(&key, Err("the file ca.pem has no PEM certificate in it"));
    check("-----BEGIN CERTIFICATE-----\nAAAA", Err("the file ca.pem is no PEM"));
    check(
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        Err("a certificate in the file ca.pem is of no use"),
    );
    check(&"x".repeat(2 << 20), Err("the file ca.pem is larger than 1048576 bytes"));
}

#[test]
fn a_client_certificate_needs_its_own_key() {
    let ((certificate, key), (_, other)) = (pair(), pair());
    let check = |key: &str, expected| {
        check(&[("me.pem", certificate.as_bytes()), ("me.key", key.as_bytes())], shows, expected);
    };
    check(&key, Ok(()));
    check(&certificate, Err("the file me.key has no private key in it that is PEM"));
    check(&key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY"), Err("and not encrypted"));
    check(&other, Err("certificate me.pem and key me.key cannot be used together"));
}

#[test]
fn files_that_are_missing_are_named() {
    check(&[], trusts, Err("the file ca.pem cannot be opened in "));
    let (certificate, _) = pair();
    check(&[("me.pem", certificate.as_bytes())], shows, Err("the file me.key cannot be opened in "));
}

#[test]
fn a_name_must_be_one_that_a_certificate_can_be_of() {
    let named = |name: &'static str| move |plan: &mut Plan| plan.http.tls.server_name = Some(name.to_owned());
    check(&[], named("shop.example"), Ok(()));
    check(&[], named("10.0.0.1"), Ok(()));
    check(&[], named("a..b"), Err("\"a..b\" is no name that a certificate could be of"));
}

#[test]
fn plain_http_takes_nothing() {
    let plan = volley_plan::parse("target: http://shop.test/\nusers: 1\nduration: 1s").unwrap();
    assert!(Material::read(&plan, &Files::new(None)).unwrap().is_none());
}
