//! Groups with very many offsets: what goes over all of them is done a slice a turn, so that others are served in between.

use super::*;

const MANY: i32 = 12_000;

/// Two topics, so that slices begin and end within one and between them.
fn host_with_many() -> Host {
    let mut host = Host::new(Config { offsets_retention_check_interval_ms: None, ..Config::default() });
    for topic in ["a", "b"] {
        host.commit("g", (0..MANY / 2).map(|n| offset(partition(topic, n), i64::from(n))).collect());
    }
    host.responses.clear();
    host.events.clear();
    host
}

fn ask_for_all(host: &mut Host) -> u64 {
    let group = GroupId::from("g");
    host.ask(Request::OffsetFetch(OffsetFetch { group, partitions: None, require_stable: true }))
}

#[test]
fn all_offsets_of_a_large_group_are_read_while_others_are_served() {
    let mut host = host_with_many();
    let all = ask_for_all(&mut host);
    assert!(!host.responses.contains_key(&all), "not in one turn");
    assert_eq!(host.fetch("g", Some(vec![partition("b", 7)]), true)[0].offset, 7);
    // What is read later is as it is then.
    host.commit("g", vec![offset(partition("b", 5_999), -7), offset(partition("c", 0), 1)]);
    host.advance(10);
    let Some(Response::OffsetFetch(response)) = host.responses.remove(&all) else { panic!("not answered") };
    assert_eq!(response.error, None);
    let read = response.offsets.iter().map(|found| (found.partition.clone(), found.offset));
    let topics = ["a", "b"].into_iter();
    let mut expected: Vec<_> =
        topics.flat_map(|topic| (0..MANY / 2).map(move |n| (partition(topic, n), i64::from(n)))).collect();
    expected.last_mut().unwrap().1 = -7;
    expected.push((partition("c", 0), 1));
    assert!(read.eq(expected));
}

#[test]
fn a_group_that_goes_while_it_is_read_is_answered_for() {
    let mut host = host_with_many();
    let lost = ask_for_all(&mut host);
    host.turn(Input::Unload(PARTITION, OwnerEpoch(host.epoch + 1)));
    host.advance(10);
    let Some(Response::OffsetFetch(response)) = host.responses.remove(&lost) else { panic!("not answered") };
    assert_eq!((response.error, response.offsets.len()), (Some(GroupError::NotCoordinator), 0));

    let mut host = host_with_many();
    let deleted = ask_for_all(&mut host);
    host.ask(Request::DeleteGroups(DeleteGroups { groups: vec!["g".into()] }));
    host.advance(10);
    let Some(Response::OffsetFetch(response)) = host.responses.remove(&deleted) else {
        panic!("not answered")
    };
    assert_eq!(response.error, None);
    assert!(response.offsets.iter().all(|found| found.offset == i64::from(found.partition.partition)));
}

#[test]
fn offsets_of_a_large_group_expire_in_slices() {
    let mut host = host_with_many();
    host.commit("small", vec![offset(partition("a", 0), 1)]);
    host.now = host.now.saturating_add(8 * 24 * 60 * 60 * 1_000);
    host.commit("g", (0..2_000).map(|n| offset(partition("a", n * 2), 1)).collect());
    host.turn(Input::CleanUp);
    let at_once = host.events.len();
    assert!((1..=4_000).contains(&at_once), "{at_once} in one turn");
    host.advance(10);
    let gone = host.events.iter().filter(|event| matches!(event, EventKind::OffsetExpired { .. })).count();
    assert_eq!(gone, 10_001);
    assert!(!host.exists("small"));
    assert_eq!(host.fetch("g", None, true).len(), 2_000);
    host.restart();
    assert_eq!(host.fetch("g", None, true).len(), 2_000, "each has its tombstone");
}

#[test]
fn offsets_of_deleted_topics_go_in_slices() {
    let mut host = host_with_many();
    host.commit("g", vec![offset(partition("kept", 0), 1)]);
    host.commit("small", vec![offset(partition("b", 5_999), 1), offset(partition("kept", 0), 1)]);
    let topics = ["a", "b"].into_iter();
    let all = topics.flat_map(|topic| (0..MANY / 2).map(move |n| partition(topic, n))).collect();
    host.turn(Input::TopicPartitionsDeleted(all));
    let deleted = |host: &Host| {
        host.events.iter().filter(|event| matches!(event, EventKind::OffsetDeleted { .. })).count()
    };
    let at_once = deleted(&host);
    assert!((1..=4_000).contains(&at_once), "{at_once} in one turn");
    host.advance(20);
    assert_eq!(deleted(&host), 12_001);
    host.restart();
    for group in ["g", "small"] {
        let left = host.fetch(group, None, true);
        let left: Vec<_> = left.iter().map(|found| found.partition.clone()).collect();
        assert_eq!(left, [partition("kept", 0)], "{group}: each has its tombstone");
    }
}

/// The topics are deleted; the first slice is done; made anew, they are committed to before the others come.
#[test]
fn what_is_committed_after_a_deletion_stays() {
    for is_answered_late in [false, true] {
        let mut host = host_with_many();
        host.commit("loaded", vec![offset(partition("b", 0), 1), offset(partition("b", 1), 1)]);
        host.restart();
        let topics = ["a", "b"].into_iter();
        let all = topics.flat_map(|topic| (0..MANY / 2).map(move |n| partition(topic, n))).collect();
        host.turn(Input::TopicPartitionsDeleted(all));
        host.reports = !is_answered_late;
        host.commit("g", vec![offset(partition("b", 5_999), 70)]);
        host.commit("loaded", vec![offset(partition("b", 1), 71)]);
        host.commit("new", vec![offset(partition("b", 2), 72)]);
        if is_answered_late {
            // While the writes are under way the slices pass by.
            host.advance(20);
            host.reports = true;
            while let Some(id) = host.waiting.front().copied() {
                host.report(id, Ok(()));
            }
        }
        host.advance(20);
        for restarted in [false, true] {
            if restarted {
                host.restart();
            }
            for (group, index, value) in [("g", 5_999, 70), ("loaded", 1, 71), ("new", 2, 72)] {
                let left = host.fetch(group, None, true);
                let left: Vec<_> = left.iter().map(|found| (found.partition.clone(), found.offset)).collect();
                assert_eq!(left, [(partition("b", index), value)], "{group}, late: {is_answered_late}");
            }
        }
    }
}

/// A partition that comes back while the slices go on brings what it had: nobody can tell any more when it was committed.
#[test]
fn a_group_that_is_loaded_behind_a_deletion_keeps_what_it_brings() {
    let mut host = host_with_many();
    host.turn(Input::TopicPartitionsDeleted((0..MANY / 2).map(|n| partition("b", n)).collect()));
    host.commit("g", vec![offset(partition("b", 5_999), 70)]);
    host.restart();
    host.advance(20);
    assert_eq!(host.fetch("g", Some(vec![partition("b", 5_999)]), true)[0].offset, 70);
}
