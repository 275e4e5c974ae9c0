//! The commands against a whole server, with members that are alive.

use groupd::server::Server;
use kafka_wire::join_group::JoinGroupRequestProtocol;
use kafka_wire::sync_group::SyncGroupRequestAssignment;
use kafka_wire::{
    HeartbeatRequest, HeartbeatResponse, JoinGroupRequest, JoinGroupResponse, SyncGroupRequest,
    SyncGroupResponse,
};
use serde_json::json;

use super::groupd;
use crate::serve::{Client, read, settings, start};

const UNKNOWN_MEMBER_ID: i16 = 25;

/// A server that this test has for itself, and its address.
fn server() -> (Server, String) {
    let server = start(&settings());
    let address = server.address().to_string();
    (server, address)
}

/// The only member of group `app`: subscribed to `orders`, and the owner of its partitions 0 and 1.
struct Alive {
    client: Client,
    id: String,
    generation: i32,
}

impl Alive {
    fn join(server: &Server) -> Self {
        let mut client = Client::connect(server.address());
        let metadata = b"\0\0\0\0\0\x01\0\x06orders\xff\xff\xff\xff";
        let join = JoinGroupRequest {
            group_id: "app",
            session_timeout_ms: 60_000,
            rebalance_timeout_ms: 60_000,
            group_instance_id: Some("pod-1"),
            protocol_type: "consumer",
            protocols: vec![JoinGroupRequestProtocol { name: "range", metadata }],
            ..Default::default()
        };
        let body = client.ask(9, &join);
        let joined: JoinGroupResponse<'_> = read(9, &body);
        assert_eq!(joined.error_code, 0);
        let (id, generation) = (joined.member_id.to_owned(), joined.generation_id);
        let assignment = b"\0\0\0\0\0\x01\0\x06orders\0\0\0\x02\0\0\0\0\0\0\0\x01\xff\xff\xff\xff";
        let sync = SyncGroupRequest {
            group_id: "app",
            generation_id: generation,
            member_id: &id,
            group_instance_id: Some("pod-1"),
            assignments: vec![SyncGroupRequestAssignment { member_id: &id, assignment }],
            ..Default::default()
        };
        let body = client.ask(5, &sync);
        assert_eq!(read::<SyncGroupResponse<'_>>(5, &body).error_code, 0);
        Self { client, id, generation }
    }

    fn heartbeat(&mut self) -> i16 {
        let (id, generation_id) = (self.id.clone(), self.generation);
        let request =
            HeartbeatRequest { group_id: "app", generation_id, member_id: &id, ..Default::default() };
        let body = self.client.ask(4, &request);
        read::<HeartbeatResponse>(4, &body).error_code
    }
}

#[test]
fn offsets_are_set_and_carried_to_another_server() {
    let (_first, from) = server();
    let (_second, to) = server();
    groupd(&from, "offsets set g orders:0=5 orders:3=9223372036854775807 --metadata note").expect(0);
    groupd(&from, "offsets set h orders:1=0").expect(0);
    let exported = groupd(&from, "offsets export").expect(0);
    assert_eq!(exported.out.lines().count(), 3, "{exported:?}");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &exported.out).unwrap();
    let import = format!("offsets import {}", file.path().display());
    let dry = groupd(&to, &format!("{import} --dry-run")).expect(0);
    assert_eq!(dry.out, "group g: 2 offsets would be committed\ngroup h: 1 offset would be committed\n");
    assert_eq!(groupd(&to, "groups list").expect(0).out, "no groups\n");
    for _ in 0..2 {
        groupd(&to, &import).expect(0);
        assert_eq!(groupd(&to, "offsets export").expect(0).out, exported.out);
    }
    let shown = groupd(&to, "offsets get g orders:3 --json").expect(0).json();
    let expected = json!([{
        "topic": "orders", "partition": 3, "offset": i64::MAX, "leader_epoch": -1, "metadata": "note",
    }]);
    assert_eq!(shown, expected);
}

