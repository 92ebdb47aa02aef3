//! From what the operating system says to error kinds.

use std::io;

use rustix::io::Errno;
use volley_stats::ErrorKind;

/// Why no connection came about.
pub(crate) fn of_connecting(error: &io::Error) -> ErrorKind {
    match Errno::from_io_error(error) {
        Some(Errno::CONNREFUSED) => ErrorKind::ConnectRefused,
        Some(Errno::TIMEDOUT) => ErrorKind::ConnectTimeout,
        Some(Errno::CONNRESET) => ErrorKind::Reset,
        Some(Errno::ADDRNOTAVAIL | Errno::ADDRINUSE) => ErrorKind::LocalPorts,
        Some(Errno::MFILE | Errno::NFILE) => ErrorKind::Descriptors,
        // EHOSTUNREACH and ENETUNREACH, and what firewalls and missing interfaces make of connect().
        _ => ErrorKind::ConnectUnreachable,
    }
}

/// Why a request could not be written.
pub(crate) fn of_writing(error: &io::Error) -> ErrorKind {
    match Errno::from_io_error(error) {
        Some(Errno::CONNRESET) => ErrorKind::Reset,
        _ => ErrorKind::Write,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_their_kinds() {
        for (errno, kind) in [
            (Errno::CONNREFUSED, ErrorKind::ConnectRefused),
            (Errno::TIMEDOUT, ErrorKind::ConnectTimeout),
            (Errno::HOSTUNREACH, ErrorKind::ConnectUnreachable),
            (Errno::NETUNREACH, ErrorKind::ConnectUnreachable),
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
    }
}
