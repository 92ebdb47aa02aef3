//! What a handshake has settled, in OpenSSL's names, which are ab's.

use rustls_pki_types::CertificateDer;
use volley_agent::HeardTls;
use webpki::EndEntityCert;

use super::report::TlsLines;

const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const P384: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x22];
const P521: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x23];

/// The lines, with the name that was asked for.
pub(super) fn lines(tls: &HeardTls, server_name: Option<String>) -> TlsLines {
    let version = tls.version.replace('_', ".");
    let bits = tls.certificate.as_deref().and_then(certificate_bits).unwrap_or(0);
    let protocol = format!("{version},{},{bits},{}", suite(&tls.suite), suite_bits(&tls.suite));
    TlsLines { protocol, temp_key: tls.group.as_deref().map(temp_key), server_name }
}

/// `TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384` is `ECDHE-RSA-AES256-GCM-SHA384`; the names of TLS 1.3 stay.
fn suite(name: &str) -> String {
    if let Some(rest) = name.strip_prefix("TLS13_") {
        return format!("TLS_{rest}");
    }
    let bare = name.strip_prefix("TLS_").unwrap_or(name).replace("_WITH_", "_");
    let bare = bare.strip_suffix("POLY1305_SHA256").map_or(bare.clone(), |front| format!("{front}POLY1305"));
    bare.replace("AES_", "AES").replace('_', "-")
}

fn suite_bits(name: &str) -> u32 {
    if name.contains("AES_128") { 128 } else { 256 }
}

fn temp_key(group: &str) -> String {
    match group {
        "X25519" => "X25519 253 bits".to_owned(),
        "secp256r1" => "ECDH prime256v1 256 bits".to_owned(),
        "secp384r1" => "ECDH secp384r1 384 bits".to_owned(),
        "secp521r1" => "ECDH secp521r1 521 bits".to_owned(),
        // OpenSSL has no number of bits for hybrids.
        other => other.to_owned(),
    }
}

/// The bits of a certificate's public key, as OpenSSL counts them.
fn certificate_bits(der: &[u8]) -> Option<usize> {
    let der = CertificateDer::from(der);
    let certificate = EndEntityCert::try_from(&der).ok()?;
    key_bits(certificate.subject_public_key_info().as_ref())
}

/// Those of a SubjectPublicKeyInfo (RFC 5280 section 4.1).
fn key_bits(spki: &[u8]) -> Option<usize> {
    let (info, _) = element(spki)?;
    let (algorithm, rest) = element(info)?;
    let (id, parameters) = element(algorithm)?;
    match id {
        RSA => rsa_bits(element(rest)?.0),
        EC => match element(parameters)?.0 {
            P256 => Some(256),
            P384 => Some(384),
            P521 => Some(521),
            _ => None,
        },
        ED25519 => Some(253),
        _ => None,
    }
}

/// The length of the modulus in the bit string of an RSA key (RFC 8017 appendix A.1.1).
fn rsa_bits(bit_string: &[u8]) -> Option<usize> {
    let (key, _) = element(bit_string.strip_prefix(&[0])?)?;
    let (modulus, _) = element(key)?;
    let first = modulus.iter().position(|&byte| byte != 0)?;
    Some((modulus.len() - first) * 8 - modulus[first].leading_zeros() as usize)
}

/// The content of the first element of DER, and what follows it.
fn element(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let [_tag, length, rest @ ..] = der else { return None };
    let (length, rest) = match length {
        0..0x80 => (usize::from(*length), rest),
        _ => {
            let (digits, rest) = rest.split_at_checked(usize::from(length & 0x7f).min(5))?;
            (digits.iter().fold(0, |sum, &digit| sum << 8 | usize::from(digit)), rest)
        }
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_have_their_openssl_names() {
        let check = |name: &str, expected: &str, bits| {
            assert_eq!((suite(name).as_str(), suite_bits(name)), (expected, bits));
        };
        check("TLS13_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384", 256);
        check("TLS13_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256", 128);
        check("TLS13_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256", 256);
        check("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384", 256);
        check("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256", 128);
        check("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305", 256);
    }

    #[test]
    fn lines_are_put_together() {
        let tls = HeardTls {
            version: "TLSv1_3".to_owned(),
            suite: "TLS13_AES_256_GCM_SHA384".to_owned(),
            group: Some("secp384r1".to_owned()),
            certificate: None,
        };
        let expected = TlsLines {
            protocol: "TLSv1.3,TLS_AES_256_GCM_SHA384,0,256".to_owned(),
            temp_key: Some("ECDH secp384r1 384 bits".to_owned()),
            server_name: Some("h".to_owned()),
        };
        assert_eq!(lines(&tls, Some("h".to_owned())), expected);
        assert_eq!(temp_key("X25519"), "X25519 253 bits");
        assert_eq!(temp_key("X25519MLKEM768"), "X25519MLKEM768");
    }

    /// DER of this tag and content.
    fn der(tag: u8, content: &[u8]) -> Vec<u8> {
        let length = content.len();
        let head = match u8::try_from(length) {
            Ok(short) if short < 0x80 => vec![tag, short],
            _ => vec![tag, 0x82, (length >> 8) as u8, length as u8],
        };
        [head, content.to_vec()].concat()
    }

    fn info(id: &[u8], parameters: &[u8], key: &[u8]) -> Vec<u8> {
        let algorithm = der(0x30, &[der(0x06, id), parameters.to_vec()].concat());
        der(0x30, &[algorithm, der(0x03, &[&[0], key].concat())].concat())
    }

    #[test]
    fn key_lengths_are_counted_as_openssl_does() {
        let rsa = |modulus: &[u8]| {
            let key = der(0x30, &[der(0x02, modulus), der(0x02, &[1, 0, 1])].concat());
            info(RSA, &[5, 0], &key)
        };
        let check = |spki: &[u8], expected| assert_eq!(key_bits(spki), expected);
        check(&rsa(&[&[0, 0x80], [7; 255].as_slice()].concat()), Some(2048));
        check(&rsa(&[&[0x40], [7; 255].as_slice()].concat()), Some(2047));
        check(&info(EC, &der(0x06, P256), &[4; 65]), Some(256));
        check(&info(EC, &der(0x06, P384), &[4; 97]), Some(384));
        check(&info(ED25519, &[], &[1; 32]), Some(253));
        check(&info(&[1], &[], &[]), None);
        for cut in 0..20 {
            check(&rsa(&[0x40; 100])[..cut], None);
        }
    }
}