/// Runs the program with these words, which may have spaces and lines' ends in them.
fn verbatim(server: &str, words: &[&str]) -> (i32, String, String) {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_groupd"));
    let run = command.args(words).env("GROUPD_SERVER", server).output().expect("the program runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (run.status.code().expect("an exit code"), text(run.stdout), text(run.stderr))
}

#[test]
fn what_was_asked_for_and_is_not_there_is_said() {
    let (_server, address) = server();
    groupd(&address, "offsets set g orders:0=5").expect(0);
    for only in ["nosuch:0", "nosuch", "orders:3"] {
        let run = groupd(&address, &format!("offsets get g {only}")).expect(1);
        let said = format!("error: group g has committed nothing for {only}\n");
        assert_eq!((run.out.as_str(), run.err.as_str()), ("", said.as_str()));
    }
    let run = groupd(&address, "offsets get g orders:0 orders:3 --json").expect(1);
    assert_eq!(run.json().as_array().map(Vec::len), Some(1), "{run:?}");
    assert!(run.err.contains("nothing for orders:3"), "{run:?}");
}

/// A name can have a line's end in it, and what a terminal takes for commands.
#[test]
fn no_name_writes_lines_of_its_own() {
    let (_server, address) = server();
    let name = "a\nerror: \u{1b}[2Jb\u{9b}1m\u{202e}";
    // What is typed as a topic ends at a colon.
    let topic = "a\nerror \u{1b}[2Jb\u{9b}1m\u{202e}";
    let run = |words: &[&str]| {
        let (code, out, err) = verbatim(&address, words);
        for text in [&out, &err] {
            assert!(!text.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{words:?}: {text:?}");
        }
        assert!(err.lines().all(|line| line.starts_with("error: ")), "{words:?}: {err:?}");
        (code, out.lines().count(), err.lines().count())
    };
    assert_eq!(run(&["offsets", "get", name]), (1, 0, 1), "no such group");
    assert_eq!(run(&["groups", "describe", name]), (1, 0, 1));
    assert_eq!(run(&["groups", "events", name]), (0, 1, 0));
    assert_eq!(run(&["groups", "evict", name, name]), (1, 0, 1));
    assert_eq!(run(&["groups", "delete", name]), (1, 0, 1));
    assert_eq!(run(&["topics", "delete", name]), (1, 0, 1));
    assert_eq!(run(&["offsets", "set", name, "orders:0=5", "--metadata", name]), (0, 1, 0));
    assert_eq!(run(&["offsets", "set", name, "nosuch:0=5"]), (1, 0, 1));
    assert_eq!(run(&["offsets", "get", name]), (0, 2, 0));
    assert_eq!(run(&["offsets", "get", name, topic]), (1, 0, 1));
    assert_eq!(run(&["offsets", "delete", name, topic]), (1, 0, 1));
    assert_eq!(run(&["groups", "describe", name]), (0, 4, 0));
    assert_eq!(run(&["groups", "list"]), (0, 2, 0));
    assert_eq!(run(&["offsets", "import", name]), (2, 0, 1));
    assert_eq!(run(&["offsets", "export", name]), (0, 1, 0));
    assert_eq!(run(&["offsets", "delete", name, "orders"]), (0, 1, 0));
    assert_eq!(run(&["store", "check", "--data-dir", name]), (1, 0, 1));
    assert_eq!(run(&["settings", "--config", name]), (2, 0, 1));
    assert_eq!(run(&["settings", "--topic", name]), (2, 0, 1));
}

/// Runs the program with a full disk as its standard output.
#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_printed_is_an_error() {
    use std::process::{Command, Stdio};
    let (_server, address) = server();
    groupd(&address, "offsets set g orders:0=5").expect(0);
    let data = tempfile::tempdir().unwrap();
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").expect("is a device");
    let check = format!("store check --data-dir {}", data.path().display());
    groupd(&address, &check.replace("check", "import")).expect(0);
    let run = |typed: &str, out: Stdio| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_groupd"));
        command.args(typed.split_whitespace()).env("GROUPD_SERVER", &address).stdout(out);
        let run = command.output().expect("the program runs");
        (run.status.code(), String::from_utf8(run.stderr).expect("text"))
    };
    for typed in ["offsets export", "offsets get g --json", "groups list", "settings", "--help", &check] {
        let (code, err) = run(typed, full().into());
        assert!(code == Some(1) && err.contains("standard output cannot be written"), "{typed}: {err}");
        let (reader, closed) = std::io::pipe().expect("a pipe");
        drop(reader);
        assert_eq!(run(typed, closed.into()), (Some(0), String::new()), "{typed}");
    }
}

