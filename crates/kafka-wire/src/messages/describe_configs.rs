//! The `DescribeConfigs` API: settings of topics and brokers.

use crate::structure::structures;

structures! {
    /// Asks for settings.
    DescribeConfigsRequest<'a> {
        resources: Vec<DescribeConfigsResource<'a>> => 0..;
        include_synonyms: bool => 1..;
        include_documentation: bool => 3..;
    }

    /// One of [`DescribeConfigsRequest::resources`].
    DescribeConfigsResource<'a> {
        resource_type: i8 => 0..;
        resource_name: &'a str => 0..;
        configuration_keys: Option<Vec<&'a str>> = Some(Vec::new()) => 0.., nullable 0..;
    }

    /// The settings.
    DescribeConfigsResponse<'a> {
        throttle_time_ms: i32 => 0..;
        results: Vec<DescribeConfigsResult<'a>> => 0..;
    }

    /// One of [`DescribeConfigsResponse::results`].
    DescribeConfigsResult<'a> {
        error_code: i16 => 0..;
        error_message: Option<&'a str> = Some("") => 0.., nullable 0..;
        resource_type: i8 => 0..;
        resource_name: &'a str => 0..;
        configs: Vec<DescribeConfigsResourceResult<'a>> => 0..;
    }

    /// One of [`DescribeConfigsResult::configs`].
    DescribeConfigsResourceResult<'a> {
        name: &'a str => 0..;
        value: Option<&'a str> = Some("") => 0.., nullable 0..;
        read_only: bool => 0..;
        config_source: i8 = -1 => 1.., ignorable;
        is_sensitive: bool => 0..;
        synonyms: Vec<DescribeConfigsSynonym<'a>> => 1.., ignorable;
        config_type: i8 => 3.., ignorable;
        documentation: Option<&'a str> = Some("") => 3.., nullable 0.., ignorable;
    }

    /// One of [`DescribeConfigsResourceResult::synonyms`].
    DescribeConfigsSynonym<'a> {
        name: &'a str => 1..;
        value: Option<&'a str> = Some("") => 1.., nullable 0..;
        source: i8 => 1..;
    }
}
