//! What a server has acknowledged is there when it comes back: members go on as if it had never been away.

use std::path::Path;
use std::time::Duration;

use groupd::server::Server;
use groupd::settings::{Settings, StoreKind};
use kafka_wire::{MetadataRequest, MetadataResponse, Uuid};

use super::groups::{Member, committed, stable, until};
use super::{Client, read, settings, start};

fn kept_in(directory: &Path) -> Settings {
    Settings { store: StoreKind::Embedded, data_dir: directory.to_owned(), ..settings() }
}

/// The cluster's id, and the id of its only topic.
fn identity(server: &Server) -> (String, Uuid) {
    let body =
        Client::connect(server.address()).ask(13, &MetadataRequest { topics: None, ..Default::default() });
    let metadata: MetadataResponse<'_> = read(13, &body);
    (metadata.cluster_id.unwrap().to_owned(), metadata.topics[0].topic_id)
}

#[test]
fn members_and_commits_outlive_the_server() {
    let directory = tempfile::tempdir().unwrap();
    let settings = kept_in(directory.path());
    let server = start(&settings);
    let mut member = stable(&server);
    assert_eq!(member.commit(42), 0);
    let who = identity(&server);
    server.stop();

    // Twice: what was loaded once can be loaded again.
    for round in 1..3 {
        let server = start(&settings);
        assert_eq!(identity(&server), who);
        member.client = Client::connect(server.address());
        assert_eq!(committed(&mut member.client), [41 + round, -1]);
        assert_eq!(member.heartbeat(), 0, "the same member, the same generation, no rebalance");
        assert_eq!(member.commit(42 + round), 0);
        let sync = member.send_sync(&[]);
        assert_eq!(member.synced(sync), (0, b"all".to_vec()));
        server.stop();
    }

    // A member leaves and another comes, in the next generation.
    let server = start(&settings);
    member.client = Client::connect(server.address());
    let leave = member.send_leave();
    assert_eq!(member.left(leave), 0);
    let another = stable(&server);
    assert!(another.generation > member.generation);
    server.stop();
}

#[test]
fn a_member_that_does_not_come_back_is_missed_after_its_session() {
    let directory = tempfile::tempdir().unwrap();
    let shortest = Duration::from_millis(1);
    let settings = Settings { group_min_session_timeout: shortest, ..kept_in(directory.path()) };
    let server = start(&settings);
    let mut member = Member::with_session(&server, 300);
    let join = member.send_join();
    member.joined(join);
    let sync = member.send_sync(&[(member.id.clone(), b"all".to_vec())]);
    assert_eq!(member.synced(sync).0, 0);
    server.stop();
    let server = start(&settings);
    until(&server, |group| group.group_state == "Empty");
    server.stop();
}

#[test]
fn a_directory_keeps_its_number_of_partitions_and_one_server() {
    let directory = tempfile::tempdir().unwrap();
    let settings = kept_in(directory.path());
    let server = start(&settings);
    let error = Server::start(&settings).unwrap_err();
    assert!(format!("{error:#}").contains("in use by another groupd"), "{error:#}");
    server.stop();
    let fewer = Settings { offsets_topic_num_partitions: 10, ..settings.clone() };
    let error = Server::start(&fewer).unwrap_err();
    assert!(format!("{error:#}").contains("offsets.topic.num.partitions=50"), "{error:#}");
    start(&settings).stop();
}
