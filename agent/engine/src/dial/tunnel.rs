//! A tunnel through a proxy to an `https` target (`CONNECT`, RFC 9110 section 9.3.6).

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use volley_plan::{Plan, Remote};
use volley_stats::ErrorKind;

use crate::failure;

/// What tells a proxy who sends.
pub(crate) const PROXY_AUTHORIZATION: &str = "Proxy-Authorization";

/// Most bytes of a proxy's answer.
const MAX_HEAD_BYTES: usize = 16 * 1024;
const END_OF_HEAD: &[u8] = b"\r\n\r\n";

/// What a proxy is asked for before TLS begins.
#[derive(Debug)]
pub(crate) struct Tunnel {
    request: Vec<u8>,
}

impl Tunnel {
    /// That of a plan; none where there is no proxy, or one that is asked for whole URLs.
    pub(super) fn of(plan: &Plan) -> Option<Self> {
        let proxy = plan.http.connect.proxy.as_ref().filter(|_| plan.target.is_tls())?;
        // A zone means something on this machine only.
        let to = Remote { zone: None, ..plan.target.remote() };
        let agent = concat!("volley/", env!("CARGO_PKG_VERSION"));
        let mut text = format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\nUser-Agent: {agent}\r\n");
        if let Some(authorization) = &proxy.authorization {
            text.push_str(&format!("{PROXY_AUTHORIZATION}: {authorization}\r\n"));
        }
        text.push_str("\r\n");
        Some(Self { request: text.into_bytes() })
    }

    /// Asks for it. A proxy that says no has refused the connection.
    pub(super) async fn open(&self, socket: &mut TcpStream) -> Result<(), ErrorKind> {
        socket.write_all(&self.request).await.map_err(|error| failure::of_writing(&error))?;
        let mut head = Vec::with_capacity(512);
        while !head.ends_with(END_OF_HEAD) {
            // The target's first word comes after the client's, so nothing follows the head; still a byte beyond it would be
            // TLS's, and is left to it.
            match socket.read_u8().await {
                Ok(byte) if head.len() < MAX_HEAD_BYTES => head.push(byte),
                Ok(_) => return Err(ErrorKind::Protocol),
                Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                    return Err(ErrorKind::ClosedEarly);
                }
                Err(error) => return Err(failure::of_receiving(&error)),
            }
        }
        granted(&head)
    }
}

/// Whether the answer is any 2xx, as section 9.3.6 has it.
fn granted(head: &[u8]) -> Result<(), ErrorKind> {
    let status = head.strip_prefix(b"HTTP/1.").and_then(|rest| rest.get(2..5));
    match status {
        Some([b'2', b'0'..=b'9', b'0'..=b'9']) => Ok(()),
        Some([b'3'..=b'5', b'0'..=b'9', b'0'..=b'9']) => Err(ErrorKind::ConnectRefused),
        _ => Err(ErrorKind::Protocol),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tunnel_is_asked_for_by_host_and_port() {
        let check = |target: &str, connect: &str, expected: Option<&str>| {
            let text = format!("target: {target}\nusers: 1\nduration: 1s\nconnect: {{ {connect} }}");
            let tunnel = Tunnel::of(&volley_plan::parse(&text).unwrap());
            let asked = tunnel.map(|tunnel| String::from_utf8(tunnel.request).unwrap());
            let agent = concat!("volley/", env!("CARGO_PKG_VERSION"));
            let asked = asked.map(|text| text.replace(agent, "volley"));
            assert_eq!(asked.as_deref(), expected);
        };
        check(
            "https://shop.test/",
            "proxy: 'p:3128'",
            Some("CONNECT shop.test:443 HTTP/1.1\r\nHost: shop.test:443\r\nUser-Agent: volley\r\n\r\n"),
        );
        check(
            "https://[::1]:8443/",
            "proxy: 'p:3128', proxy_authorization: Basic eA==",
            Some(
                "CONNECT [::1]:8443 HTTP/1.1\r\nHost: [::1]:8443\r\nUser-Agent: volley\r\n\
                 Proxy-Authorization: Basic eA==\r\n\r\n",
            ),
        );
        check("http://shop.test/", "proxy: 'p:3128'", None);
        check("https://shop.test/", "to: 'p:3128'", None);
    }

    #[test]
    fn any_2xx_opens_it() {
        let check = |head: &str, expected| assert_eq!(granted(head.as_bytes()), expected, "{head}");
        check("HTTP/1.1 200 Connection established\r\n\r\n", Ok(()));
        check("HTTP/1.0 204\r\n\r\n", Ok(()));
        check("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", Err(ErrorKind::ConnectRefused));
        check("HTTP/1.1 503 \r\n\r\n", Err(ErrorKind::ConnectRefused));
        check("HTTP/1.1 2x0 \r\n\r\n", Err(ErrorKind::Protocol));
        check("SSH-2.0-x\r\n\r\n", Err(ErrorKind::Protocol));
    }
}
