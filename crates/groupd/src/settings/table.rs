//! The table of settings: name, default, what is allowed, what it is for. Help, docs and checks read it.

use std::ops::RangeInclusive;

/// One setting.
#[derive(Debug)]
pub struct Setting {
    /// Kafka's name, or ours where Kafka has none. Dotted; the environment's name follows from it.
    pub name: &'static str,
    /// Its own flag, if it has one. All can be given as `--set name=value`.
    pub flag: Option<&'static str>,
    /// The text that is read if nobody gives another. Empty: not set.
    pub default: &'static str,
    /// What is allowed.
    pub allowed: Allowed,
    /// What it is for: one line.
    pub about: &'static str,
}

impl Setting {
    /// The environment variable that sets it: `GROUPD_` and the name in capitals.
    pub fn environment(&self) -> String {
        format!("GROUPD_{}", self.name.replace('.', "_").to_uppercase())
    }
}

/// What a setting may be.
#[derive(Debug)]
pub enum Allowed {
    /// A whole number.
    Whole(RangeInclusive<i64>),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// Something that its type reads; here in words.
    Text(&'static str),
}

impl Allowed {
    /// What is allowed, in words that follow "must be".
    pub fn describe(&self) -> String {
        match self {
            Self::Whole(range) => format!("a whole number from {} to {}", range.start(), range.end()),
            Self::OneOf(words) => words.join(" or "),
            Self::Text(words) => (*words).to_owned(),
        }
    }
}

const INT_MAX: i64 = i32::MAX as i64;
/// More memory than there is: 1 TiB.
const MEMORY_MAX: i64 = 1 << 40;
/// Counts of partitions, bounded so that one answer about a topic stays small.
const PARTITIONS: RangeInclusive<i64> = 1..=super::values::MAX_PARTITIONS_PER_TOPIC as i64;

const fn ours(
    name: &'static str,
    flag: &'static str,
    default: &'static str,
    allowed: Allowed,
    about: &'static str,
) -> Setting {
    Setting { name, flag: Some(flag), default, allowed, about }
}

const fn kafka(
    name: &'static str,
    default: &'static str,
    range: RangeInclusive<i64>,
    about: &'static str,
) -> Setting {
    Setting { name, flag: None, default, allowed: Allowed::Whole(range), about }
}

/// All settings, in the order they are listed.
pub const SETTINGS: &[Setting] = &[
    ours(
        "listen",
        "--listen",
        "127.0.0.1:9092",
        Allowed::Text("HOST:PORT, such as 127.0.0.1:9092 or [::]:9092"),
        "where Kafka clients connect; port 0 takes any free port",
    ),
    ours(
        "advertise",
        "--advertise",
        "",
        Allowed::Text("HOST:PORT that clients can reach"),
        "what clients are told to connect to; not set: the address each client reached us by",
    ),
    ours(
        "http",
        "--http",
        "auto",
        Allowed::Text("HOST:PORT, auto (127.0.0.1, --listen's port + 1000) or off"),
        "where /metrics, /healthz and /readyz are served",
    ),
    ours(
        "store",
        "--store",
        "embedded",
        Allowed::OneOf(&["embedded", "memory"]),
        "where group state is kept: on disk, or in memory until the process ends",
    ),
    ours(
        "data.dir",
        "--data-dir",
        "./groupd-data",
        Allowed::Text("a directory"),
        "the embedded store's directory, made if absent",
    ),
    ours(
        "topic",
        "--topic",
        "",
        Allowed::Text("NAME:PARTITIONS, such as orders:12; several are separated by commas"),
        "topics that exist from the start",
    ),
    ours(
        "shards",
        "--shards",
        "auto",
        Allowed::Text("a whole number from 1 to 1024, or auto (the number of cores)"),
        "threads that own groups",
    ),
    Setting {
        name: "simulated.clock",
        flag: Some("--simulated-clock"),
        default: "false",
        allowed: Allowed::OneOf(&["true", "false"]),
        about: "for tests: time stands still and moves by `groupd clock advance`, faults are made by `groupd fault`",
    },
    ours(
        "log.filter",
        "--log",
        "info",
        Allowed::Text("a filter: error, warn, info, debug, trace or off, also per target: info,groupd=debug"),
        "what is logged, to standard error",
    ),
    ours("log.format", "--log-format", "text", Allowed::OneOf(&["text", "json"]), "how it is logged"),
    kafka("node.id", "1", 0..=INT_MAX, "this node's id in Metadata; broker.id means the same"),
    kafka(
        "group.initial.rebalance.delay.ms",
        "3000",
        0..=INT_MAX,
        "how long the first join of an empty group waits for others",
    ),
    kafka(
        "group.min.session.timeout.ms",
        "6000",
        1..=INT_MAX,
        "the shortest session timeout a member may ask for",
    ),
    kafka(
        "group.max.session.timeout.ms",
        "1800000",
        1..=INT_MAX,
        "the longest session timeout a member may ask for",
    ),
    kafka("group.max.size", "2147483647", 1..=INT_MAX, "members of one group"),
    kafka(
        "offsets.retention.minutes",
        "10080",
        1..=INT_MAX,
        "how long a group without members keeps its offsets",
    ),
    kafka(
        "offsets.retention.check.interval.ms",
        "600000",
        1..=INT_MAX,
        "how often expired offsets are looked for",
    ),
    kafka("offset.metadata.max.bytes", "4096", 0..=INT_MAX, "the longest note a commit may carry"),
    kafka(
        "offsets.commit.timeout.ms",
        "5000",
        1..=INT_MAX,
        "how long a commit or an assignment waits for the store",
    ),
    kafka(
        "offsets.topic.num.partitions",
        "50",
        PARTITIONS,
        "over how many partitions groups are hashed; fixed for the life of a data directory",
    ),
    kafka(
        "transaction.max.timeout.ms",
        "900000",
        1..=INT_MAX,
        "the longest timeout a transaction may ask for; one left open is aborted at its timeout",
    ),
    kafka(
        "transactional.id.expiration.ms",
        "604800000",
        1..=INT_MAX,
        "a transactional id this long unused is forgotten",
    ),
    kafka(
        "max.transactional.ids",
        "1000000",
        1..=INT_MAX,
        "transactional ids at once, and so transactions open at once (Kafka: without bound)",
    ),
    Setting {
        name: "auto.create.topics.enable",
        flag: None,
        default: "true",
        allowed: Allowed::OneOf(&["true", "false"]),
        about: "whether a client that asks for a topic makes it",
    },
    kafka("num.partitions", "1", PARTITIONS, "partitions of a topic made by asking for it"),
    kafka("socket.request.max.bytes", "104857600", 1024..=INT_MAX, "the largest request"),
    kafka(
        "queued.max.request.bytes",
        "536870912",
        1024..=MEMORY_MAX,
        "what the requests of all connections may take before they reach their groups; at it, large ones are not read on (Kafka: -1, without bound)",
    ),
    kafka("max.connections", "100000", 1..=INT_MAX, "clients at once (Kafka: without bound)"),
    kafka(
        "connections.max.idle.ms",
        "600000",
        -1..=INT_MAX,
        "a connection this long without a request is closed; -1: never",
    ),
];

/// Other names for settings, and Kafka's names for what we call otherwise.
const ALIASES: &[(&str, &str)] = &[("broker.id", "node.id"), ("topics", "topic"), ("log", "log.filter")];
const HINTS: &[(&str, &str)] = &[
    ("listeners", "listen"),
    ("advertised.listeners", "advertise"),
    ("log.dir", "data.dir"),
    ("log.dirs", "data.dir"),
    ("offsets.retention.ms", "offsets.retention.minutes"),
];

/// The setting called `name` (dashes and underscores count as dots), with aliases.
pub(super) fn find(name: &str) -> Option<&'static Setting> {
    let name = canonical(name);
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name.as_str(), |(_, real)| *real);
    SETTINGS.iter().find(|setting| setting.name == name)
}

