//! What ab says and how it exits when something breaks.

use volley_stats::ErrorKind;

/// ab's sentence on stderr, and its exit code.
pub(super) fn breakage(kind: ErrorKind) -> (String, u8) {
    let (call, why, number, code) = match kind {
        ErrorKind::ConnectRefused => ("apr_socket_recv", "Connection refused", 111, 111),
        ErrorKind::ConnectUnreachable => ("apr_socket_recv", "No route to host", 113, 113),
        ErrorKind::LocalPorts => ("apr_socket_connect()", "Cannot assign requested address", 99, 99),
        ErrorKind::Descriptors => ("socket", "Too many open files", 24, 24),
        ErrorKind::Reset | ErrorKind::Write => ("apr_socket_recv", "Connection reset by peer", 104, 104),
        ErrorKind::ConnectTimeout
        | ErrorKind::FirstByteTimeout
        | ErrorKind::IdleTimeout
        | ErrorKind::TotalTimeout => {
            // The code is what is left of the number in eight bits.
            ("apr_pollset_poll", "The timeout specified has expired", 70_007, 119)
        }
        other => return (format!("apr_socket_recv: {}", other.name()), 1),
    };
    (format!("{call}: {why} ({number})"), code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_breaks_has_abs_words_and_code() {
        let check = |kind, sentence: &str, code| assert_eq!(breakage(kind), (sentence.to_owned(), code));
        check(ErrorKind::ConnectRefused, "apr_socket_recv: Connection refused (111)", 111);
        check(ErrorKind::Reset, "apr_socket_recv: Connection reset by peer (104)", 104);
        let late = "apr_pollset_poll: The timeout specified has expired (70007)";
        check(ErrorKind::TotalTimeout, late, 119);
        check(ErrorKind::ConnectTimeout, late, 119);
        assert_eq!(70_007 % 256, 119);
    }
}
