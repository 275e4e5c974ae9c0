//! An answer that refuses a request with an error of the caller's choice: for servers for tests, that are told to.
//!
//! The error stands where a client of that API looks for it: at the top, or at each topic, partition, group or key that
//! it asked about.

use kafka_wire::add_partitions_to_txn::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnTopic, AddPartitionsToTxnTopicResult,
};
use kafka_wire::delete_groups::DeletableGroupResult;
use kafka_wire::describe_groups::DescribedGroup;
use kafka_wire::find_coordinator::Coordinator;
use kafka_wire::metadata::MetadataResponseTopic;
use kafka_wire::offset_commit::{
    OffsetCommitRequestPartition, OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
use kafka_wire::offset_fetch::{
    OffsetFetchRequestTopic, OffsetFetchResponseGroup, OffsetFetchResponsePartition, OffsetFetchResponseTopic,
};
use kafka_wire::txn_offset_commit::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
};
use kafka_wire::{
    AddOffsetsToTxnResponse, AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, DeleteGroupsRequest,
    DeleteGroupsResponse, DescribeGroupsRequest, DescribeGroupsResponse, EndTxnResponse,
    FindCoordinatorRequest, FindCoordinatorResponse, HeartbeatResponse, InitProducerIdResponse,
    JoinGroupRequest, JoinGroupResponse, LeaveGroupResponse, ListGroupsResponse, MetadataRequest,
    MetadataResponse, OffsetCommitRequest, OffsetCommitResponse, OffsetDeleteResponse, OffsetFetchRequest,
    OffsetFetchResponse, SyncGroupResponse, TxnOffsetCommitRequest, TxnOffsetCommitResponse, WireError,
};

use super::{Api, Head, respond};

impl Api {
    /// Whether [`refuse`] knows how.
    pub(crate) fn can_be_refused(self) -> bool {
        match self {
            Self::JoinGroup
            | Self::SyncGroup
            | Self::Heartbeat
            | Self::LeaveGroup
            | Self::OffsetCommit
            | Self::OffsetFetch
            | Self::FindCoordinator
            | Self::Metadata
            | Self::DescribeGroups
            | Self::ListGroups
            | Self::DeleteGroups
            | Self::OffsetDelete
            | Self::InitProducerId
            | Self::AddPartitionsToTxn
            | Self::AddOffsetsToTxn
            | Self::TxnOffsetCommit
            | Self::EndTxn => true,
            Self::Produce
            | Self::Fetch
            | Self::ListOffsets
            | Self::ApiVersions
            | Self::CreateTopics
            | Self::DeleteTopics
            | Self::WriteTxnMarkers
            | Self::DescribeConfigs
            | Self::CreatePartitions
            | Self::DescribeCluster => false,
        }
    }

    /// Whether its requests are about one group.
    pub(crate) fn names_group(self) -> bool {
        self.names_member() || matches!(self, Self::OffsetFetch | Self::OffsetDelete | Self::DescribeGroups)
    }

    /// Whether its requests are one member's.
    pub(crate) fn names_member(self) -> bool {
        matches!(
            self,
            Self::JoinGroup
                | Self::SyncGroup
                | Self::Heartbeat
                | Self::LeaveGroup
                | Self::OffsetCommit
                | Self::TxnOffsetCommit
        )
    }
}

/// The frame that answers the request in `body` with `code`.
///
/// # Errors
///
/// What is wrong with the request, or cannot be said in its version.
///
/// # Panics
///
/// For an API that cannot be refused.
pub(super) fn refuse(head: Head, body: &[u8], code: i16) -> Result<Vec<u8>, WireError> {
    let mut out = Vec::new();
    respond(head, &mut out, |out| write(head, body, code, out))?;
    Ok(out)
}

