//! The `DeleteTopics` API. From version 6 on topics can go by id.

use crate::field::Uuid;
use crate::structure::structures;

structures! {
    /// Deletes topics.
    DeleteTopicsRequest<'a> {
        topics: Vec<DeleteTopicState<'a>> => 6..;
        topic_names: Vec<&'a str> => 0..=5, ignorable;
        timeout_ms: i32 => 0..;
    }

    /// One of [`DeleteTopicsRequest::topics`].
    DeleteTopicState<'a> {
        name: Option<&'a str> => 6.., nullable 6..;
        topic_id: Uuid => 6..;
    }

    /// Per topic, whether it is gone.
    DeleteTopicsResponse<'a> {
        throttle_time_ms: i32 => 1.., ignorable;
        responses: Vec<DeletableTopicResult<'a>> => 0..;
    }

    /// One of [`DeleteTopicsResponse::responses`].
    DeletableTopicResult<'a> {
        name: Option<&'a str> = Some("") => 0.., nullable 6..;
        topic_id: Uuid => 6.., ignorable;
        error_code: i16 => 0..;
        error_message: Option<&'a str> => 5.., nullable 5.., ignorable;
    }
}
