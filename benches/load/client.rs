//! One connection of the load: one request at a time, no more work than the answer needs.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use kafka_wire::{ApiKey, FindCoordinatorRequest, Message, Request, RequestHeader, ResponseHeader};
use kafka_wire::{CreateTopicsRequest, create_topics::CreatableTopic};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The topic that members subscribe to and offsets are committed for.
pub(crate) const TOPIC: &str = "load";
/// Its partitions.
pub(crate) const PARTITIONS: i32 = 100;

/// A connection of the load.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    correlation_id: i32,
    out: Vec<u8>,
    frame: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, correlation_id: 0, out: Vec::new(), frame: Vec::new() }
    }

    /// Sends `request` and hands the answer to `read`.
    pub(crate) async fn ask<'q, Q: Request<'q>, T>(
        &mut self,
        version: i16,
        request: &Q,
        read: impl for<'r> FnOnce(Q::Response<'r>) -> T,
    ) -> T {
        self.send(version, request).await;
        self.receive::<Q, T>(version, read).await
    }

    /// Sends `request` only: its answer is to be received later.
    pub(crate) async fn send<'q, Q: Request<'q>>(&mut self, version: i16, request: &Q) {
        self.correlation_id += 1;
        let header = RequestHeader {
            api_key: Q::KEY.code(),
            api_version: version,
            correlation_id: self.correlation_id,
            client_id: Some("load"),
        };
        self.out.clear();
        self.out.extend([0; 4]);
        header.encode(&mut self.out).unwrap();
        request.encode(version, &mut self.out).unwrap();
        let length = u32::try_from(self.out.len() - 4).unwrap();
        self.out[..4].copy_from_slice(&length.to_be_bytes());
        self.stream.write_all(&self.out).await.unwrap();
    }

    /// The answer to what was sent.
    pub(crate) async fn receive<'q, Q: Request<'q>, T>(
        &mut self,
        version: i16,
        read: impl for<'r> FnOnce(Q::Response<'r>) -> T,
    ) -> T {
        let length = self.stream.read_u32().await.unwrap() as usize;
        self.frame.resize(length, 0);
        self.stream.read_exact(&mut self.frame).await.unwrap();
        let header_version = Q::KEY.response_header_version(version);
        let (header, body) = ResponseHeader::decode(header_version, &self.frame).unwrap();
        assert_eq!(header.correlation_id, self.correlation_id, "answers come in the order of requests");
        read(<Q::Response<'_> as Message<'_>>::decode(version, body).unwrap())
    }
}

/// Makes the topic, and waits until there is a coordinator.
pub(crate) async fn prepare(address: SocketAddr) {
    let mut connection = Connection::open(address).await;
    let topic = CreatableTopic {
        name: TOPIC,
        num_partitions: PARTITIONS,
        replication_factor: 1,
        ..Default::default()
    };
    let create = CreateTopicsRequest { topics: vec![topic], ..Default::default() };
    let code = connection.ask(5, &create, |answer| answer.topics[0].error_code).await;
    assert!(matches!(code, 0 | 36), "the topic cannot be made: error {code}");
    let find = FindCoordinatorRequest { coordinator_keys: vec!["load"], ..Default::default() };
    let begin = Instant::now();
    loop {
        let code = connection.ask(4, &find, |answer| answer.coordinators[0].error_code).await;
        if code == 0 {
            break;
        }
        assert!(begin.elapsed() < Duration::from_mins(1), "no {:?}: error {code}", ApiKey::FindCoordinator);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
