//! Settings as a user gives them: who wins, and what a wrong one answers.

use clap::Parser;
use groupd::cli::{Cli, Command, ServeArgs};
use groupd::settings::{Settings, SettingsReport};

fn args(typed: &str) -> ServeArgs {
    let words = std::iter::once("groupd").chain(typed.split_whitespace());
    match Cli::try_parse_from(words).expect("the flags exist").into_command() {
        Command::Serve(args) => args,
        other @ (Command::Settings(_) | Command::Store(_) | Command::Admin(_)) => {
            panic!("not serve: {other:?}")
        }
    }
}

fn load(typed: &str, environment: &[(&str, &str)]) -> Result<(Settings, SettingsReport), String> {
    let environment = environment.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    Settings::explain_in(&args(typed), environment).map_err(|error| error.to_string())
}

/// The problems with these flags and this environment, one a line.
fn problems(typed: &str, environment: &[(&str, &str)]) -> String {
    load(typed, environment).expect_err("should be refused")
}

fn file(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), text).expect("is written");
    file
}

#[test]
fn defaults_are_kafkas() {
    let settings = Settings::default();
    assert_eq!(settings, load("", &[]).unwrap().0);
    assert_eq!(settings.listen.to_string(), "127.0.0.1:9092");
    assert_eq!(settings.http.unwrap().to_string(), "127.0.0.1:10092");
    assert_eq!(settings.group_initial_rebalance_delay.as_secs(), 3);
    assert_eq!(settings.offsets_retention.as_secs(), 7 * 24 * 3600);
    assert_eq!(settings.offsets_topic_num_partitions, 50);
    assert!(settings.shards >= 1);
}

#[test]
fn a_flag_beats_the_environment_beats_the_file_beats_the_default() {
    let file = file("group.max.size = 7\nnum.partitions = 7\noffset.metadata.max.bytes = 7\n");
    let typed = format!("--config {} --set group.max.size=9", file.path().display());
    let (settings, report) =
        load(&typed, &[("GROUPD_GROUP_MAX_SIZE", "8"), ("GROUPD_NUM_PARTITIONS", "8")]).unwrap();
    assert_eq!(settings.group_max_size, 9);
    assert_eq!(settings.num_partitions, 8);
    assert_eq!(settings.offset_metadata_max_bytes, 7);
    let shown = report.table();
    let source = |name: &str| {
        let line = shown.lines().find(|line| line.starts_with(name)).expect("is listed");
        line.split_whitespace().last().unwrap().to_owned()
    };
    assert_eq!(source("group.max.size"), "--set");
    assert_eq!(source("num.partitions"), "GROUPD_NUM_PARTITIONS");
    assert_eq!(source("offset.metadata.max.bytes"), format!("{}:3", file.path().display()));
    assert_eq!(source("node.id"), "default");
}

#[test]
fn a_file_may_nest_its_names_and_list_its_topics() {
    let file = file(
        "topics = ['orders:12', 'payments:3']\nlog = 'debug'\nbroker.id = 4\n[connections.max]\nidle.ms = -1\n",
    );
    let path = file.path().to_str().unwrap();
    let settings = load("", &[("GROUPD_CONFIG", path)]).unwrap().0;
    let topics: Vec<_> = settings.topics.iter().map(ToString::to_string).collect();
    assert_eq!(topics, ["orders:12", "payments:3"]);
    assert_eq!((settings.log.as_str(), settings.node_id, settings.connections_max_idle), ("debug", 4, None));
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    let text = problems(
        "--topic orders:0 --store disk --set group.min.session.timeout.ms=9000 --set group.max.session.timeout.ms=8000",
        &[],
    );
    assert_eq!(
        text,
        "store = \"disk\" (from --store): there is no store called \"disk\"; it must be embedded or memory\n\
         topic = \"orders:0\" (from --topic): \"0\" is not a partition count (1 to 10000); it must be \
         NAME:PARTITIONS, such as orders:12; several are separated by commas\n\
         group.min.session.timeout.ms = 9000 (--set) must not be above group.max.session.timeout.ms = 8000 (--set)"
    );
}

#[test]
fn an_empty_flag_is_no_silence() {
    for flag in ["topic", "advertise", "listen", "data-dir", "http", "log", "store", "shards", "log-format"] {
        let text = problems(&format!("--{flag}="), &[]);
        assert!(text.contains(&format!("(from --{flag}): ")) && text.contains("empty"), "{flag}: {text}");
    }
    for list in ["a:1,,b:2", "a:1,", ","] {
        assert!(problems(&format!("--set topic={list}"), &[]).contains("one of them is empty"), "{list}");
    }
    // Nothing said in a file or a variable is nothing.
    assert_eq!(load("", &[("GROUPD_TOPIC", ""), ("GROUPD_ADVERTISE", "")]).unwrap().0.topics, []);
    assert_eq!(load("--set topic=", &[("GROUPD_TOPIC", "a:1")]).unwrap().0.topics, []);
}