#[test]
fn an_import_with_one_wrong_line_imports_nothing() {
    let (_server, address) = server();
    let file = tempfile::NamedTempFile::new().unwrap();
    let good = r#"{"group":"g","topic":"orders","partition":0,"offset":1}"#;
    let note = format!("\"offset\":1,\"metadata\":\"{}\"", "x".repeat(4097));
    std::fs::write(file.path(), format!("{good}\n{{\"group\":\"h\"}}\n")).unwrap();
    let run = groupd(&address, &format!("offsets import {}", file.path().display())).expect(2);
    assert!(run.err.contains(":2: missing field"), "{run:?}");
    assert_eq!(groupd(&address, "groups list").expect(0).out, "no groups\n");
    // Neither does one with an offset that the server would refuse; and asking for a topic does not make it.
    for (from, to, why) in [
        ("\"partition\":0", "\"partition\":77", "orders:77 of group h: there is no such topic or partition"),
        ("orders", "nosuch", "nosuch:0 of group h: there is no such topic or partition"),
        ("\"offset\":1", &note, "orders:0 of group h: the note is longer than offset.metadata.max.bytes"),
    ] {
        let wrong = good.replace(from, to).replace("\"g\"", "\"h\"");
        std::fs::write(file.path(), format!("{good}\n{wrong}\n")).unwrap();
        for dry_run in [" --dry-run", ""] {
            let import = format!("offsets import {}{dry_run}", file.path().display());
            let run = groupd(&address, &import).expect(1);
            assert!(run.err.contains(why) && run.err.contains("nothing was committed"), "{run:?}");
            assert_eq!(run.out, "");
        }
        assert_eq!(groupd(&address, "groups list").expect(0).out, "no groups\n");
    }
    assert!(!groupd(&address, "topics list").expect(0).out.contains("nosuch"));
    std::fs::write(file.path(), "\n").unwrap();
    let run = groupd(&address, &format!("offsets import {}", file.path().display())).expect(0);
    assert!(run.out.contains("holds no offsets"), "{run:?}");
}

#[test]
fn a_living_group_is_protected_until_its_members_are_out() {
    let (server, address) = server();
    groupd(&address, "offsets set app orders:0=5 orders:5=6").expect(0);
    let mut member = Alive::join(&server);
    let shown = groupd(&address, "groups describe app --json").expect(0).json();
    assert_eq!(shown["state"], "Stable");
    assert_eq!(shown["members"][0]["member"], member.id);
    assert_eq!(shown["members"][0]["assigned"], json!({ "orders": [0, 1] }));
    assert_eq!(shown["offsets"][1]["offset"], 6);
    let text = groupd(&address, "groups describe app").expect(0).out;
    let owned = text.lines().find(|line| line.starts_with("orders  0")).expect("is listed");
    assert!(owned.ends_with(&member.id), "{text}");

    for (typed, why) in [
        ("offsets set app orders:0=7", "1 live member (pod-1)"),
        ("offsets delete app orders", "GROUP_SUBSCRIBED_TO_TOPIC"),
        ("groups delete app", "NON_EMPTY_GROUP"),
    ] {
        let run = groupd(&address, typed).expect(1);
        assert!(run.err.contains(why), "{run:?}");
    }
    assert_eq!(member.heartbeat(), 0);

    groupd(&address, "groups evict app pod-1 --reason test").expect(0);
    assert_eq!(member.heartbeat(), UNKNOWN_MEMBER_ID);
    groupd(&address, "offsets set app orders:0=7").expect(0);
    groupd(&address, "offsets delete app orders:5").expect(0);
    let left = groupd(&address, "offsets get app").expect(0).out;
    assert_eq!(left.lines().count(), 2, "{left}");
    groupd(&address, "groups delete app").expect(0);
    groupd(&address, "groups describe app").expect(1);
}

