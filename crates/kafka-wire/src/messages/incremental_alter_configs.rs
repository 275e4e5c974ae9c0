//! The `IncrementalAlterConfigs` API: sets, deletes, appends or subtracts single settings (KIP-339).

use crate::structure::structures;

structures! {
    /// Changes settings.
    IncrementalAlterConfigsRequest<'a> {
        resources: Vec<AlterConfigsResource<'a>> => 0..;
        validate_only: bool => 0..;
    }

    /// One of [`IncrementalAlterConfigsRequest::resources`].
    AlterConfigsResource<'a> {
        resource_type: i8 => 0..;
        resource_name: &'a str => 0..;
        configs: Vec<AlterableConfig<'a>> => 0..;
    }

    /// One of [`AlterConfigsResource::configs`].
    AlterableConfig<'a> {
        name: &'a str => 0..;
        config_operation: i8 => 0..;
        value: Option<&'a str> = Some("") => 0.., nullable 0..;
    }

    /// Per resource, whether it was changed.
    IncrementalAlterConfigsResponse<'a> {
        throttle_time_ms: i32 => 0..;
        responses: Vec<AlterConfigsResourceResponse<'a>> => 0..;
    }

    /// One of [`IncrementalAlterConfigsResponse::responses`].
    AlterConfigsResourceResponse<'a> {
        error_code: i16 => 0..;
        error_message: Option<&'a str> = Some("") => 0.., nullable 0..;
        resource_type: i8 => 0..;
        resource_name: &'a str => 0..;
    }
}
