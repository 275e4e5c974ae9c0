//! A simulated clock over restarts, and the data directories that it may run in.

use std::path::Path;

use groupd::server::Server;
use groupd::settings::{Settings, StoreKind};

use super::{Client, advance, now_ms, standing, start};
use crate::serve::groups::{committed, stable};

fn kept_in(directory: &Path) -> Settings {
    Settings { store: StoreKind::Embedded, data_dir: directory.to_owned(), ..standing() }
}

#[test]
fn a_restart_does_not_take_time_back() {
    let directory = tempfile::tempdir().unwrap();
    let settings = kept_in(directory.path());
    let server = start(&settings);
    let mut member = stable(&server);
    assert_eq!(member.commit(42), 0);
    advance(&server, "by=1h");
    let stood = now_ms(&server);
    server.stop();

    let server = start(&settings);
    assert_eq!(now_ms(&server), stood, "it goes on from where it stood");
    member.client = Client::connect(server.address());
    assert_eq!(member.heartbeat(), 0, "a fresh session, from then on");
    assert_eq!(committed(&mut member.client), [42, -1]);
    assert_eq!(advance(&server, "by=30s&silent_all")["members_evicted"], 1);
    server.stop();

    // Where the clock stood is long past: time goes on from the present.
    std::fs::write(directory.path().join("simulated-clock"), "1000\n").unwrap();
    let server = start(&settings);
    assert!(now_ms(&server) > 1_600_000_000_000);
    server.stop();
}

#[test]
fn a_directory_of_an_ordinary_server_is_not_touched() {
    let directory = tempfile::tempdir().unwrap();
    let for_tests = kept_in(directory.path());
    let ordinary = Settings { simulated_clock: false, ..for_tests.clone() };
    let server = start(&ordinary);
    let mut member = stable(&server);
    assert_eq!(member.commit(42), 0);
    server.stop();
    let refused = Server::start(&for_tests).unwrap_err().to_string();
    assert!(refused.contains("was made without --simulated-clock"), "{refused}");
    // As it was.
    let server = start(&ordinary);
    member.client = Client::connect(server.address());
    assert_eq!(committed(&mut member.client), [42, -1]);
    server.stop();
}

#[test]
fn an_ordinary_server_goes_on_where_a_simulated_clock_ran() {
    let directory = tempfile::tempdir().unwrap();
    let for_tests = kept_in(directory.path());
    let server = start(&for_tests);
    let mut member = stable(&server);
    advance(&server, "by=1h");
    assert_eq!(member.commit(42), 0);
    server.stop();
    let server = start(&Settings { simulated_clock: false, ..for_tests });
    member.client = Client::connect(server.address());
    assert_eq!(committed(&mut member.client), [42, -1]);
    assert_eq!(member.heartbeat(), 0);
    server.stop();
}
