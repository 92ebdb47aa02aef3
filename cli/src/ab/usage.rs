//! What `volley ab -h` prints.

/// The flags, for terminals of 80 columns.
pub(super) const USAGE: &str = "\
Usage: volley ab [flags] [http[s]://]host[:port]/path

Takes ApacheBench's flags and prints its report; docs/ab.md tells what differs.

Load
  -n N           requests to send, exactly [default: 1]
  -c N           connections, each with one request at a time [default: 1]
  -t SECONDS     stop after so long; means -n 50000 unless an -n follows
  -s SECONDS     the most that one request may take [default: 30]
  -k             keep connections alive
  -r             count what breaks as a failure and go on; else it ends the run
  -l             lengths may differ from answer to answer

Requests
  -m METHOD      the method
  -i             HEAD
  -p FILE        POST this file
  -u FILE        PUT this file
  -T TYPE        the body's content type [default: text/plain]
  -H LINE        a header line, 'Name: value', as often as needed
  -C NAME=VALUE  a cookie, as often as needed
  -A USER:PASS   basic authentication

Ways
  -X HOST:PORT   a proxy
  -P USER:PASS   basic authentication for the proxy
  -B ADDRESS     an address of this machine to connect from
  -f VERSION     TLS1.2, TLS1.3 or ALL [default: ALL]
  -E FILE        a client certificate with its key, PEM
  -I             don't ask for the host by name (SNI)

Output
  -q             no progress
  -v LEVEL       2 shows the request and each answer, 3 their statuses too
  -S             no deviations, medians and warnings
  -d             no table of percentiles
  -g FILE        a line for each request, tab-separated, for gnuplot
  -e FILE        a line for each percentile, comma-separated
  -V             the version
  -h, --help     this text, with ab's exit code 22 or with 0

Not here: -b, -w, -x, -y, -z and -Z, which are refused.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_fits_a_terminal() {
        let longest = USAGE.lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(80), "{longest:?}");
    }
}