#[test]
fn an_unknown_name_is_refused_wherever_it_stands() {
    assert_eq!(
        problems("--set group.max.sise=3", &[]),
        "there is no setting called \"group.max.sise\" (from --set); did you mean group.max.size?"
    );
    assert_eq!(
        problems("", &[("GROUPD_LISTENERS", "x")]),
        "GROUPD_LISTENERS in the environment names no setting; did you mean GROUPD_LISTEN?"
    );
    let file = file("\n[group]\nmaxsize = 3\n");
    let config = format!("--config {}", file.path().display());
    assert_eq!(
        problems(&config, &[]),
        format!(
            "there is no setting called \"group.maxsize\" (from {}:3); did you mean group.max.size?",
            file.path().display()
        )
    );
}

#[test]
fn hostile_values_are_refused_with_what_is_allowed() {
    for (given, why) in [
        ("group.max.size=0", "out of range"),
        ("group.max.size=2147483648", "out of range"),
        ("group.max.size=-1", "out of range"),
        ("group.max.size=99999999999999999999", "not a whole number"),
        ("group.max.size=1e3", "not a whole number"),
        ("group.max.size=", "not a whole number"),
        ("connections.max.idle.ms=-2", "out of range"),
        ("auto.create.topics.enable=yes", "neither true nor false"),
        ("listen=9092", "no port"),
        ("listen=:9092", "no host"),
        ("listen=::1:9092", "needs brackets"),
        ("listen=[::zz]:9092", "not an IPv6 address"),
        ("listen=localhost:65536", "not a port"),
        ("http=on", "no port"),
        ("advertise=0.0.0.0:9092", "nobody can connect to it"),
        ("advertise=[::]:9092", "nobody can connect to it"),
        ("advertise=groupd.example:0", "port 0"),
        ("shards=0", "out of range"),
        ("data.dir=", "empty"),
        ("topic=a/b:1", "not a topic name"),
        ("topic=..:1", "not a topic name"),
        ("topic=a:1,a:2", "both a:1 and a:2"),
        ("topic=a", "no partition count"),
        ("topic=a:10001", "not a partition count"),
        ("log=nonsense=nonsense", "log.filter"),
        ("log=verbose", "no level"),
        ("log=groupd=debug,,info", "no level"),
        ("offsets.topic.num.partitions=0", "out of range"),
    ] {
        let text = problems(&format!("--set {given}"), &[]);
        assert!(text.contains(why) && text.lines().count() == 1, "{given}: {text}");
    }
}

#[test]
fn one_source_must_not_say_two_things() {
    let text = problems("--listen 127.0.0.1:1 --set listen=127.0.0.1:2", &[]);
    assert!(text.starts_with("listen is given twice"), "{text}");
    load("--listen 127.0.0.1:1 --set listen=127.0.0.1:1", &[])
        .expect("the same thing twice is no contradiction");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    assert!(problems("--config /nowhere/groupd.toml", &[]).contains("/nowhere/groupd.toml cannot be read"));
    let broken = file("listen = \n");
    let text = problems(&format!("--config {}", broken.path().display()), &[]);
    assert!(text.contains("is not TOML in line 1: ") && text.lines().count() == 1, "{text}");
    let wrong = file("num.partitions = 1.5\n");
    let text = problems(&format!("--config {}", wrong.path().display()), &[]);
    assert!(text.contains("must be a whole number from 1 to 10000"), "{text}");
}

#[test]
fn variables_that_kubernetes_makes_for_a_service_called_groupd_are_left_alone() {
    load("", &[("GROUPD_PORT", "tcp://10.0.0.1:9092"), ("GROUPD_SERVICE_HOST", "10.0.0.1")]).unwrap();
}

#[test]
fn the_metrics_address_follows_the_port_of_clients() {
    let http = |typed: &str| load(typed, &[]).unwrap().0.http.map(|at| at.to_string());
    assert_eq!(http("--listen 0.0.0.0:19092").as_deref(), Some("127.0.0.1:20092"));
    assert_eq!(http("--listen 127.0.0.1:0").as_deref(), Some("127.0.0.1:0"));
    assert_eq!(http("--listen 127.0.0.1:65000").as_deref(), Some("127.0.0.1:64000"));
    assert_eq!(http("--http [::1]:80").as_deref(), Some("[::1]:80"));
    assert_eq!(http("--http off"), None);
}

#[test]
fn programs_get_json() {
    let json = load("", &[]).unwrap().1.json();
    let rows: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(rows[0]["name"], "listen");
    assert_eq!(rows[0]["environment"], "GROUPD_LISTEN");
}

#[test]
fn a_simulated_clock_is_asked_for_and_needs_a_way_to_be_moved() {
    assert!(!Settings::default().simulated_clock, "never by default");
    for (typed, environment) in [
        ("--simulated-clock", &[][..]),
        ("", &[("GROUPD_SIMULATED_CLOCK", "true")]),
        ("--set simulated.clock=true", &[]),
    ] {
        assert!(load(typed, environment).unwrap().0.simulated_clock, "{typed}");
    }
    let refused = problems("--simulated-clock --http off", &[]);
    assert!(refused.contains("needs http, which is off (--http)"), "{refused}");
}
