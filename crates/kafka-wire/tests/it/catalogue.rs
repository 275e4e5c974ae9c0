//! Every message, with its counterpart in the public crate, so that tests can loop over them.

use std::fmt::Debug;
use std::ops::RangeInclusive;

use kafka_protocol::messages as theirs;
use kafka_protocol::protocol::{Decodable, Encodable, Message as TheirMessage};
use kafka_wire::schema::Schema;
use kafka_wire::{ApiKey, Message, WireError};

/// The `Debug` of a message, and its bytes.
type Shown<E> = Result<(String, Vec<u8>), E>;

/// One message, its types erased: what came in is shown, and written again.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) is_request: bool,
    pub(crate) versions: RangeInclusive<i16>,
    pub(crate) schema: Schema,
    pub(crate) first_flexible: i16,
    /// Reads a body, and returns its `Debug` and the bytes written from it again.
    pub(crate) again: fn(i16, &[u8]) -> Shown<WireError>,
    /// Reads a body and drops it.
    pub(crate) decode: fn(i16, &[u8]) -> Result<(), WireError>,
    /// Reads a body, and returns the bytes written from it again.
    pub(crate) rewrite: fn(i16, &[u8]) -> Result<Vec<u8>, WireError>,
    /// Writes the default value.
    pub(crate) default: fn(i16) -> Shown<WireError>,
    pub(crate) their_versions: RangeInclusive<i16>,
    pub(crate) their_again: fn(i16, &[u8]) -> Shown<String>,
    pub(crate) their_default: fn(i16) -> Shown<String>,
}

impl Entry {
    pub(crate) fn is_flexible(&self, version: i16) -> bool {
        version >= self.first_flexible
    }
}

macro_rules! entries {
    ($($api:ident: $request:ident, $response:ident;)+) => {
        vec![$(
            entry!($request, true, first_flexible(ApiKey::$api)),
            entry!($response, false, first_flexible(ApiKey::$api)),
        )+
            entry!(ConsumerProtocolSubscription, false, i16::MAX),
            entry!(ConsumerProtocolAssignment, false, i16::MAX),
        ]
    };
}

macro_rules! entry {
    ($name:ident, $is_request:literal, $first_flexible:expr) => {
        Entry {
            name: <kafka_wire::$name as Message>::NAME,
            is_request: $is_request,
            versions: <kafka_wire::$name as Message>::VERSIONS,
            schema: <kafka_wire::$name as Message>::SCHEMA,
            first_flexible: $first_flexible,
            again: |version, body| again::<kafka_wire::$name>(version, body),
            decode: |version, body| kafka_wire::$name::decode(version, body).map(drop),
            rewrite: |version, body| {
                let mut out = Vec::new();
                kafka_wire::$name::decode(version, body)?.encode(version, &mut out).map(|()| out)
            },
            default: |version| written(version, &kafka_wire::$name::default()),
            their_versions: theirs::$name::VERSIONS.min..=theirs::$name::VERSIONS.max,
            their_again: their_again::<theirs::$name>,
            their_default: |version| their_written(version, &theirs::$name::default()),
        }
    };
}

fn first_flexible(api: ApiKey) -> i16 {
    api.versions().find(|version| api.request_header_version(*version) == 2).unwrap_or(i16::MAX)
}

fn again<'a, M: Message<'a> + Debug>(version: i16, body: &'a [u8]) -> Shown<WireError> {
    written(version, &M::decode(version, body)?)
}

fn written<'a, M: Message<'a> + Debug>(version: i16, message: &M) -> Shown<WireError> {
    let mut out = Vec::new();
    message.encode(version, &mut out)?;
    Ok((format!("{message:?}"), out))
}

fn their_again<M: Decodable + Encodable + Debug>(version: i16, body: &[u8]) -> Shown<String> {
    let mut body = bytes::Bytes::copy_from_slice(body);
    let message = M::decode(&mut body, version).map_err(|error| error.to_string())?;
    if !body.is_empty() {
        return Err(format!("{} bytes left over", body.len()));
    }
    their_written(version, &message)
}

fn their_written<M: Encodable + Debug>(version: i16, message: &M) -> Shown<String> {
    let mut out = bytes::BytesMut::new();
    message.encode(&mut out, version).map_err(|error| error.to_string())?;
    Ok((format!("{message:?}"), out.to_vec()))
}

/// Every message of this crate.
pub(crate) fn catalogue() -> Vec<Entry> {
    let entries = entries! {
        Produce: ProduceRequest, ProduceResponse;
        Fetch: FetchRequest, FetchResponse;
        ListOffsets: ListOffsetsRequest, ListOffsetsResponse;
        Metadata: MetadataRequest, MetadataResponse;
        OffsetCommit: OffsetCommitRequest, OffsetCommitResponse;
        OffsetFetch: OffsetFetchRequest, OffsetFetchResponse;
        FindCoordinator: FindCoordinatorRequest, FindCoordinatorResponse;
        JoinGroup: JoinGroupRequest, JoinGroupResponse;
        Heartbeat: HeartbeatRequest, HeartbeatResponse;
        LeaveGroup: LeaveGroupRequest, LeaveGroupResponse;
        SyncGroup: SyncGroupRequest, SyncGroupResponse;
        DescribeGroups: DescribeGroupsRequest, DescribeGroupsResponse;
        ListGroups: ListGroupsRequest, ListGroupsResponse;
        SaslHandshake: SaslHandshakeRequest, SaslHandshakeResponse;
        ApiVersions: ApiVersionsRequest, ApiVersionsResponse;
        CreateTopics: CreateTopicsRequest, CreateTopicsResponse;
        DeleteTopics: DeleteTopicsRequest, DeleteTopicsResponse;
        InitProducerId: InitProducerIdRequest, InitProducerIdResponse;
        OffsetForLeaderEpoch: OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse;
        AddPartitionsToTxn: AddPartitionsToTxnRequest, AddPartitionsToTxnResponse;
        AddOffsetsToTxn: AddOffsetsToTxnRequest, AddOffsetsToTxnResponse;
        EndTxn: EndTxnRequest, EndTxnResponse;
        WriteTxnMarkers: WriteTxnMarkersRequest, WriteTxnMarkersResponse;
        TxnOffsetCommit: TxnOffsetCommitRequest, TxnOffsetCommitResponse;
        DescribeConfigs: DescribeConfigsRequest, DescribeConfigsResponse;
        SaslAuthenticate: SaslAuthenticateRequest, SaslAuthenticateResponse;
        CreatePartitions: CreatePartitionsRequest, CreatePartitionsResponse;
        DeleteGroups: DeleteGroupsRequest, DeleteGroupsResponse;
        IncrementalAlterConfigs: IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse;
        OffsetDelete: OffsetDeleteRequest, OffsetDeleteResponse;
        DescribeCluster: DescribeClusterRequest, DescribeClusterResponse;
        ConsumerGroupHeartbeat: ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse;
        ConsumerGroupDescribe: ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse;
    };
    assert_eq!(entries.len(), 2 * ApiKey::ALL.len() + 2, "an API is missing here");
    entries
}
