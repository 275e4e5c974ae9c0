//! Every API this crate speaks: its key, its versions and its two messages, in one table.

use std::ops::RangeInclusive;

use crate::message::{Request, message};

/// The first flexible version of an API that has none.
const NEVER: i16 = i16::MAX;

macro_rules! apis {
    ($($api:ident = $key:literal, versions $versions:expr, flexible from $flexible:expr,
        $request:ident $(<$request_life:lifetime>)? -> $response:ident $(<$response_life:lifetime>)?;)+) => {
        use crate::{$($request, $response,)+};

        /// An API of the Kafka protocol.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(i16)]
        pub enum ApiKey {
            $(
                #[doc = concat!(
                    "Key ", $key, ", versions `", stringify!($versions), "`: [`", stringify!($request), "`], [`",
                    stringify!($response), "`]."
                )]
                $api = $key,
            )+
        }

        impl ApiKey {
            /// Every API of this crate, in the order of their keys.
            pub const ALL: &[Self] = &[$(Self::$api,)+];

            /// The API with this key on the wire, if this crate knows it.
            pub const fn from_code(code: i16) -> Option<Self> {
                match code {
                    $($key => Some(Self::$api),)+
                    _ => None,
                }
            }

            /// Kafka's name of it, as in `JoinGroup`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$api => stringify!($api),)+ }
            }

            /// The versions this crate reads and writes.
            pub const fn versions(self) -> RangeInclusive<i16> {
                match self { $(Self::$api => $versions,)+ }
            }

            /// The first version with compact lengths and tagged fields (KIP-482).
            const fn flexible_from(self) -> i16 {
                match self { $(Self::$api => $flexible,)+ }
            }
        }

        $(
            message!($request $(<$request_life>)?, versions $versions, flexible from $flexible);
            message!($response $(<$response_life>)?, versions $versions, flexible from $flexible);

            impl $(<$request_life>)? $request $(<$request_life>)? {
                /// The API it belongs to.
                pub const KEY: ApiKey = ApiKey::$api;

                /// The version of the header in front of it.
                pub const fn header_version(version: i16) -> i16 {
                    ApiKey::$api.request_header_version(version)
                }
            }

            impl $(<$response_life>)? $response $(<$response_life>)? {
                /// The API it belongs to.
                pub const KEY: ApiKey = ApiKey::$api;

                /// The version of the header in front of it.
                pub const fn header_version(version: i16) -> i16 {
                    ApiKey::$api.response_header_version(version)
                }
            }

            impl<'a> Request<'a> for $request $(<$request_life>)? {
                const KEY: ApiKey = ApiKey::$api;
                type Response<'r> = with_lifetime!($response 'r $($response_life)?);
            }
        )+
    };
}

macro_rules! with_lifetime {
    ($name:ident $life:lifetime) => { $name };
    ($name:ident $life:lifetime $_own:lifetime) => { $name<$life> };
}

impl ApiKey {
    /// The key on the wire.
    pub const fn code(self) -> i16 {
        self as i16
    }

    /// The version of the header in front of a request, 1 or 2; also for versions that this crate does not
    /// know.
    pub const fn request_header_version(self, version: i16) -> i16 {
        if version >= self.flexible_from() { 2 } else { 1 }
    }

    /// The version of the header in front of a response, 0 or 1.
    ///
    /// That of `ApiVersions` is always 0: a client must understand it before it knows what the server speaks.
    pub const fn response_header_version(self, version: i16) -> i16 {
        match self {
            Self::ApiVersions => 0,
            _ if version >= self.flexible_from() => 1,
            _ => 0,
        }
    }
}

