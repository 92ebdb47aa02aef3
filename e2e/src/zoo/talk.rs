//! A connection as an animal has it: whole requests in, any bytes out, and any end.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustls::{ServerConnection, StreamOwned};

use super::cage::Counts;
use crate::server::Request;

/// Most bytes that are read off a connection which is to be emptied.
const DRAINED_BYTES_MAX: usize = 256 << 20;
/// How long an animal waits for its visitor at most; no good visit takes that long.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// What carries the bytes.
pub(super) enum Wire {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<StreamOwned<ServerConnection, TcpStream>>),
}

/// One connection.
pub struct Talk {
    wire: Wire,
    unread: Vec<u8>,
    counts: Arc<Counts>,
    number: u64,
    requests: u64,
    pub(super) resets: bool,
}

impl Talk {
    pub(super) fn new(wire: Wire, counts: Arc<Counts>, number: u64) -> Self {
        Self { wire, unread: Vec::new(), counts, number, requests: 0, resets: false }
    }

    /// The number of this connection, from 1.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The next request, once all of it is there; `None` once the client has closed. Its head is counted.
    ///
    /// # Errors
    /// Where the connection failed.
    pub fn request(&mut self) -> io::Result<Option<Request>> {
        let Some(request) = self.head()? else { return Ok(None) };
        let is_whole = self.body(&request)?;
        Ok(is_whole.then_some(request))
    }

    /// Takes the body of a request whose head was taken; false if the client closed before its end.
    ///
    /// # Errors
    /// Where the connection failed.
    pub fn body(&mut self, request: &Request) -> io::Result<bool> {
        let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        while self.unread.len() < length {
            if self.read_more()? == 0 {
                return Ok(false);
            }
        }
        self.unread.drain(..length);
        Ok(true)
    }

    /// The next request's head; its body isn't waited for.
    ///
    /// # Errors
    /// Where the connection failed.
    pub fn head(&mut self) -> io::Result<Option<Request>> {
        let nowhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        loop {
            if let Some((mut request, used)) = Request::parse_head(&self.unread, (nowhere, nowhere)) {
                self.unread.drain(..used);
                self.requests += 1;
                (request.connection, request.on_connection) = (self.number, self.requests);
                self.counts.note_request();
                return Ok(Some(request));
            }
            if self.read_more()? == 0 {
                return Ok(None);
            }
        }
    }

    /// Whether the client says nothing for so long.
    ///
    /// # Errors
    /// Where the connection failed.
    pub fn is_silent_for_ms(&mut self, ms: u64) -> io::Result<bool> {
        let Some(stream) = self.tcp() else { return Ok(self.unread.is_empty()) };
        stream.set_read_timeout(Some(Duration::from_millis(ms)))?;
        let heard = self.read_more();
        if let Some(stream) = self.tcp() {
            stream.set_read_timeout(Some(PATIENCE))?;
        }
        match heard {
            Ok(_) => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(self.unread.is_empty()),
            Err(error) => Err(error),
        }
    }

    /// Where the server's end of the connection is, where that is an address.
    #[must_use]
    pub fn local(&self) -> Option<SocketAddr> {
        self.tcp().and_then(|stream| stream.local_addr().ok())
    }

