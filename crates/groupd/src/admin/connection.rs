//! One blocking connection to a server: bounded frames, one question at a time, versions both sides know.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use kafka_wire::{ApiKey, ApiVersionsRequest, Message, Request, RequestHeader, ResponseHeader};

use super::error::AdminError;
use crate::settings::HostPort;

/// The largest answer that is read, bytes.
const MAX_ANSWER: usize = 256 << 20;

const CLIENT_ID: &str = "groupd-admin";

/// A connection that has asked for the server's versions.
#[derive(Debug)]
pub(super) struct Connection {
    server: HostPort,
    stream: TcpStream,
    patience: Duration,
    correlation_id: i32,
    /// Key, oldest and newest version.
    offered: Vec<(i16, i16, i16)>,
}

impl Connection {
    pub(super) fn open(server: &HostPort, patience: Duration) -> Result<Self, AdminError> {
        let bad = |cause| AdminError::io(server, cause, patience);
        let stream = connect(server, patience).map_err(bad)?;
        stream.set_nodelay(true).map_err(bad)?;
        stream.set_write_timeout(Some(patience)).map_err(bad)?;
        let mut connection =
            Self { server: server.clone(), stream, patience, correlation_id: 0, offered: Vec::new() };
        // Version 0 is the one that every server answers.
        let (code, offered) = connection.ask(0, &ApiVersionsRequest::default(), |answer| {
            let range = |api: &kafka_wire::ApiVersion| (api.api_key, api.min_version, api.max_version);
            (answer.error_code, answer.api_keys.iter().map(range).collect())
        })?;
        AdminError::check(code, server.to_string())?;
        connection.offered = offered;
        Ok(connection)
    }

    pub(super) fn server(&self) -> &HostPort {
        &self.server
    }

    /// The newest version of `api` that both sides know, and that is at most `newest`.
    pub(super) fn version(&self, api: ApiKey, newest: i16) -> Result<i16, AdminError> {
        let ours = api.versions();
        let offered = self.offered.iter().find(|(key, _, _)| *key == api.code());
        let version = offered.and_then(|(_, oldest, latest)| {
            let version = newest.min(*ours.end()).min(*latest);
            (version >= *oldest.max(ours.start())).then_some(version)
        });
        version.ok_or_else(|| AdminError::NotOffered { server: self.server.clone(), api })
    }

    /// Sends `request` and hands the answer to `read`.
    pub(super) fn ask<'q, Q: Request<'q>, T>(
        &mut self,
        version: i16,
        request: &Q,
        read: impl for<'r> FnOnce(Q::Response<'r>) -> T,
    ) -> Result<T, AdminError> {
        self.correlation_id = self.correlation_id.wrapping_add(1);
        self.send(version, request)?;
        let frame = self.receive()?;
        let garbled = |why| AdminError::garbled(&self.server, why);
        let header_version = Q::KEY.response_header_version(version);
        let (header, body) = ResponseHeader::decode(header_version, &frame).map_err(garbled)?;
        if header.correlation_id != self.correlation_id {
            let why = format!("it answers {} and not {}", header.correlation_id, self.correlation_id);
            return Err(AdminError::Garbled { server: self.server.clone(), why });
        }
        let response = <Q::Response<'_> as Message<'_>>::decode(version, body).map_err(garbled)?;
        Ok(read(response))
    }

    fn send<'q, Q: Request<'q>>(&mut self, version: i16, request: &Q) -> Result<(), AdminError> {
        let unwritable =
            |why: kafka_wire::WireError| AdminError::Usage(format!("this cannot be sent: {why}"));
        let header = RequestHeader {
            api_key: Q::KEY.code(),
            api_version: version,
            correlation_id: self.correlation_id,
            client_id: Some(CLIENT_ID),
        };
        let mut frame = vec![0; 4];
        header.encode(&mut frame).map_err(unwritable)?;
        request.encode(version, &mut frame).map_err(unwritable)?;
        let length = i32::try_from(frame.len() - 4).map_err(|_| {
            AdminError::Usage("this is more than one request can carry; do it in parts".into())
        })?;
        frame[..4].copy_from_slice(&length.to_be_bytes());
        self.stream.write_all(&frame).map_err(|cause| AdminError::io(&self.server, cause, self.patience))
    }

    fn receive(&mut self) -> Result<Vec<u8>, AdminError> {
        let deadline = Instant::now() + self.patience;
        let mut length = [0; 4];
        self.fill(&mut length, deadline)?;
        let length = i32::from_be_bytes(length);
        let length =
            usize::try_from(length).ok().filter(|length| *length <= MAX_ANSWER).ok_or_else(|| {
                AdminError::Garbled { server: self.server.clone(), why: format!("a frame of {length} bytes") }
            })?;
        // Room is made as bytes arrive: a length costs its sender nothing.
        let mut frame = Vec::new();
        while frame.len() < length {
            let start = frame.len();
            frame.resize(length.min(start + (64 << 10)), 0);
            self.fill(&mut frame[start..], deadline)?;
        }
        Ok(frame)
    }

    fn fill(&mut self, buffer: &mut [u8], deadline: Instant) -> Result<(), AdminError> {
        let mut filled = 0;
        while filled < buffer.len() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(AdminError::TimedOut { server: self.server.clone(), patience: self.patience });
            }
            let read = self.stream.set_read_timeout(Some(left)).and_then(|()| {
                let count = self.stream.read(&mut buffer[filled..])?;
                if count == 0 { Err(std::io::ErrorKind::UnexpectedEof.into()) } else { Ok(count) }
            });
            match read {
                Ok(count) => filled += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(AdminError::io(&self.server, error, self.patience)),
            }
        }
        Ok(())
    }
}

/// Tries each address that the name stands for, as `localhost` is two.
fn connect(server: &HostPort, patience: Duration) -> std::io::Result<TcpStream> {
    let mut last = std::io::Error::new(std::io::ErrorKind::NotFound, "the name stands for no address");
    for address in server.pair().to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, patience) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}
