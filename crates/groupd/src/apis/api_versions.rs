//! ApiVersions, versions 0 to 4: what is served here. Nothing else is advertised.

use kafka_wire::{ApiVersion, ApiVersionsRequest, ApiVersionsResponse, WireError};

use super::head::Api;
use crate::wire::errors;

pub(super) fn answer(version: i16, body: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
    // What the client calls itself is of no use here; that it can be read is.
    ApiVersionsRequest::decode(version, body)?;
    let api_keys = Api::ALL.iter().map(|api| range(*api)).collect();
    ApiVersionsResponse { api_keys, ..Default::default() }.encode(version, out)
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