#[test]
fn what_happened_to_a_group_is_told_with_its_causes_even_when_it_is_gone() {
    let (server, address) = server();
    let member = Alive::join(&server);
    let described = groupd(&address, "groups describe app --json").expect(0).json();
    let kinds = |events: &serde_json::Value| -> Vec<String> {
        let events = events.as_array().expect("a list");
        events.iter().map(|event| event["event"].as_str().expect("a word").to_owned()).collect()
    };
    let round = ["rebalance_started", "rebalance_joined", "rebalance_completed"];
    assert_eq!(kinds(&described["events"]), round);
    let joined = &described["events"][1];
    assert_eq!((&joined["number"], &joined["generation"]), (&json!(2), &json!(1)));
    assert_eq!(joined["member"], json!(member.id));
    let about = joined["about"].as_str().expect("a sentence");
    assert!(about.starts_with("1 member, waited "), "{about}");
    let at = joined["at"].as_str().expect("a time");
    assert!(at.starts_with("20") && at.ends_with('Z'), "{at}");

    groupd(&address, "groups evict app pod-1 --reason stuck").expect(0);
    groupd(&address, "offsets set app orders:0=7").expect(0);
    groupd(&address, "offsets delete app orders:0").expect(0);
    let events = groupd(&address, "groups events app --json").expect(0).json();
    let expected =
        [&round[..], &["member_left", "rebalance_started", "rebalance_joined"], &["offset_deleted"]].concat();
    let told = kinds(&events);
    for kind in expected {
        assert!(told.iter().any(|told| told == kind), "{kind}: {told:?}");
    }
    let text = groupd(&address, "groups events app").expect(0).out;
    assert!(text.starts_with("WHEN "), "{text}");
    assert!(text.lines().any(|line| line.contains("member left") && line.ends_with("stuck")), "{text}");
    assert!(text.lines().any(|line| line.ends_with("orders:0")), "{text}");

    // It went with its last offset.
    groupd(&address, "groups describe app").expect(1);
    let text = groupd(&address, "groups events app").expect(0).out;
    assert!(text.contains("group removed") && text.contains("rebalance completed"), "{text}");
    let none = groupd(&address, "groups events nosuch").expect(0).out;
    assert_eq!(none, "nothing is known of what happened to group nosuch\n");
}

#[test]
fn what_is_done_and_what_is_not_are_told_apart() {
    let (_server, address) = server();
    groupd(&address, "offsets set g orders:0=5").expect(0);
    let run = groupd(&address, "groups delete g nobody --json").expect(1);
    let done = run.json();
    assert_eq!((&done[0]["deleted"], &done[1]["deleted"]), (&json!(true), &json!(false)));
    assert!(run.err.contains("group nobody: there is no such group"), "{run:?}");
    groupd(&address, "offsets get g").expect(1);
    groupd(&address, "offsets export g").expect(1);
    let run = groupd(&address, "offsets delete g orders").expect(1);
    assert!(run.err.contains("has committed nothing for orders"), "{run:?}");
}

#[test]
fn groups_are_listed_by_state() {
    let (server, address) = server();
    let _member = Alive::join(&server);
    groupd(&address, "offsets set quiet orders:0=5").expect(0);
    let names = |typed: &str| {
        let listed = groupd(&address, typed).expect(0).json();
        let listed = listed.as_array().expect("an array").clone();
        listed.iter().map(|group| group["group"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("groups list --json"), ["app", "quiet"]);
    assert_eq!(names("groups list --state Stable --json"), ["app"]);
    assert_eq!(names("groups list --state Empty,Dead --json"), ["quiet"]);
}

#[test]
fn topics_come_and_go_with_what_was_committed_for_them() {
    let (_server, address) = server();
    let run = groupd(&address, "topics create a:3 orders:1 b:1").expect(1);
    assert_eq!(run.out, "topic a is created, partitions: 3\ntopic b is created, partitions: 1\n");
    assert!(run.err.contains("TOPIC_ALREADY_EXISTS"), "{run:?}");
    groupd(&address, "offsets set g a:2=1 b:0=1").expect(0);
    groupd(&address, "topics delete a").expect(0);
    let left = groupd(&address, "offsets get g --json").expect(0).json();
    assert_eq!(left.as_array().map(Vec::len), Some(1), "{left}");
    let listed = groupd(&address, "topics list --json").expect(0).json();
    let names: Vec<_> = listed.as_array().expect("an array").iter().map(|topic| &topic["topic"]).collect();
    assert_eq!(names, ["b", "orders"]);
}
