//! The protocol's error codes that an admin may meet: their names, and what each means in a sentence.

pub(super) const NONE: i16 = 0;
pub(super) const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;
pub(super) const OFFSET_METADATA_TOO_LARGE: i16 = 12;
pub(super) const UNSUPPORTED_VERSION: i16 = 35;
pub(super) const GROUP_ID_NOT_FOUND: i16 = 69;

/// Kafka's name of a code.
pub(super) fn name(code: i16) -> String {
    known(code).map_or_else(|| format!("error code {code}"), |(name, _)| name.to_owned())
}

/// What it means, and what to do where something can be done.
pub(super) fn sentence(code: i16) -> &'static str {
    known(code).map_or("the server refused", |(_, sentence)| sentence)
}

/// Whether it goes away by itself: a coordinator that is loading, moving or not there yet.
pub(super) fn passes(code: i16) -> bool {
    matches!(code, 14..=16 | 41)
}

fn known(code: i16) -> Option<(&'static str, &'static str)> {
    Some(match code {
        -1 => ("UNKNOWN_SERVER_ERROR", "the server failed; its log says more"),
        UNKNOWN_TOPIC_OR_PARTITION => ("UNKNOWN_TOPIC_OR_PARTITION", "there is no such topic or partition"),
        7 => ("REQUEST_TIMED_OUT", "the server could not do it in time"),
        OFFSET_METADATA_TOO_LARGE => {
            ("OFFSET_METADATA_TOO_LARGE", "the note is longer than offset.metadata.max.bytes")
        }
        14 => ("COORDINATOR_LOAD_IN_PROGRESS", "the coordinator is still loading; try again"),
        15 => ("COORDINATOR_NOT_AVAILABLE", "no coordinator is available; try again"),
        16 => ("NOT_COORDINATOR", "the group's coordinator has moved; try again"),
        17 => ("INVALID_TOPIC_EXCEPTION", "this cannot be a topic's name"),
        22 => ("ILLEGAL_GENERATION", "the group has live members; stop them first"),
        24 => ("INVALID_GROUP_ID", "this cannot be a group's name"),
        25 => {
            ("UNKNOWN_MEMBER_ID", "the group has no such member, or it has live members that own its offsets")
        }
        27 => ("REBALANCE_IN_PROGRESS", "the group is rebalancing; try again when it is stable or empty"),
        28 => ("INVALID_COMMIT_OFFSET_SIZE", "the commit is too large"),
        29 => ("TOPIC_AUTHORIZATION_FAILED", "the server does not allow it for this topic"),
        30 => ("GROUP_AUTHORIZATION_FAILED", "the server does not allow it for this group"),
        31 => ("CLUSTER_AUTHORIZATION_FAILED", "the server does not allow it"),
        UNSUPPORTED_VERSION => {
            ("UNSUPPORTED_VERSION", "the server does not know this request in this version")
        }
        36 => ("TOPIC_ALREADY_EXISTS", "there is a topic of this name"),
        37 => ("INVALID_PARTITIONS", "this cannot be a number of partitions"),
        38 => ("INVALID_REPLICATION_FACTOR", "the cluster has too few brokers for this replication factor"),
        41 => ("NOT_CONTROLLER", "the controller has moved; try again"),
        42 => ("INVALID_REQUEST", "the server finds the request wrong; its log says more"),
        44 => ("POLICY_VIOLATION", "the server's policy does not allow it"),
        60 => ("REASSIGNMENT_IN_PROGRESS", "partitions are being moved; try again later"),
        68 => ("NON_EMPTY_GROUP", "the group has live members; stop or evict them first"),
        GROUP_ID_NOT_FOUND => ("GROUP_ID_NOT_FOUND", "there is no such group"),
        73 => ("TOPIC_DELETION_DISABLED", "the server is set not to delete topics"),
        82 => ("FENCED_INSTANCE_ID", "the static member has come back under a new id since; look again"),
        86 => ("GROUP_SUBSCRIBED_TO_TOPIC", "the group is subscribed to the topic; stop its members first"),
        88 => ("UNSTABLE_OFFSET_COMMIT", "a transaction that commits these offsets is open; try again"),
        89 => ("THROTTLING_QUOTA_EXCEEDED", "the server's quota is used up; try again later"),
        100 => ("UNKNOWN_TOPIC_ID", "there is no such topic"),
        110 => ("FENCED_MEMBER_EPOCH", "the member has a newer epoch"),
        113 => ("STALE_MEMBER_EPOCH", "the group has live members; stop them first"),
        _ => return None,
    })
}
