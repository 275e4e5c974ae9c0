//! A whole server on a socket, and clients that speak the protocol byte by byte.
//!
//! Nothing here sleeps: rebalances are not delayed, and what a test waits for is a response. Where it must know
//! that the server has got a request that stays unanswered, it asks an admin's question until that shows.

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests")]

mod connections;
mod groups;
mod histories;
mod hostile;
mod restart;
mod store;
mod testing;
mod topics;
mod transactions;
mod versions;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use groupd::server::Server;
use groupd::settings::{HostPort, Settings, StoreKind, TopicSetting};
use kafka_wire::{Message, Request, RequestHeader, ResponseHeader};

/// Nothing takes this long: a test that waits for it has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// Settings for a server of a test: any port, no delays, nothing on disk, one topic.
pub(crate) fn settings() -> Settings {
    Settings {
        listen: HostPort { host: "127.0.0.1".into(), port: 0 },
        http: None,
        store: StoreKind::Memory,
        shards: 2,
        topics: vec![TopicSetting { name: "orders".into(), partitions: 6 }],
        group_initial_rebalance_delay: Duration::ZERO,
        ..Settings::default()
    }
}

/// A server that has loaded all it keeps.
pub(crate) fn start(settings: &Settings) -> Server {
    let mut server = Server::start(settings).unwrap();
    server.wait_until_loaded().unwrap();
    server
}

/// One connection of a client.
pub(crate) struct Client {
    stream: TcpStream,
    correlation_id: i32,
}

/// A request on its way.
#[must_use = "its answer comes, and comes before all later ones"]
pub(crate) struct Sent {
    header_version: i16,
    correlation_id: i32,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, correlation_id: 0 }
    }

    /// Sends `request` and leaves its answer for [`Client::receive`].
    pub(crate) fn send<'a, R: Request<'a>>(&mut self, version: i16, request: &R) -> Sent {
        self.correlation_id += 1;
        let correlation_id = self.correlation_id;
        let api_key = R::KEY.code();
        let header = RequestHeader { api_key, api_version: version, correlation_id, client_id: Some("it") };
        let mut frame = Vec::new();
        header.encode(&mut frame).unwrap();
        request.encode(version, &mut frame).unwrap();
        self.send_frame(&frame);
        Sent { header_version: R::KEY.response_header_version(version), correlation_id }
    }

    /// The body of the next answer, which must be that of `sent`.
    #[expect(clippy::needless_pass_by_value, reason = "an answer comes once")]
    pub(crate) fn receive(&mut self, sent: Sent) -> Vec<u8> {
        let frame = self.receive_frame().expect("the connection ended before the answer");
        let (header, body) = ResponseHeader::decode(sent.header_version, &frame).unwrap();
        assert_eq!(header.correlation_id, sent.correlation_id, "answers come in the order of the requests");
        body.to_vec()
    }

    /// Whether bytes have come that were not received yet.
    pub(crate) fn has_answer(&self) -> bool {
        self.stream.set_nonblocking(true).unwrap();
        let came = self.stream.peek(&mut [0]).is_ok();
        self.stream.set_nonblocking(false).unwrap();
        came
    }

    /// Asks and waits for the answer's body.
    pub(crate) fn ask<'a, R: Request<'a>>(&mut self, version: i16, request: &R) -> Vec<u8> {
        let sent = self.send(version, request);
        self.receive(sent)
    }

    pub(crate) fn send_frame(&mut self, frame: &[u8]) {
        let mut bytes = i32::try_from(frame.len()).unwrap().to_be_bytes().to_vec();
        bytes.extend_from_slice(frame);
        self.send_bytes(&bytes);
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Sends one more byte; `false`: the server has closed the connection.
    pub(crate) fn trickle(&mut self) -> bool {
        self.stream.write_all(&[0]).is_ok()
    }

    /// The next frame; `None`: the server has closed the connection.
    pub(crate) fn receive_frame(&mut self) -> Option<Vec<u8>> {
        let mut length = [0; 4];
        match self.stream.read_exact(&mut length) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                panic!("no answer in {PATIENCE:?}")
            }
            // In the midst of what it still had to say, or of what we still had to.
            Err(_) => return None,
        }
        let mut frame = vec![0; usize::try_from(i32::from_be_bytes(length)).unwrap()];
        self.stream.read_exact(&mut frame).unwrap();
        Some(frame)
    }
}

/// The message in `body`.
pub(crate) fn read<'a, M: Message<'a>>(version: i16, body: &'a [u8]) -> M {
    M::decode(version, body).unwrap()
}
