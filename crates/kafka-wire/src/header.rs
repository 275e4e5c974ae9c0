//! What stands in front of every body: which API, which version, whose request.

use crate::api::ApiKey;
use crate::error::{Fault, WireError};
use crate::field::{Field, Version};
use crate::reader::Reader;

/// The key of `ControlledShutdown`: a request between brokers, whose version 0 is the only one ever without
/// a client id.
const CONTROLLED_SHUTDOWN: i16 = 7;

/// What stands in front of every request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestHeader<'a> {
    /// The API, by its key: see [`ApiKey::from_code`].
    pub api_key: i16,
    /// The version of the request, which the response has too.
    pub api_version: i16,
    /// Returned in the response.
    pub correlation_id: i32,
    /// What the client calls itself.
    pub client_id: Option<&'a str>,
}

impl<'a> RequestHeader<'a> {
    /// Reads the header of a request, and returns it with the body behind it.
    ///
    /// A header is read even if its API or version is unknown, so that `ApiVersions` can answer which are
    /// known: then the eight bytes up to the correlation id are enough. If the layout behind them is not
    /// what it is in known versions, the client id is `None` and the body is empty.
    ///
    /// # Errors
    ///
    /// The bytes are too few, or malformed for a version that is known.
    pub fn decode(frame: &'a [u8]) -> Result<(Self, &'a [u8]), WireError> {
        let mut reader = Reader::new(frame);
        let mut header = Self::default();
        match header.read_fixed(&mut reader) {
            Ok(()) => {}
            Err(fault) => return Err(malformed(0, frame.len() - reader.left(), fault)),
        }
        let api = ApiKey::from_code(header.api_key);
        let known = api.is_some_and(|api| api.versions().contains(&header.api_version));
        let version = header.version();
        match header.read_client(version, &mut reader) {
            Ok(()) => Ok((header, reader.into_rest())),
            Err(fault) if known => Err(malformed(version, frame.len() - reader.left(), fault)),
            Err(_) => Ok((Self { client_id: None, ..header }, &[])),
        }
    }

    /// Appends the header to `out`, in the version that its API and version call for.
    ///
    /// # Errors
    ///
    /// The client id is longer than 32,767 bytes.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        let version = self.version();
        out.reserve(10 + self.client_id.map_or(0, str::len));
        let start = out.len();
        out.extend_from_slice(&self.api_key.to_be_bytes());
        out.extend_from_slice(&self.api_version.to_be_bytes());
        out.extend_from_slice(&self.correlation_id.to_be_bytes());
        if version > 0 {
            self.client_id.write(out, CLIENT_ID, true).map_err(|fault| {
                out.truncate(start);
                WireError::Unwritable { message: "RequestHeader", version, fault: fault.named("client_id") }
            })?;
        }
        if version > 1 {
            out.push(0);
        }
        Ok(())
    }

    /// The version of this header.
    fn version(&self) -> i16 {
        match ApiKey::from_code(self.api_key) {
            Some(api) => api.request_header_version(self.api_version),
            None => i16::from((self.api_key, self.api_version) != (CONTROLLED_SHUTDOWN, 0)),
        }
    }

    fn read_fixed(&mut self, reader: &mut Reader<'a>) -> Result<(), Fault> {
        self.api_key = i16::from_be_bytes(reader.array()?);
        self.api_version = i16::from_be_bytes(reader.array()?);
        self.correlation_id = i32::from_be_bytes(reader.array()?);
        Ok(())
    }

    fn read_client(&mut self, version: i16, reader: &mut Reader<'a>) -> Result<(), Fault> {
        if version > 0 {
            self.client_id = Field::read(reader, CLIENT_ID, true)?;
        }
        if version > 1 {
            reader.skip_tags()?;
        }
        Ok(())
    }
}

/// The client id has a two-byte length even in the flexible version of the header, so that a server can read
/// it before it knows the version.
const CLIENT_ID: Version = Version { number: 1, flexible: false };

/// What stands in front of every response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResponseHeader {
    /// That of the request.
    pub correlation_id: i32,
}

impl ResponseHeader {
    /// Reads a header of this version (0 or 1, see [`ApiKey::response_header_version`]), and returns it with
    /// the body behind it.
    ///
    /// # Errors
    ///
    /// The bytes are too few or malformed.
    pub fn decode(version: i16, frame: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let mut reader = Reader::new(frame);
        let mut read = || {
            let correlation_id = i32::from_be_bytes(reader.array()?);
            if version > 0 {
                reader.skip_tags()?;
            }
            Ok(Self { correlation_id })
        };
        match read() {
            Ok(header) => Ok((header, reader.into_rest())),
            Err(fault) => {
                let (message, offset) = ("ResponseHeader", frame.len() - reader.left());
                Err(WireError::Malformed { message, version, offset, fault })
            }
        }
    }

    /// Appends the header to `out`, in this version.
    pub fn encode(self, version: i16, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.correlation_id.to_be_bytes());
        if version > 0 {
            out.push(0);
        }
    }
}

fn malformed(version: i16, offset: usize, fault: Fault) -> WireError {
    WireError::Malformed { message: "RequestHeader", version, offset, fault }
}