    /// The port that the client connected to; 0 where it is a Unix socket.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.local().map_or(0, |address| address.port())
    }

    /// Where the client's end of the connection is, where that is an address.
    #[must_use]
    pub fn peer(&self) -> Option<SocketAddr> {
        self.tcp().and_then(|stream| stream.peer_addr().ok())
    }

    /// The name that the client asked for in TLS.
    #[must_use]
    pub fn server_name(&self) -> Option<&str> {
        match &self.wire {
            Wire::Tls(stream) => stream.conn.server_name(),
            Wire::Tcp(_) | Wire::Unix(_) => None,
        }
    }

    fn read_more(&mut self) -> io::Result<usize> {
        let mut buffer = [0; 64 * 1024];
        let bytes = self.read(&mut buffer)?;
        self.unread.extend_from_slice(&buffer[..bytes]);
        Ok(bytes)
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.wire {
            Wire::Tcp(stream) => stream.read(buffer),
            Wire::Unix(stream) => stream.read(buffer),
            Wire::Tls(stream) => stream.read(buffer),
        }
    }

    /// Sends these bytes at once.
    ///
    /// # Errors
    /// Where the connection failed.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        let wire: &mut dyn Write = match &mut self.wire {
            Wire::Tcp(stream) => stream,
            Wire::Unix(stream) => stream,
            Wire::Tls(stream) => stream,
        };
        wire.write_all(bytes.as_ref())?;
        wire.flush()
    }

    /// Sends these bytes one by one, so far apart that each comes alone.
    ///
    /// # Errors
    /// Where the connection failed.
    pub fn drip(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        for byte in bytes.as_ref() {
            self.send([*byte])?;
            self.pause_ms(1);
        }
        Ok(())
    }

    /// Sends bytes past TLS, where there is TLS.
    ///
    /// # Errors
    /// Where the connection failed.
    pub fn send_bare(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.wire {
            Wire::Tls(stream) => stream.sock.write_all(bytes),
            Wire::Tcp(_) | Wire::Unix(_) => self.send(bytes),
        }
    }

    /// Ends TLS with a fatal alert. It is the one for a record that can't be decrypted, which takes such a record: one that
    /// only seems to have come from the client.
    ///
    /// # Errors
    /// Where the connection failed.
    pub fn alert(&mut self) -> io::Result<()> {
        let Wire::Tls(stream) = &mut self.wire else { return Ok(()) };
        let mut forged: &[u8] = b"\x17\x03\x03\x00\x20 these are thirty-two bytes more..";
        stream.conn.read_tls(&mut forged)?;
        assert!(stream.conn.process_new_packets().is_err(), "a forged record was taken");
        while stream.conn.wants_write() {
            stream.conn.write_tls(&mut stream.sock)?;
        }
        self.drain()
    }

    /// Does nothing for so long.
    pub fn pause_ms(&self, ms: u64) {
        thread::sleep(Duration::from_millis(ms));
    }

    /// Ends the connection in the orderly way: says that nothing more comes and takes what does, until the client closes.
    ///
    /// # Errors
    /// Where the connection failed.
    pub fn close(&mut self) -> io::Result<()> {
        self.half_close()?;
        self.drain()
    }

    /// Says that nothing more comes.
    ///
    /// # Errors
    /// Where the connection failed.
    pub fn half_close(&mut self) -> io::Result<()> {
        if let Wire::Tls(stream) = &mut self.wire {
            stream.conn.send_close_notify();
            stream.flush()?;
        }
        self.cut()
    }

    /// The same without a word of TLS.
    ///
    /// # Errors
    /// Where the connection failed.
    pub fn cut(&mut self) -> io::Result<()> {
        match &mut self.wire {
            Wire::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Wire::Unix(stream) => stream.shutdown(Shutdown::Write),
            Wire::Tls(stream) => stream.sock.shutdown(Shutdown::Write),
        }
    }

    /// Takes what comes and answers nothing, until the client closes.
    ///
    /// # Errors
    /// Where the connection failed.
    pub fn drain(&mut self) -> io::Result<()> {
        let mut buffer = [0; 64 * 1024];
        let mut drained = 0;
        while drained < DRAINED_BYTES_MAX {
            match self.read(&mut buffer)? {
                0 => break,
                bytes => drained += bytes,
            }
        }
        Ok(())
    }

    /// Ends the connection with RST. That makes the client's kernel throw away what it has not read, so the client gets a
    /// moment to read what was sent before.
    ///
    /// # Errors
    /// Never; it is an end like the others.
    pub fn reset(&mut self) -> io::Result<()> {
        self.pause_ms(10);
        self.resets = true;
        Ok(())
    }

    /// The TCP stream, where there is one.
    pub(super) fn tcp(&self) -> Option<&TcpStream> {
        match &self.wire {
            Wire::Tcp(stream) => Some(stream),
            Wire::Tls(stream) => Some(&stream.sock),
            Wire::Unix(_) => None,
        }
    }
}
