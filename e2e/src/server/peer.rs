//! Which process is at the other end of a connection of this host, as Linux tells it.

use std::fs;
use std::net::SocketAddr;

/// Whether a process has the socket of IPv4 that is connected from one address to the other.
pub(super) fn is_of_process(from: SocketAddr, to: SocketAddr, process: u32) -> bool {
    inode_of(from, to).is_some_and(|inode| has_socket(process, &inode))
}

/// The inode of that socket: `/proc/net/tcp` has the local address second, the remote one third, the state fourth, the
/// inode tenth (proc(5)). Old connections between the same ports have another state.
fn inode_of(from: SocketAddr, to: SocketAddr) -> Option<String> {
    const ESTABLISHED: &str = "01";
    let table = fs::read_to_string("/proc/net/tcp").ok()?;
    let ends = [from, to].map(|address| format!(":{:04X}", address.port()));
    let mut rows = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let row = rows.find(|row| {
        row.len() > 9 && row[1].ends_with(&ends[0]) && row[2].ends_with(&ends[1]) && row[3] == ESTABLISHED
    })?;
    Some(row[9].to_owned())
}

fn has_socket(process: u32, inode: &str) -> bool {
    let link = format!("socket:[{inode}]");
    let descriptors = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    descriptors
        .filter_map(|entry| fs::read_link(entry.path()).ok())
        .any(|target| target.as_os_str() == link.as_str())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_connection_of_this_process_is_known() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let to = listener.local_addr().expect("an address");
        let stream = TcpStream::connect(to).expect("a connection");
        let from = stream.local_addr().expect("an address");
        assert!(is_of_process(from, to, std::process::id()));
        assert!(!is_of_process(from, to, 1));
    }
}