fn write(head: Head, body: &[u8], error_code: i16, out: &mut Vec<u8>) -> Result<(), WireError> {
    let version = head.version;
    match head.api {
        Api::JoinGroup => {
            let member_id = JoinGroupRequest::decode(version, body)?.member_id;
            JoinGroupResponse { error_code, member_id, ..Default::default() }.encode(version, out)
        }
        Api::SyncGroup => SyncGroupResponse { error_code, ..Default::default() }.encode(version, out),
        Api::Heartbeat => HeartbeatResponse { error_code, ..Default::default() }.encode(version, out),
        Api::LeaveGroup => LeaveGroupResponse { error_code, ..Default::default() }.encode(version, out),
        Api::OffsetCommit => offset_commit(version, body, error_code, out),
        Api::OffsetFetch => offset_fetch(version, body, error_code, out),
        Api::FindCoordinator => find_coordinator(version, body, error_code, out),
        Api::Metadata => metadata(version, body, error_code, out),
        Api::DescribeGroups => {
            let groups = DescribeGroupsRequest::decode(version, body)?.groups.into_iter();
            let group = |group_id| DescribedGroup { error_code, group_id, ..Default::default() };
            DescribeGroupsResponse { groups: groups.map(group).collect(), ..Default::default() }
                .encode(version, out)
        }
        Api::ListGroups => ListGroupsResponse { error_code, ..Default::default() }.encode(version, out),
        Api::DeleteGroups => {
            let groups = DeleteGroupsRequest::decode(version, body)?.groups_names.into_iter();
            let results = groups.map(|group_id| DeletableGroupResult { group_id, error_code }).collect();
            DeleteGroupsResponse { results, ..Default::default() }.encode(version, out)
        }
        Api::OffsetDelete => OffsetDeleteResponse { error_code, ..Default::default() }.encode(version, out),
        Api::InitProducerId => {
            InitProducerIdResponse { error_code, ..Default::default() }.encode(version, out)
        }
        Api::AddPartitionsToTxn => add_partitions(version, body, error_code, out),
        Api::AddOffsetsToTxn => {
            AddOffsetsToTxnResponse { error_code, ..Default::default() }.encode(version, out)
        }
        Api::TxnOffsetCommit => txn_offset_commit(version, body, error_code, out),
        Api::EndTxn => EndTxnResponse { error_code, ..Default::default() }.encode(version, out),
        Api::Produce
        | Api::Fetch
        | Api::ListOffsets
        | Api::ApiVersions
        | Api::CreateTopics
        | Api::DeleteTopics
        | Api::WriteTxnMarkers
        | Api::DescribeConfigs
        | Api::CreatePartitions
        | Api::DescribeCluster => unreachable!("a fault of these is refused when it is set"),
    }
}

fn offset_commit(version: i16, body: &[u8], error_code: i16, out: &mut Vec<u8>) -> Result<(), WireError> {
    let request = OffsetCommitRequest::decode(version, body)?;
    let partition = |partition: &OffsetCommitRequestPartition<'_>| OffsetCommitResponsePartition {
        partition_index: partition.partition_index,
        error_code,
    };
    let topics = request.topics.iter().map(|topic| OffsetCommitResponseTopic {
        name: topic.name,
        topic_id: topic.topic_id,
        partitions: topic.partitions.iter().map(partition).collect(),
    });
    OffsetCommitResponse { topics: topics.collect(), ..Default::default() }.encode(version, out)
}

fn offset_fetch(version: i16, body: &[u8], error_code: i16, out: &mut Vec<u8>) -> Result<(), WireError> {
    let request = OffsetFetchRequest::decode(version, body)?;
    if version >= 8 {
        let groups = request.groups.iter().map(|group| OffsetFetchResponseGroup {
            group_id: group.group_id,
            error_code,
            ..Default::default()
        });
        return OffsetFetchResponse { groups: groups.collect(), ..Default::default() }.encode(version, out);
    }
    // Version 1 has no place for an error but the partitions.
    let topic = |topic: &OffsetFetchRequestTopic<'_>| -> Vec<_> {
        let partition = |index: &i32| OffsetFetchResponsePartition {
            partition_index: *index,
            committed_offset: -1,
            error_code,
            ..Default::default()
        };
        topic.partition_indexes.iter().map(partition).collect()
    };
    let topics = request.topics.iter().flatten();
    let topics = topics.map(|of| OffsetFetchResponseTopic { name: of.name, partitions: topic(of) }).collect();
    OffsetFetchResponse { topics, error_code, ..Default::default() }.encode(version, out)
}

