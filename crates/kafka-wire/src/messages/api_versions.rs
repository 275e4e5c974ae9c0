//! The `ApiVersions` API: what a server speaks. The first request on a connection.
//!
//! A server that does not know the version of the request answers in version 0, with error 35 (KIP-511).

use crate::structure::structures;

structures! {
    /// Asks what the server speaks.
    ApiVersionsRequest<'a> {
        client_software_name: &'a str => 3.., ignorable;
        client_software_version: &'a str => 3.., ignorable;
    }

    /// The APIs, and their versions. Its header is always version 0.
    ApiVersionsResponse<'a> {
        error_code: i16 => 0..;
        api_keys: Vec<ApiVersion> => 0..;
        throttle_time_ms: i32 => 1.., ignorable;
        supported_features: Vec<SupportedFeatureKey<'a>> => 3.., tag 0, ignorable;
        /// -1 is unknown.
        finalized_features_epoch: i64 = -1 => 3.., tag 1, ignorable;
        finalized_features: Vec<FinalizedFeatureKey<'a>> => 3.., tag 2, ignorable;
        zk_migration_ready: bool => 3.., tag 3, ignorable;
    }

    /// One of [`ApiVersionsResponse::api_keys`].
    ApiVersion {
        api_key: i16 => 0..;
        min_version: i16 => 0..;
        max_version: i16 => 0..;
    }

    /// One of [`ApiVersionsResponse::supported_features`].
    SupportedFeatureKey<'a> {
        name: &'a str => 3..;
        min_version: i16 => 3..;
        max_version: i16 => 3..;
    }

    /// One of [`ApiVersionsResponse::finalized_features`].
    FinalizedFeatureKey<'a> {
        name: &'a str => 3..;
        max_version_level: i16 => 3..;
        min_version_level: i16 => 3..;
    }
}
