//! From what the operating system and TLS say to error kinds.

use std::io;

use rustix::io::Errno;
use tokio_rustls::rustls;
use volley_stats::ErrorKind;

/// Why no connection came about.
pub(crate) fn of_connecting(error: &io::Error) -> ErrorKind {
    match Errno::from_io_error(error) {
        Some(Errno::CONNREFUSED) => ErrorKind::ConnectRefused,
        Some(Errno::TIMEDOUT) => ErrorKind::ConnectTimeout,
        Some(Errno::CONNRESET) => ErrorKind::Reset,
        Some(Errno::ADDRNOTAVAIL | Errno::ADDRINUSE) => ErrorKind::LocalPorts,
        // A Unix socket whose backlog is full says this at once, where TCP waits.
        Some(Errno::AGAIN) => ErrorKind::ConnectRefused,
        Some(Errno::MFILE | Errno::NFILE) => ErrorKind::Descriptors,
        // EHOSTUNREACH and ENETUNREACH, and what firewalls, missing interfaces and missing sockets make of connect().
        _ => ErrorKind::ConnectUnreachable,
    }
}

/// Why a handshake came to nothing. Whoever closes or resets the connection in the middle of one has failed it.
pub(crate) fn of_handshake(error: &io::Error) -> ErrorKind {
    of_tls(error).unwrap_or(ErrorKind::Tls)
}

/// Why a request could not be written.
pub(crate) fn of_writing(error: &io::Error) -> ErrorKind {
    match Errno::from_io_error(error) {
        Some(Errno::CONNRESET) => ErrorKind::Reset,
        _ => of_tls(error).unwrap_or(ErrorKind::Write),
    }
}

/// Why nothing more could be read. What TLS finds fault with after the handshake, such as an alert, is its own kind.
pub(crate) fn of_receiving(error: &io::Error) -> ErrorKind {
    of_tls(error).unwrap_or(ErrorKind::Reset)
}

/// What TLS says, if it is TLS that says something.
fn of_tls(error: &io::Error) -> Option<ErrorKind> {
    let error = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    Some(match error {
        rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented => {
            ErrorKind::TlsCertificate
        }
        _ => ErrorKind::Tls,
    })
}

#[cfg(test)]
mod tests {
    use rustls::{AlertDescription, CertificateError};

    use super::*;

    #[test]
    fn errors_have_their_kinds() {
        for (errno, kind) in [
            (Errno::CONNREFUSED, ErrorKind::ConnectRefused),
            (Errno::TIMEDOUT, ErrorKind::ConnectTimeout),
            (Errno::HOSTUNREACH, ErrorKind::ConnectUnreachable),
            (Errno::NETUNREACH, ErrorKind::ConnectUnreachable),
            (Errno::NOENT, ErrorKind::ConnectUnreachable),
            (Errno::ADDRNOTAVAIL, ErrorKind::LocalPorts),
            (Errno::MFILE, ErrorKind::Descriptors),
            (Errno::NFILE, ErrorKind::Descriptors),
            (Errno::CONNRESET, ErrorKind::Reset),
            (Errno::PERM, ErrorKind::ConnectUnreachable),
        ] {
            assert_eq!(of_connecting(&errno.into()), kind, "{errno}");
        }
        assert_eq!(of_writing(&Errno::PIPE.into()), ErrorKind::Write);
        assert_eq!(of_writing(&Errno::CONNRESET.into()), ErrorKind::Reset);
        assert_eq!(of_receiving(&Errno::CONNRESET.into()), ErrorKind::Reset);
        assert_eq!(of_handshake(&Errno::CONNRESET.into()), ErrorKind::Tls);
    }

    #[test]
    fn what_tls_says_is_told_apart_in_every_phase() {
        let check = |error: rustls::Error, kind| {
            let error = io::Error::new(io::ErrorKind::InvalidData, error);
            assert_eq!((of_handshake(&error), of_receiving(&error), of_writing(&error)), (kind, kind, kind));
        };
        check(CertificateError::Expired.into(), ErrorKind::TlsCertificate);
        check(CertificateError::UnknownIssuer.into(), ErrorKind::TlsCertificate);
        check(rustls::Error::AlertReceived(AlertDescription::CertificateRequired), ErrorKind::Tls);
        check(rustls::Error::DecryptError, ErrorKind::Tls);
    }
}
