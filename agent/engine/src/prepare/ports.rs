//! How many local ports the kernel has for connections to one address.

use std::fs;
use std::ops::RangeInclusive;

/// Where the kernel takes local ports from, for IPv6 too (its Documentation/networking/ip-sysctl.rst).
const RANGE: &str = "/proc/sys/net/ipv4/ip_local_port_range";
/// Those of them that it leaves alone.
const RESERVED: &str = "/proc/sys/net/ipv4/ip_local_reserved_ports";

/// The number of local ports that connections to one address can use. Other programs' connections to the same address
/// take from them, as do ports that others listen on. `None` where the kernel doesn't say.
pub(super) fn by_address() -> Option<u32> {
    let reserved = fs::read_to_string(RESERVED).unwrap_or_default();
    usable(&fs::read_to_string(RANGE).ok()?, &reserved)
}

/// The size of a range, without what is reserved of it. The kernel writes the reserved ones in order and each once.
fn usable(range: &str, reserved: &str) -> Option<u32> {
    let range = parse_range(range)?;
    let reserved = reserved.trim().split(',').filter_map(parse_piece);
    let lost: u32 = reserved.map(|piece| overlap(&range, &piece)).sum();
    Some(size(&range).saturating_sub(lost))
}

/// `32768 60999`, with any blanks between.
fn parse_range(text: &str) -> Option<RangeInclusive<u16>> {
    let mut ends = text.split_ascii_whitespace().map(|end| end.parse().ok());
    Some(ends.next()??..=ends.next()??)
}

/// `8080` or `9000-9010`.
fn parse_piece(text: &str) -> Option<RangeInclusive<u16>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some(first.parse().ok()?..=last.parse().ok()?)
}

fn overlap(a: &RangeInclusive<u16>, b: &RangeInclusive<u16>) -> u32 {
    size(&(*a.start().max(b.start())..=*a.end().min(b.end())))
}

fn size(range: &RangeInclusive<u16>) -> u32 {
    (u32::from(*range.end()) + 1).saturating_sub(u32::from(*range.start()))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn reserved_ports_are_taken_from_the_range() {
        for (range, reserved, expected) in [
            ("32768\t60999\n", "\n", Some(28_232)),
            ("32768\t60999\n", "", Some(28_232)),
            ("40000\t40099\n", "\n", Some(100)),
            ("40000\t40099\n", "40010-40019,50000\n", Some(90)),
            ("40000\t40099\n", "8080,39990-40009,40099\n", Some(89)),
            ("40000\t40099\n", "1-65535\n", Some(0)),
            ("1\t65535\n", "\n", Some(65_535)),
            ("40001\t40001\n", "\n", Some(1)),
            ("40000\t40099\n", "x,40000,7-,-\n", Some(99)),
            ("40000\n", "\n", None),
            ("40000 70000\n", "\n", None),
            ("", "", None),
        ] {
            assert_eq!(usable(range, reserved), expected, "{range:?} {reserved:?}");
        }
    }

    #[test]
    fn local_ports_come_out_of_this_machines_range() {
        let range = fs::read_to_string(RANGE).ok().and_then(|text| parse_range(&text)).expect("a range");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let stream = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
        let port = stream.local_addr().expect("an address").port();
        assert!(range.contains(&port), "{port} of {range:?}");
        let usable = by_address().expect("a number");
        assert!((1..=size(&range)).contains(&usable), "{usable} of {range:?}");
    }
}
