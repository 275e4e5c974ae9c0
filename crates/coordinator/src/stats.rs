//! Plain counts, for whoever publishes them.

/// What a coordinator holds, and what it has done since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Groups now.
    pub groups: usize,
    /// Members of all of them now.
    pub members: usize,
    /// Delayed operations now: one per member, one per round under way, one per write awaited, ...
    pub operations: usize,
    /// Requests of members that are parked now: joins and syncs.
    pub parked_requests: usize,
    /// Delayed operations that ever began to wait.
    pub operations_created: u64,
    /// Those that left because what they waited for happened.
    pub operations_completed: u64,
    /// Those that left because their time was up.
    pub operations_expired: u64,
    /// Those that left because nobody needs them any more.
    pub operations_cancelled: u64,
    /// What was done.
    pub counters: Counters,
}

/// What a coordinator has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Requests handled.
    pub requests: u64,
    /// Writes asked for.
    pub stores: u64,
    /// Rounds of rebalancing begun.
    pub rebalances_started: u64,
    /// Rounds that ended with members and a new generation.
    pub rebalances_joined: u64,
    /// Rounds whose assignment was stored.
    pub rebalances_completed: u64,
    /// Members that fell silent.
    pub sessions_expired: u64,
    /// Members removed because they did not sync in time.
    pub syncs_expired: u64,
    /// Writes that were not reported in time.
    pub stores_expired: u64,
}
