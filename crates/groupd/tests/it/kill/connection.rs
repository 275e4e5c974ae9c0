//! One client's connection, which may be cut at any moment.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use kafka_wire::{Request, RequestHeader, ResponseHeader};

/// Nothing takes this long: who waits for it has found a fault.
const PATIENCE: Duration = Duration::from_mins(1);

/// Why a client is at its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// The server is gone, as it was meant to be.
    Cut,
    /// It said what it must not.
    Wrong(String),
}

/// What a client does ends with the server, or with a fault.
pub(super) type Life<T> = Result<T, Ended>;

/// A fault, in words.
pub(super) fn wrong<T>(what: impl Into<String>) -> Life<T> {
    Err(Ended::Wrong(what.into()))
}

/// One connection of a client. Answers come in the order of the requests.
pub(super) struct Connection {
    stream: TcpStream,
    sent: i32,
    received: i32,
}

impl Connection {
    pub(super) fn open(address: SocketAddr) -> Life<Self> {
        let open = || {
            let stream = TcpStream::connect(address)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_nodelay(true)?;
            Ok(Self { stream, sent: 0, received: 0 })
        };
        open().map_err(ended)
    }

    /// Sends a request; its answer is for [`Connection::receive`].
    pub(super) fn send<'a, R: Request<'a>>(&mut self, version: i16, request: &R) -> Life<()> {
        let frame = self.frame(version, request);
        self.stream.write_all(&frame).map_err(ended)
    }

    /// Sends a request but for its last byte: it must come to nothing.
    pub(super) fn send_torn<'a, R: Request<'a>>(&mut self, version: i16, request: &R) -> Life<()> {
        let frame = self.frame(version, request);
        self.stream.write_all(&frame[..frame.len() - 1]).map_err(ended)
    }

    fn frame<'a, R: Request<'a>>(&mut self, version: i16, request: &R) -> Vec<u8> {
        self.sent += 1;
        let header = RequestHeader {
            api_key: R::KEY.code(),
            api_version: version,
            correlation_id: self.sent,
            client_id: Some("kill"),
        };
        let mut frame = vec![0; 4];
        header.encode(&mut frame).unwrap();
        request.encode(version, &mut frame).unwrap();
        let length = i32::try_from(frame.len() - 4).unwrap();
        frame[..4].copy_from_slice(&length.to_be_bytes());
        frame
    }

    /// The body of the next answer, which is to a request of type `R` and this version.
    pub(super) fn receive<'a, R: Request<'a>>(&mut self, version: i16) -> Life<Vec<u8>> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length).map_err(ended)?;
        let mut frame = vec![0; usize::try_from(i32::from_be_bytes(length)).unwrap()];
        self.stream.read_exact(&mut frame).map_err(ended)?;
        self.received += 1;
        let (header, body) = ResponseHeader::decode(R::KEY.response_header_version(version), &frame).unwrap();
        if header.correlation_id != self.received {
            return wrong(format!("answer {} came as number {}", header.correlation_id, self.received));
        }
        Ok(body.to_vec())
    }

    pub(super) fn ask<'a, R: Request<'a>>(&mut self, version: i16, request: &R) -> Life<Vec<u8>> {
        self.send(version, request)?;
        self.receive::<R>(version)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "made for `map_err`")]
fn ended(error: std::io::Error) -> Ended {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Ended::Wrong(format!("no answer in {PATIENCE:?}")),
        _ => Ended::Cut,
    }
}
