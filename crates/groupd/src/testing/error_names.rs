//! Kafka's error codes by name: those that a client of groups, offsets, topics or transactions may meet.

const NAMES: &[(&str, i16)] = &[
    ("UNKNOWN_SERVER_ERROR", -1),
    ("CORRUPT_MESSAGE", 2),
    ("UNKNOWN_TOPIC_OR_PARTITION", 3),
    ("LEADER_NOT_AVAILABLE", 5),
    ("NOT_LEADER_OR_FOLLOWER", 6),
    ("REQUEST_TIMED_OUT", 7),
    ("BROKER_NOT_AVAILABLE", 8),
    ("MESSAGE_TOO_LARGE", 10),
    ("OFFSET_METADATA_TOO_LARGE", 12),
    ("NETWORK_EXCEPTION", 13),
    ("COORDINATOR_LOAD_IN_PROGRESS", 14),
    ("COORDINATOR_NOT_AVAILABLE", 15),
    ("NOT_COORDINATOR", 16),
    ("INVALID_TOPIC_EXCEPTION", 17),
    ("NOT_ENOUGH_REPLICAS", 19),
    ("NOT_ENOUGH_REPLICAS_AFTER_APPEND", 20),
    ("ILLEGAL_GENERATION", 22),
    ("INCONSISTENT_GROUP_PROTOCOL", 23),
    ("INVALID_GROUP_ID", 24),
    ("UNKNOWN_MEMBER_ID", 25),
    ("INVALID_SESSION_TIMEOUT", 26),
    ("REBALANCE_IN_PROGRESS", 27),
    ("INVALID_COMMIT_OFFSET_SIZE", 28),
    ("TOPIC_AUTHORIZATION_FAILED", 29),
    ("GROUP_AUTHORIZATION_FAILED", 30),
    ("CLUSTER_AUTHORIZATION_FAILED", 31),
    ("UNSUPPORTED_VERSION", 35),
    ("TOPIC_ALREADY_EXISTS", 36),
    ("NOT_CONTROLLER", 41),
    ("INVALID_REQUEST", 42),
    ("POLICY_VIOLATION", 44),
    ("INVALID_PRODUCER_EPOCH", 47),
    ("INVALID_TXN_STATE", 48),
    ("INVALID_PRODUCER_ID_MAPPING", 49),
    ("INVALID_TRANSACTION_TIMEOUT", 50),
    ("CONCURRENT_TRANSACTIONS", 51),
    ("TRANSACTION_COORDINATOR_FENCED", 52),
    ("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", 53),
    ("KAFKA_STORAGE_ERROR", 56),
    ("UNKNOWN_PRODUCER_ID", 59),
    ("NON_EMPTY_GROUP", 68),
    ("GROUP_ID_NOT_FOUND", 69),
    ("MEMBER_ID_REQUIRED", 79),
    ("GROUP_MAX_SIZE_REACHED", 81),
    ("FENCED_INSTANCE_ID", 82),
    ("GROUP_SUBSCRIBED_TO_TOPIC", 86),
    ("UNSTABLE_OFFSET_COMMIT", 88),
    ("THROTTLING_QUOTA_EXCEEDED", 89),
    ("PRODUCER_FENCED", 90),
    ("UNKNOWN_TOPIC_ID", 100),
    ("TRANSACTION_ABORTABLE", 120),
];

/// The code of the error that Kafka calls so, in any case.
///
/// # Errors
///
/// That there is none, with those that there are.
pub(super) fn code(name: &str) -> Result<i16, String> {
    let found = NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, code)| *code).ok_or_else(|| {
        let names: Vec<_> = NAMES.iter().map(|(name, _)| *name).collect();
        format!("there is no error of that name; there are {}", names.join(", "))
    })
}

/// What Kafka calls `code`.
pub(super) fn name(code: i16) -> &'static str {
    NAMES.iter().find(|(_, known)| *known == code).map_or("an error", |(name, _)| name)
}