/// The setting called `name`, which must be in the table.
pub(super) fn known(name: &str) -> &'static Setting {
    find(name).expect("invariant: settings are read by names of the table")
}

/// The setting that somebody who wrote `name` may have meant.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let name = canonical(name);
    if let Some((_, ours)) = HINTS.iter().find(|(theirs, _)| *theirs == name) {
        return Some(ours);
    }
    let candidates = SETTINGS.iter().map(|setting| setting.name);
    let (distance, best) = candidates.map(|candidate| (distance(&name, candidate), candidate)).min()?;
    let prefix = |candidate: &str| name.len() >= 4 && candidate.starts_with(name.as_str());
    if distance <= name.len().min(best.len()) / 3 {
        Some(best)
    } else {
        SETTINGS.iter().map(|setting| setting.name).find(|candidate| prefix(candidate))
    }
}

fn canonical(name: &str) -> String {
    name.trim().to_lowercase().replace(['-', '_'], ".")
}

/// The Levenshtein distance: how many letters to insert, remove or replace.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, left) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, right) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(left != *right);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_miss_finds_what_was_meant() {
        for (written, meant) in [
            ("group.max.sizee", Some("group.max.size")),
            ("group-max-siz", Some("group.max.size")),
            ("GROUP.MIN.SESSION.TIMEOUT", Some("group.min.session.timeout.ms")),
            ("listeners", Some("listen")),
            ("log.dirs", Some("data.dir")),
            ("lisen", Some("listen")),
            ("compression.type", None),
            ("", None),
        ] {
            assert_eq!(nearest(written), meant, "{written}");
        }
    }

    #[test]
    fn distance_counts_edits() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", ""), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("same", "same"), 0);
    }

    #[test]
    fn names_are_unique_and_sayable_in_the_environment() {
        let mut names: Vec<_> = SETTINGS.iter().map(Setting::environment).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), SETTINGS.len());
        assert_eq!(known("group.max.size").environment(), "GROUPD_GROUP_MAX_SIZE");
    }
}
