//! The Kafka wire protocol as bounded, borrowing encoders and decoders.
//!
//! A frame from a socket is a [`RequestHeader`] and a body; the header says which [`ApiKey`] and which
//! version the body is. Every message is a plain struct with Kafka's names that reads itself from a body and
//! writes itself to one:
//!
//! ```
//! use kafka_wire::{ApiKey, HeartbeatRequest, HeartbeatResponse, RequestHeader, ResponseHeader, WireError};
//!
//! /// Answers one frame, both without their four bytes of length.
//! /// `false`: the API is not known, so that the client cannot be answered and the connection ends.
//! fn answer(frame: &[u8], out: &mut Vec<u8>) -> Result<bool, WireError> {
//!     let (header, body) = RequestHeader::decode(frame)?;
//!     let version = header.api_version;
//!     match ApiKey::from_code(header.api_key) {
//!         Some(ApiKey::Heartbeat) => {
//!             let request = HeartbeatRequest::decode(version, body)?;
//!             let known = request.group_id == "orders";
//!             ResponseHeader { correlation_id: header.correlation_id }
//!                 .encode(HeartbeatResponse::header_version(version), out);
//!             HeartbeatResponse { error_code: if known { 0 } else { 16 }, ..Default::default() }
//!                 .encode(version, out)?;
//!             Ok(true)
//!         }
//!         _ => Ok(false),
//!     }
//! }
//!
//! # let mut frame = Vec::new();
//! # let header = RequestHeader { api_key: 12, api_version: 4, correlation_id: 7, client_id: Some("me") };
//! # header.encode(&mut frame)?;
//! # HeartbeatRequest { group_id: "orders", member_id: "m", ..Default::default() }.encode(4, &mut frame)?;
//! let mut out = Vec::new();
//! answer(&frame, &mut out)?;
//! assert_eq!(out, [0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0]);
//! # Ok::<(), WireError>(())
//! ```
//!
//! # What a peer can do to us
//!
//! Send bytes, and nothing else. Whatever they are, decoding ends in a value or in a [`WireError`] that
//! names the message and the offset, in time proportional to their number, without recursion and without a
//! panic. Strings and bytes are borrowed from the body; arrays take at most [`MEMORY_PER_BYTE`] times its
//! length plus [`MEMORY_ALLOWANCE`], and what an array claims to hold is reserved only as its elements turn
//! out to be there.
//!
//! # Where things are
//!
//! The two messages of an API are at the root. Their parts are named as in Kafka's own definitions and live
//! in the module of the API, as in [`join_group::JoinGroupRequestProtocol`]; those whose name no other API
//! has are at the root as well. A field that an older version lacks has its default when read, and must have
//! it when written, unless it is ignorable; the documentation of each field says which. Null is `None`;
//! where a version does not allow it, it is an error in both directions.

mod api;
mod error;
mod field;
mod header;
mod message;
mod messages;
mod reader;
pub mod schema;
mod structure;

pub use api::ApiKey;
pub use error::{Fault, WireError};
pub use field::Uuid;
pub use header::{RequestHeader, ResponseHeader};
pub use message::{Message, Request};
pub use messages::*;
pub use reader::{MEMORY_ALLOWANCE, MEMORY_PER_BYTE};

pub use messages::add_offsets_to_txn::{AddOffsetsToTxnRequest, AddOffsetsToTxnResponse};
pub use messages::add_partitions_to_txn::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnRequest, AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult, AddPartitionsToTxnTopic, AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
};
pub use messages::api_versions::{
    ApiVersion, ApiVersionsRequest, ApiVersionsResponse, FinalizedFeatureKey, SupportedFeatureKey,
};
pub use messages::consumer_group_describe::{
    ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse, Member,
};
pub use messages::consumer_group_heartbeat::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};
pub use messages::consumer_protocol::{
    ConsumerProtocolAssignment, ConsumerProtocolSubscription, TopicPartition,
};
pub use messages::create_partitions::{
    CreatePartitionsAssignment, CreatePartitionsRequest, CreatePartitionsResponse, CreatePartitionsTopic,
    CreatePartitionsTopicResult,
};
pub use messages::create_topics::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig, CreatableTopicConfigs,
    CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse,
};
pub use messages::delete_groups::{DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse};
pub use messages::delete_topics::{
    DeletableTopicResult, DeleteTopicState, DeleteTopicsRequest, DeleteTopicsResponse,
};
pub use messages::describe_cluster::{
    DescribeClusterBroker, DescribeClusterRequest, DescribeClusterResponse,
};
pub use messages::describe_configs::{
    DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResourceResult, DescribeConfigsResponse,
    DescribeConfigsResult, DescribeConfigsSynonym,
};
pub use messages::describe_groups::{DescribeGroupsRequest, DescribeGroupsResponse, DescribedGroupMember};
pub use messages::end_txn::{EndTxnRequest, EndTxnResponse};
pub use messages::fetch::{
    AbortedTransaction, FetchPartition, FetchRequest, FetchResponse, FetchTopic, FetchableTopicResponse,
    ForgottenTopic, PartitionData, ReplicaState, SnapshotId,
};
pub use messages::find_coordinator::{Coordinator, FindCoordinatorRequest, FindCoordinatorResponse};
pub use messages::heartbeat::{HeartbeatRequest, HeartbeatResponse};
pub use messages::incremental_alter_configs::{
    AlterConfigsResource, AlterConfigsResourceResponse, AlterableConfig, IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
};
pub use messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
pub use messages::join_group::{
    JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse, JoinGroupResponseMember,
};
pub use messages::leave_group::{LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse};
pub use messages::list_groups::{ListGroupsRequest, ListGroupsResponse, ListedGroup};
pub use messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse,
    ListOffsetsTopic, ListOffsetsTopicResponse,
};
pub use messages::metadata::{
    MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseBroker,
    MetadataResponsePartition, MetadataResponseTopic,
};
pub use messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic, OffsetCommitResponse,
    OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
pub use messages::offset_delete::{
    OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic, OffsetDeleteResponse,
    OffsetDeleteResponsePartition, OffsetDeleteResponseTopic,
};
pub use messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
    OffsetFetchResponse, OffsetFetchResponseGroup, OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions, OffsetFetchResponseTopic, OffsetFetchResponseTopics,
};
pub use messages::offset_for_leader_epoch::{
    OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, OffsetForLeaderPartition,
    OffsetForLeaderTopic, OffsetForLeaderTopicResult,
};
pub use messages::produce::{
    BatchIndexAndErrorMessage, PartitionProduceData, PartitionProduceResponse, ProduceRequest,
    ProduceResponse, TopicProduceData, TopicProduceResponse,
};
pub use messages::sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse};
pub use messages::sasl_handshake::{SaslHandshakeRequest, SaslHandshakeResponse};
pub use messages::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse};
pub use messages::txn_offset_commit::{
    TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse, TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
};
pub use messages::write_txn_markers::{
    WritableTxnMarker, WritableTxnMarkerPartitionResult, WritableTxnMarkerResult, WritableTxnMarkerTopic,
    WritableTxnMarkerTopicResult, WriteTxnMarkersRequest, WriteTxnMarkersResponse,
};
