//! ApiVersions, versions 0 to 4: what is served here. Nothing else is advertised.

use std::ops::RangeInclusive;

use kafka_wire::api_versions::{FinalizedFeatureKey, SupportedFeatureKey};
use kafka_wire::{ApiVersion, ApiVersionsRequest, ApiVersionsResponse, WireError};

use super::head::Api;
use crate::wire::errors;

/// What a producer is offered: 2 is an epoch for each transaction (KIP-890), and 1 the way before it, which is served as
/// well. Kafka's range begins at 0, which is none of its own, and which older Java clients cannot read.
const TRANSACTION_VERSION: RangeInclusive<i16> = 1..=2;
/// It never changes while the server runs.
const FEATURES_EPOCH: i64 = 0;

pub(super) fn answer(version: i16, body: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
    // What the client calls itself is of no use here; that it can be read is.
    ApiVersionsRequest::decode(version, body)?;
    let api_keys = Api::ALL.iter().map(|api| range(*api)).collect();
    let [min_version, max_version] = [*TRANSACTION_VERSION.start(), *TRANSACTION_VERSION.end()];
    let name = "transaction.version";
    ApiVersionsResponse {
        api_keys,
        supported_features: vec![SupportedFeatureKey { name, min_version, max_version }],
        finalized_features_epoch: FEATURES_EPOCH,
        finalized_features: vec![FinalizedFeatureKey {
            name,
            max_version_level: max_version,
            min_version_level: max_version,
        }],
        ..Default::default()
    }
    .encode(version, out)
}

/// For a client newer than this server: the oldest form, with the versions of this API, so that it asks again
/// in one of them.
pub(super) fn too_new(out: &mut Vec<u8>) -> Result<(), WireError> {
    ApiVersionsResponse {
        error_code: errors::UNSUPPORTED_VERSION,
        api_keys: vec![range(Api::ApiVersions)],
        ..Default::default()
    }
    .encode(0, out)
}

fn range(api: Api) -> ApiVersion {
    let versions = api.versions();
    ApiVersion { api_key: api.key().code(), min_version: *versions.start(), max_version: *versions.end() }
}
