//! Every API that is advertised, in every version of it, is answered in that version.

use kafka_wire::{
    AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, ApiKey, ApiVersionsRequest, ApiVersionsResponse,
    CreatePartitionsRequest, CreateTopicsRequest, DeleteGroupsRequest, DeleteTopicsRequest,
    DescribeClusterRequest, DescribeConfigsRequest, DescribeGroupsRequest, EndTxnRequest, FetchRequest,
    FindCoordinatorRequest, HeartbeatRequest, InitProducerIdRequest, JoinGroupRequest, LeaveGroupRequest,
    ListGroupsRequest, ListOffsetsRequest, Message, MetadataRequest, OffsetCommitRequest,
    OffsetDeleteRequest, OffsetFetchRequest, ProduceRequest, Request, SyncGroupRequest,
    TxnOffsetCommitRequest, WriteTxnMarkersRequest,
};

use super::{Client, read, settings, start};
use crate::docs::made;

/// Asks in this version, if `request` is of this API; the answer must be readable.
fn asked<'a, R: Request<'a>>(client: &mut Client, api: ApiKey, version: i16, request: &R) -> bool {
    if R::KEY != api {
        return false;
    }
    let body = client.ask(version, request);
    <R::Response<'_> as Message<'_>>::decode(version, &body)
        .unwrap_or_else(|error| panic!("{api:?} version {version}: {error}"));
    true
}

#[test]
fn every_advertised_version_is_answered() {
    let server = start(&settings());
    let mut client = Client::connect(server.address());
    let body = client.ask(4, &ApiVersionsRequest::default());
    let advertised: ApiVersionsResponse<'_> = read(4, &body);
    assert_eq!(advertised.error_code, 0);
    let rows = advertised.api_keys.iter().map(|range| {
        let name = ApiKey::from_code(range.api_key).map_or("", ApiKey::name);
        format!("| {name} | {} | {} to {} |\n", range.api_key, range.min_version, range.max_version)
    });
    let table = rows.collect::<String>();
    made("docs/server.md", "apis", &format!("\n| API | key | versions |\n|---|---|---|\n{table}\n"));
    for range in &advertised.api_keys {
        let api = ApiKey::from_code(range.api_key).unwrap();
        let versions = range.min_version..=range.max_version;
        let last = match api {
            // Later ones are for brokers among themselves.
            ApiKey::AddPartitionsToTxn => 3,
            api => *api.versions().end(),
        };
        assert_eq!(versions, *api.versions().start()..=last, "{api:?} is served whole");
        for version in versions {
            let client = &mut client;
            let produce = ProduceRequest { acks: -1, ..Default::default() };
            let describe = DescribeClusterRequest { endpoint_type: 1, ..Default::default() };
            let known = asked(client, api, version, &produce)
                || asked(client, api, version, &FetchRequest::default())
                || asked(client, api, version, &ListOffsetsRequest::default())
                || asked(client, api, version, &MetadataRequest::default())
                || asked(client, api, version, &OffsetCommitRequest::default())
                || asked(client, api, version, &OffsetFetchRequest::default())
                || asked(client, api, version, &FindCoordinatorRequest::default())
                || asked(client, api, version, &JoinGroupRequest::default())
                || asked(client, api, version, &HeartbeatRequest::default())
                || asked(client, api, version, &LeaveGroupRequest::default())
                || asked(client, api, version, &SyncGroupRequest::default())
                || asked(client, api, version, &DescribeGroupsRequest::default())
                || asked(client, api, version, &ListGroupsRequest::default())
                || asked(client, api, version, &ApiVersionsRequest::default())
                || asked(client, api, version, &CreateTopicsRequest::default())
                || asked(client, api, version, &DeleteTopicsRequest::default())
                || asked(client, api, version, &InitProducerIdRequest::default())
                || asked(client, api, version, &AddPartitionsToTxnRequest::default())
                || asked(client, api, version, &AddOffsetsToTxnRequest::default())
                || asked(client, api, version, &EndTxnRequest::default())
                || asked(client, api, version, &WriteTxnMarkersRequest::default())
                || asked(client, api, version, &TxnOffsetCommitRequest::default())
                || asked(client, api, version, &DescribeConfigsRequest::default())
                || asked(client, api, version, &CreatePartitionsRequest::default())
                || asked(client, api, version, &DeleteGroupsRequest::default())
                || asked(client, api, version, &OffsetDeleteRequest::default())
                || asked(client, api, version, &describe);
            assert!(known, "{api:?} is advertised: this test must ask it");
        }
    }
    server.stop();
}