apis! {
    Produce = 0, versions 3..=13, flexible from 9,
        ProduceRequest<'a> -> ProduceResponse<'a>;
    Fetch = 1, versions 4..=18, flexible from 12,
        FetchRequest<'a> -> FetchResponse<'a>;
    ListOffsets = 2, versions 1..=11, flexible from 6,
        ListOffsetsRequest<'a> -> ListOffsetsResponse<'a>;
    Metadata = 3, versions 0..=13, flexible from 9,
        MetadataRequest<'a> -> MetadataResponse<'a>;
    OffsetCommit = 8, versions 2..=10, flexible from 8,
        OffsetCommitRequest<'a> -> OffsetCommitResponse<'a>;
    OffsetFetch = 9, versions 1..=10, flexible from 6,
        OffsetFetchRequest<'a> -> OffsetFetchResponse<'a>;
    FindCoordinator = 10, versions 0..=6, flexible from 3,
        FindCoordinatorRequest<'a> -> FindCoordinatorResponse<'a>;
    JoinGroup = 11, versions 0..=9, flexible from 6,
        JoinGroupRequest<'a> -> JoinGroupResponse<'a>;
    Heartbeat = 12, versions 0..=4, flexible from 4,
        HeartbeatRequest<'a> -> HeartbeatResponse;
    LeaveGroup = 13, versions 0..=5, flexible from 4,
        LeaveGroupRequest<'a> -> LeaveGroupResponse<'a>;
    SyncGroup = 14, versions 0..=5, flexible from 4,
        SyncGroupRequest<'a> -> SyncGroupResponse<'a>;
    DescribeGroups = 15, versions 0..=6, flexible from 5,
        DescribeGroupsRequest<'a> -> DescribeGroupsResponse<'a>;
    ListGroups = 16, versions 0..=5, flexible from 3,
        ListGroupsRequest<'a> -> ListGroupsResponse<'a>;
    SaslHandshake = 17, versions 0..=1, flexible from NEVER,
        SaslHandshakeRequest<'a> -> SaslHandshakeResponse<'a>;
    ApiVersions = 18, versions 0..=4, flexible from 3,
        ApiVersionsRequest<'a> -> ApiVersionsResponse<'a>;
    CreateTopics = 19, versions 2..=7, flexible from 5,
        CreateTopicsRequest<'a> -> CreateTopicsResponse<'a>;
    DeleteTopics = 20, versions 1..=6, flexible from 4,
        DeleteTopicsRequest<'a> -> DeleteTopicsResponse<'a>;
    InitProducerId = 22, versions 0..=6, flexible from 2,
        InitProducerIdRequest<'a> -> InitProducerIdResponse;
    OffsetForLeaderEpoch = 23, versions 2..=4, flexible from 4,
        OffsetForLeaderEpochRequest<'a> -> OffsetForLeaderEpochResponse<'a>;
    AddPartitionsToTxn = 24, versions 0..=5, flexible from 3,
        AddPartitionsToTxnRequest<'a> -> AddPartitionsToTxnResponse<'a>;
    AddOffsetsToTxn = 25, versions 0..=4, flexible from 3,
        AddOffsetsToTxnRequest<'a> -> AddOffsetsToTxnResponse;
    EndTxn = 26, versions 0..=5, flexible from 3,
        EndTxnRequest<'a> -> EndTxnResponse;
    WriteTxnMarkers = 27, versions 1..=2, flexible from 1,
        WriteTxnMarkersRequest<'a> -> WriteTxnMarkersResponse<'a>;
    TxnOffsetCommit = 28, versions 0..=5, flexible from 3,
        TxnOffsetCommitRequest<'a> -> TxnOffsetCommitResponse<'a>;
    DescribeConfigs = 32, versions 1..=4, flexible from 4,
        DescribeConfigsRequest<'a> -> DescribeConfigsResponse<'a>;
    SaslAuthenticate = 36, versions 0..=2, flexible from 2,
        SaslAuthenticateRequest<'a> -> SaslAuthenticateResponse<'a>;
    CreatePartitions = 37, versions 0..=3, flexible from 2,
        CreatePartitionsRequest<'a> -> CreatePartitionsResponse<'a>;
    DeleteGroups = 42, versions 0..=2, flexible from 2,
        DeleteGroupsRequest<'a> -> DeleteGroupsResponse<'a>;
    IncrementalAlterConfigs = 44, versions 0..=1, flexible from 1,
        IncrementalAlterConfigsRequest<'a> -> IncrementalAlterConfigsResponse<'a>;
    OffsetDelete = 47, versions 0..=0, flexible from NEVER,
        OffsetDeleteRequest<'a> -> OffsetDeleteResponse<'a>;
    DescribeCluster = 60, versions 0..=2, flexible from 0,
        DescribeClusterRequest -> DescribeClusterResponse<'a>;
    ConsumerGroupHeartbeat = 68, versions 0..=1, flexible from 0,
        ConsumerGroupHeartbeatRequest<'a> -> ConsumerGroupHeartbeatResponse<'a>;
    ConsumerGroupDescribe = 69, versions 0..=1, flexible from 0,
        ConsumerGroupDescribeRequest<'a> -> ConsumerGroupDescribeResponse<'a>;
}