fn find_coordinator(version: i16, body: &[u8], error_code: i16, out: &mut Vec<u8>) -> Result<(), WireError> {
    let request = FindCoordinatorRequest::decode(version, body)?;
    let coordinator = |key| Coordinator { key, node_id: -1, port: -1, error_code, ..Default::default() };
    let coordinators = request.coordinator_keys.into_iter().map(coordinator).collect();
    let (node_id, port) = (-1, -1);
    let response = FindCoordinatorResponse { error_code, node_id, port, coordinators, ..Default::default() };
    // Each version has one of the two places.
    if version >= 4 {
        FindCoordinatorResponse { error_code: 0, node_id: 0, port: 0, ..response }.encode(version, out)
    } else {
        response.encode(version, out)
    }
}

fn metadata(version: i16, body: &[u8], error_code: i16, out: &mut Vec<u8>) -> Result<(), WireError> {
    let request = MetadataRequest::decode(version, body)?;
    let topics = request.topics.iter().flatten().map(|topic| MetadataResponseTopic {
        error_code,
        // Before version 12 a name is a must.
        name: if version < 12 { topic.name.or(Some("")) } else { topic.name },
        topic_id: topic.topic_id,
        ..Default::default()
    });
    MetadataResponse { topics: topics.collect(), error_code, ..Default::default() }.encode(version, out)
}

fn add_partitions(version: i16, body: &[u8], code: i16, out: &mut Vec<u8>) -> Result<(), WireError> {
    let request = AddPartitionsToTxnRequest::decode(version, body)?;
    let topic = |topic: &AddPartitionsToTxnTopic<'_>| -> Vec<_> {
        let result = |index: &i32| AddPartitionsToTxnPartitionResult {
            partition_index: *index,
            partition_error_code: code,
        };
        topic.partitions.iter().map(result).collect()
    };
    let topics = request.v3_and_below_topics.iter();
    let results_by_topic_v3_and_below = topics
        .map(|of| AddPartitionsToTxnTopicResult { name: of.name, results_by_partition: topic(of) })
        .collect();
    AddPartitionsToTxnResponse { results_by_topic_v3_and_below, ..Default::default() }.encode(version, out)
}

fn txn_offset_commit(version: i16, body: &[u8], error_code: i16, out: &mut Vec<u8>) -> Result<(), WireError> {
    let request = TxnOffsetCommitRequest::decode(version, body)?;
    let partition = |partition: &TxnOffsetCommitRequestPartition<'_>| TxnOffsetCommitResponsePartition {
        partition_index: partition.partition_index,
        error_code,
    };
    let topics = request.topics.iter().map(|topic| TxnOffsetCommitResponseTopic {
        name: topic.name,
        partitions: topic.partitions.iter().map(partition).collect(),
    });
    TxnOffsetCommitResponse { topics: topics.collect(), ..Default::default() }.encode(version, out)
}

#[cfg(test)]
mod tests {
    use kafka_wire::{Message, Request, ResponseHeader};

    use super::*;

    /// Refuses a request of `api` in each version it has; what is answered must be an answer.
    fn refused_in_all_versions<'a, R: Request<'a>>(api: Api, request: &R) {
        for version in api.versions() {
            let mut body = Vec::new();
            request.encode(version, &mut body).expect("can be said in each version");
            let frame = refuse(Head { api, version, correlation_id: 7 }, &body, 16)
                .unwrap_or_else(|why| panic!("{api:?} {version}: {why}"));
            let header = R::KEY.response_header_version(version);
            let (header, answer) = ResponseHeader::decode(header, &frame[4..]).expect("a header");
            assert_eq!(header.correlation_id, 7);
            <R::Response<'_> as Message<'_>>::decode(version, answer)
                .unwrap_or_else(|why| panic!("{api:?} {version}: {why}"));
            assert!(answer.windows(2).any(|bytes| bytes == [0, 16]), "{api:?} {version}: {answer:?}");
        }
    }

