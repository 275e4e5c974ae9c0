//! What stands around a body: which API in which version, which of them are served, and the response's frame.

use std::ops::RangeInclusive;

use kafka_wire::{ApiKey, RequestHeader, ResponseHeader};

use super::Refused;

macro_rules! served {
    ($($name:ident),+ $(,)?) => {
        /// All APIs that are served. What is not here is neither advertised nor answered.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(clippy::enum_variant_names, reason = "Kafka's own names")]
        pub(crate) enum Api { $($name,)+ }

        impl Api {
            pub(crate) const ALL: &[Self] = &[$(Self::$name,)+];

            pub(crate) const fn key(self) -> ApiKey {
                match self { $(Self::$name => ApiKey::$name,)+ }
            }
        }
    };
}

served! {
    Produce, Fetch, ListOffsets, Metadata, OffsetCommit, OffsetFetch, FindCoordinator, JoinGroup, Heartbeat,
    LeaveGroup, SyncGroup, DescribeGroups, ListGroups, ApiVersions, CreateTopics, DeleteTopics, InitProducerId,
    AddPartitionsToTxn, AddOffsetsToTxn, EndTxn, WriteTxnMarkers, TxnOffsetCommit, DescribeConfigs, CreatePartitions,
    DeleteGroups, OffsetDelete, DescribeCluster,
}

impl Api {
    /// Whether its requests carry bytes of a client's own making: metadata, assignments, notes, records.
    pub(super) fn carries_blobs(self) -> bool {
        matches!(
            self,
            Self::JoinGroup | Self::SyncGroup | Self::OffsetCommit | Self::TxnOffsetCommit | Self::Produce
        )
    }

    /// The versions that are served: all that the codec knows, but for those of brokers among themselves.
    pub(crate) fn versions(self) -> RangeInclusive<i16> {
        let known = self.key().versions();
        let last = if self == Self::AddPartitionsToTxn { 3 } else { *known.end() };
        *known.start()..=last
    }

    fn from_code(code: i16) -> Option<Self> {
        Self::ALL.iter().copied().find(|api| api.key().code() == code)
    }
}

/// What a response begins with, and in which version its body is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) api: Api,
    pub(crate) version: i16,
    pub(crate) correlation_id: i32,
}

/// A request whose header is read.
#[derive(Debug)]
pub(crate) enum Opened<'a> {
    /// One to be answered.
    Request { head: Head, client_id: Option<&'a str>, body: &'a [u8] },
    /// A newer client asks what we can do: it is told, in the oldest form (KIP-511).
    ApiVersionsTooNew(Head),
}

/// Reads the header of a request.
///
/// # Errors
///
/// Why the connection must end.
pub(crate) fn open(frame: &[u8]) -> Result<Opened<'_>, Refused> {
    let (header, body) = RequestHeader::decode(frame).map_err(Refused::Header)?;
    let api = Api::from_code(header.api_key).ok_or(Refused::UnknownApi(header.api_key))?;
    let head = Head { api, version: header.api_version, correlation_id: header.correlation_id };
    if api.versions().contains(&head.version) {
        return Ok(Opened::Request { head, client_id: header.client_id, body });
    }
    if api == Api::ApiVersions {
        return Ok(Opened::ApiVersionsTooNew(Head { version: 0, ..head }));
    }
    Err(Refused::UnsupportedVersion { api, version: head.version })
}

/// Writes a whole response frame to `out`, its body by `write_body`. On an error nothing is written.
///
/// # Errors
///
/// What cannot be said in this version.
pub(crate) fn respond<E>(
    head: Head,
    out: &mut Vec<u8>,
    write_body: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    ResponseHeader { correlation_id: head.correlation_id }
        .encode(head.api.key().response_header_version(head.version), out);
    if let Err(error) = write_body(out) {
        out.truncate(start);
        return Err(error);
    }
    let length = i32::try_from(out.len() - start - 4).expect("invariant: a response is far below 2 GiB");
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}
