//! The history of events: what it keeps, in which order, and that nothing makes it grow without end.

use coordinator::Timestamp;
use coordinator::events::history::{History, HistoryLimits};
use coordinator::events::{Event, EventKind, EventName};
use coordinator::ids::{Generation, GroupId, MemberId, TopicPartition};

fn event(group: &str, generation: i32, kind: EventKind) -> Event {
    Event { at: Timestamp::ZERO, group: group.into(), generation: Generation(generation), kind }
}

fn expired(generation: i32, partition: i32) -> Event {
    let partition = TopicPartition { topic: "orders".into(), partition };
    event("g", generation, EventKind::OffsetExpired { partition })
}

fn left(group: &str, member: &str) -> Event {
    event(group, 1, EventKind::MemberLeft { member: member.into(), reason: None })
}

fn numbers(history: &History, group: &str) -> Vec<u64> {
    history.of(&GroupId::from(group)).map(|entry| entry.number).collect()
}

#[test]
fn of_one_group_the_last_are_kept_and_their_numbers_go_on() {
    let mut history = History::new(HistoryLimits { per_group: 3, ..HistoryLimits::default() });
    for member in ["a", "b", "c", "d", "e"] {
        history.record(&left("g", member));
    }
    assert_eq!(numbers(&history, "g"), [3, 4, 5]);
    let counts: Vec<_> = history.counts(&"g".into()).collect();
    assert_eq!(counts, [(EventName::MemberLeft, 5)]);
    assert_eq!(numbers(&history, "nosuch"), [0; 0]);
}

#[test]
fn a_million_offsets_that_expire_do_not_push_out_why() {
    let mut history = History::default();
    history.record(&left("g", "a"));
    for partition in 0..1_000_000 {
        history.record(&expired(1, partition));
    }
    history.record(&expired(2, 7));
    let times: Vec<_> = history.of(&"g".into()).map(|entry| (entry.number, entry.times)).collect();
    assert_eq!(times, [(1, 1), (1_000_001, 1_000_000), (1_000_002, 1)]);
}

#[test]
fn the_group_that_was_silent_longest_is_forgotten_first() {
    let limits = HistoryLimits { bytes: 4_000, ..HistoryLimits::default() };
    let mut history = History::new(limits);
    for group in ["a", "b", "a"] {
        history.record(&left(group, "m"));
    }
    assert_eq!(history.groups().map(GroupId::as_str).collect::<Vec<_>>(), ["a", "b"]);
    let mut group = 0;
    while !numbers(&history, "b").is_empty() {
        group += 1;
        history.record(&left(&format!("g{group}"), "m"));
    }
    assert_eq!(numbers(&history, "a"), [1, 2]);
    assert!(group > 3, "{group}");
}

#[test]
fn nothing_makes_it_larger_than_its_limit() {
    let limits = HistoryLimits { bytes: 100_000, per_group: 8, names: 4 };
    let mut history = History::new(limits);
    let long = |seed: u32| "x".repeat((seed.wrapping_mul(2_654_435_761) % 32_000) as usize);
    for seed in 0..2_000_u32 {
        let dropped = (0..seed % 100).map(|name| MemberId::new(long(seed + name))).collect();
        let member = MemberId::new(long(seed));
        let kind = match seed % 3 {
            0 => EventKind::RebalanceStarted { member, cause: long(seed / 3).into() },
            1 => EventKind::MemberLeft { member, reason: Some(long(seed / 7).into()) },
            _ => EventKind::RebalanceJoined {
                members: 3,
                leader: member.clone(),
                waited_ms: 5,
                waited_for: member,
                dropped,
            },
        };
        history.record(&event(&format!("g{}", seed % 17), 1, kind));
        // One event is taken whole, of at most six members.
        assert!(history.bytes() < limits.bytes + 6 * 33_000, "{}", history.bytes());
        assert!(history.bytes() < limits.bytes || history.groups().count() == 1);
    }
    for group in history.groups() {
        for entry in history.of(group) {
            let EventKind::RebalanceJoined { dropped, .. } = &entry.event.kind else { continue };
            assert!(dropped.len() <= 4 && (entry.omitted == 0 || dropped.len() == 4));
        }
    }
}

#[test]
fn each_kind_of_event_stands_at_its_own_place() {
    for (index, name) in EventName::ALL.into_iter().enumerate() {
        assert_eq!(name as usize, index, "{}", name.as_str());
    }
}