    #[test]
    fn what_can_be_refused_is_in_all_versions() {
        use kafka_wire::add_partitions_to_txn::AddPartitionsToTxnTopic;
        use kafka_wire::metadata::MetadataRequestTopic;
        use kafka_wire::offset_commit::OffsetCommitRequestTopic;
        use kafka_wire::txn_offset_commit::TxnOffsetCommitRequestTopic;
        use kafka_wire::*;

        refused_in_all_versions(Api::JoinGroup, &JoinGroupRequest::default());
        refused_in_all_versions(Api::SyncGroup, &SyncGroupRequest::default());
        refused_in_all_versions(Api::Heartbeat, &HeartbeatRequest::default());
        refused_in_all_versions(Api::LeaveGroup, &LeaveGroupRequest::default());
        refused_in_all_versions(Api::ListGroups, &ListGroupsRequest::default());
        refused_in_all_versions(Api::OffsetDelete, &OffsetDeleteRequest::default());
        refused_in_all_versions(Api::InitProducerId, &InitProducerIdRequest::default());
        refused_in_all_versions(Api::AddOffsetsToTxn, &AddOffsetsToTxnRequest::default());
        refused_in_all_versions(Api::EndTxn, &EndTxnRequest::default());
        let groups = vec!["g"];
        refused_in_all_versions(Api::DescribeGroups, &DescribeGroupsRequest { groups, ..Default::default() });
        refused_in_all_versions(Api::DeleteGroups, &DeleteGroupsRequest { groups_names: vec!["g"] });
        let topics = Some(vec![MetadataRequestTopic { name: Some("t"), ..Default::default() }]);
        refused_in_all_versions(Api::Metadata, &MetadataRequest { topics, ..Default::default() });
        let partitions = vec![OffsetCommitRequestPartition::default()];
        let topics = vec![OffsetCommitRequestTopic { partitions, ..Default::default() }];
        refused_in_all_versions(Api::OffsetCommit, &OffsetCommitRequest { topics, ..Default::default() });
        let partitions = vec![TxnOffsetCommitRequestPartition::default()];
        let topics = vec![TxnOffsetCommitRequestTopic { partitions, ..Default::default() }];
        refused_in_all_versions(
            Api::TxnOffsetCommit,
            &TxnOffsetCommitRequest { topics, ..Default::default() },
        );
        let topics = vec![AddPartitionsToTxnTopic { name: "t", partitions: vec![1] }];
        let request = AddPartitionsToTxnRequest { v3_and_below_topics: topics, ..Default::default() };
        refused_in_all_versions(Api::AddPartitionsToTxn, &request);
    }

    /// Those whose requests have one form up to some version, and another from there on.
    #[test]
    fn what_has_two_forms_is_refused_in_both() {
        use kafka_wire::offset_fetch::OffsetFetchRequestGroup;

        let refused = |api, version, body: &[u8]| {
            let head = Head { api, version, correlation_id: 7 };
            let frame = refuse(head, body, 16).unwrap_or_else(|why| panic!("{api:?} {version}: {why}"));
            let header = api.key().response_header_version(version);
            ResponseHeader::decode(header, &frame[4..]).expect("a header").1.to_vec()
        };
        for version in Api::OffsetFetch.versions() {
            let mut body = Vec::new();
            let topic = OffsetFetchRequestTopic { name: "t", partition_indexes: vec![0] };
            let request = if version >= 8 {
                let group = OffsetFetchRequestGroup { group_id: "g", ..Default::default() };
                OffsetFetchRequest { groups: vec![group], ..Default::default() }
            } else {
                OffsetFetchRequest { group_id: "g", topics: Some(vec![topic]), ..Default::default() }
            };
            request.encode(version, &mut body).expect("can be said");
            let answer = refused(Api::OffsetFetch, version, &body);
            let answer = OffsetFetchResponse::decode(version, &answer).expect("an answer");
            let code = match (version, answer.groups.first(), answer.topics.first()) {
                (8.., Some(group), _) => group.error_code,
                (_, _, Some(topic)) => topic.partitions[0].error_code,
                _ => panic!("{answer:?}"),
            };
            assert_eq!(code, 16);
        }
        for version in Api::FindCoordinator.versions() {
            let mut body = Vec::new();
            let request = if version >= 4 {
                FindCoordinatorRequest { coordinator_keys: vec!["g"], ..Default::default() }
            } else {
                FindCoordinatorRequest { key: "g", ..Default::default() }
            };
            request.encode(version, &mut body).expect("can be said");
            let answer = refused(Api::FindCoordinator, version, &body);
            let answer = FindCoordinatorResponse::decode(version, &answer).expect("an answer");
            let code = answer.coordinators.first().map_or(answer.error_code, |first| first.error_code);
            assert_eq!(code, 16);
        }
    }
}
