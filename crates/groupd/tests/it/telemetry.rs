//! Metrics, health and log lines as an operator sees them.

use std::io::Write;
use std::sync::{Arc, Mutex};

use coordinator::events::{Event, EventKind};
use coordinator::ids::{Generation, GroupId, MemberId, TopicName, TopicPartition};
use groupd::events_log::EventsLog;
use groupd::settings::HostPort;
use groupd::telemetry::{self, Health, METRICS, Metrics, Readiness, Series};
use purgatory::Timestamp;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Longer than any head may be.
static FLOOD: [u8; 10_000] = [b'a'; 10_000];

/// Starts the responder on a free port and sends it `request`, verbatim; the answer, whole.
async fn ask(health: &Health, request: &[u8]) -> String {
    let any = HostPort { host: "127.0.0.1".into(), port: 0 };
    let listener = telemetry::bind(&any).await.expect("a free port");
    let address = listener.local_addr().expect("is bound");
    let server = tokio::spawn(telemetry::serve(listener, health.clone(), Metrics::install()));
    let mut stream = TcpStream::connect(address).await.expect("connects");
    // The server may answer and close before it has read all of a hostile request.
    let _ = stream.write_all(request).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    server.abort();
    String::from_utf8(answer).expect("text")
}

async fn get(health: &Health, path: &str) -> String {
    ask(health, format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await
}

#[tokio::test]
async fn readiness_follows_the_servers_life() {
    let health = Health::default();
    assert!(get(&health, "/readyz").await.starts_with("HTTP/1.1 503 "));
    health.set(Readiness::Ready);
    assert!(get(&health, "/readyz").await.starts_with("HTTP/1.1 200 "));
    health.set(Readiness::Draining);
    health.set(Readiness::Ready);
    assert!(get(&health, "/readyz").await.starts_with("HTTP/1.1 503 "));
    health.set(Readiness::Poisoned("fsync failed".into()));
    health.set(Readiness::Draining);
    let answer = get(&health, "/readyz").await;
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("fsync failed"), "{answer}");
    assert!(get(&health, "/healthz").await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn hostile_requests_get_an_answer_or_nothing() {
    let health = Health::default();
    for (request, status) in [
        (&b"GET /else HTTP/1.1\r\n\r\n"[..], "404"),
        (b"POST /metrics HTTP/1.1\r\n\r\n", "405"),
        (b"\x00\x00\x00\x10 garbage\r\n\r\n", "400"),
        (b"GET /metrics SPDY/3\r\n\r\n", "400"),
        (b"GET  /metrics HTTP/1.1\r\n\r\n", "400"),
        (b"\xff\xff\xff\r\n\r\n", "400"),
        (&FLOOD, "431"),
    ] {
        let answer = ask(&health, request).await;
        // A flood is answered and closed on; what a client sees of it is up to its kernel.
        let reset = answer.is_empty() && status == "431";
        assert!(reset || answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request:?}: {answer}");
    }
    let head = ask(&health, b"HEAD /healthz HTTP/1.0\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"), "{head}");
}

#[tokio::test]
async fn a_taken_address_says_what_to_do() {
    let any = HostPort { host: "127.0.0.1".into(), port: 0 };
    let first = telemetry::bind(&any).await.unwrap();
    let taken = HostPort { host: "127.0.0.1".into(), port: first.local_addr().unwrap().port() };
    let error = format!("{:#}", telemetry::bind(&taken).await.expect_err("is taken"));
    assert!(error.contains(&taken.to_string()) && error.contains("--http off"), "{error}");
}

#[tokio::test]
async fn metrics_carry_their_help() {
    let mut log = EventsLog::default();
    for event in round() {
        log.record(&event);
    }
    // Whichever test installed the recorder first has it; the process' figures are in all of them.
    let answer = get(&Health::default(), "/metrics").await;
    assert!(answer.contains("groupd_build_info{version="), "{answer}");
    assert!(answer.contains("process_cpu_seconds_total"), "{answer}");
    for line in answer.lines().filter(|line| line.starts_with("# HELP groupd_")) {
        let name = line.split(' ').nth(2).expect("a name");
        assert!(
            name == "groupd_build_info" || METRICS.iter().any(|metric| metric.name == name),
            "{name} is not in the table"
        );
    }
}

/// What a groupd says that has just started, and that nobody has asked anything yet.
fn first_scrape() -> String {
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Command, Stdio};
    let mut command = Command::new(env!("CARGO_BIN_EXE_groupd"));
    command.args(["--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--store", "memory", "--log", "off"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("starts");
    let lines = BufReader::new(child.stdout.take().expect("is piped")).lines();
    let mut lines = lines.map(|line| line.expect("text"));
    let address = lines.find_map(|line| {
        let (_, rest) = line.split_once("http://")?;
        Some(rest.split_once('/')?.0.to_owned())
    });
    let mut stream = std::net::TcpStream::connect(address.expect("an address")).expect("connects");
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").expect("is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    child.kill().expect("runs");
    child.wait().expect("ran");
    answer
}

#[test]
fn each_metric_is_there_before_anything_happens() {
    let answer = first_scrape();
    for metric in METRICS {
        let (name, kind) = (metric.name, metric.kind.as_str());
        let described = answer.contains(&format!("# TYPE {name} {kind}\n"));
        assert_eq!(described, metric.series != Series::OfTestServers, "{name}: {answer}");
        let begins = |text: &str| answer.lines().any(|line| line.starts_with(text));
        let suffix = if kind == "histogram" { "_count" } else { "" };
        match metric.series {
            Series::One => assert!(begins(&format!("{name}{suffix} 0")), "{name}: {answer}"),
            Series::Each(label, values) => {
                for value in values {
                    assert!(begins(&format!("{name}{{{label}=\"{value}\"}} 0")), "{name} {value}: {answer}");
                }
            }
            Series::OfItsOwner => assert!(begins(&format!("{name}{suffix}{{")), "{name}: {answer}"),
            Series::OfGroups => assert!(!begins(&format!("{name}{{")), "{name}: {answer}"),
            Series::OfTestServers => assert!(!begins(name), "{name}: {answer}"),
        }
    }
}

fn event(generation: i32, kind: EventKind) -> Event {
    Event { at: Timestamp::ZERO, group: GroupId::from("g"), generation: Generation(generation), kind }
}

fn round() -> [Event; 5] {
    let member = |id: &str| MemberId::from(id);
    [
        event(4, EventKind::RebalanceStarted { member: member("m1"), cause: "member joins".into() }),
        event(4, EventKind::RebalanceStarted { member: member("m2"), cause: "echo".into() }),
        event(4, EventKind::SessionExpired { member: member("m3"), session_timeout_ms: 6000 }),
        event(
            5,
            EventKind::RebalanceJoined {
                members: 2,
                leader: member("m1"),
                waited_ms: 3000,
                waited_for: member("m2"),
                dropped: vec![member("m3")],
            },
        ),
        event(5, EventKind::RebalanceCompleted { members: 2, took_ms: 3010 }),
    ]
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("not poisoned").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What a log shows of `events`.
fn logged(events: &[Event]) -> String {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .with_max_level(tracing::Level::DEBUG)
        .with_ansi(false)
        .with_target(false)
        .without_time()
        .finish();
    tracing::subscriber::with_default(subscriber, || {
        let mut log = EventsLog::default();
        for event in events {
            log.record(event);
        }
    });
    String::from_utf8(lines.0.lock().expect("not poisoned").clone()).expect("text")
}

#[test]
fn no_client_writes_lines_of_its_own() {
    let forged = "x\n\u{1b}[2J\r INFO group removed group=victim\u{2028}";
    let long = "y".repeat(32_000);
    for given in [forged, &long] {
        let (member, other) = (|| MemberId::from(given), || MemberId::from("m"));
        let kinds = [
            EventKind::RebalanceStarted { member: member(), cause: given.into() },
            EventKind::RebalanceJoined {
                members: 2,
                leader: member(),
                waited_ms: 1,
                waited_for: member(),
                dropped: vec![member(), member()],
            },
            EventKind::RebalanceCompleted { members: 2, took_ms: 2 },
            EventKind::RebalanceCompleted { members: 2, took_ms: 2 },
            EventKind::StoreFailed,
            EventKind::SessionExpired { member: member(), session_timeout_ms: 1 },
            EventKind::SyncExpired { member: member() },
            EventKind::MemberLeft { member: member(), reason: Some(given.into()) },
            EventKind::StaticMemberReplaced { instance: given.into(), old: member(), new: other() },
            EventKind::OffsetExpired {
                partition: TopicPartition { topic: TopicName::from(given), partition: 0 },
            },
            EventKind::OffsetDeleted {
                partition: TopicPartition { topic: TopicName::from(given), partition: 0 },
            },
            EventKind::GroupRemoved { cause: given.into() },
        ];
        let events = kinds.map(|kind| Event { group: GroupId::from(given), ..event(1, kind) });
        let text = logged(&events);
        // The round that is joined waits for its end to be told.
        assert_eq!(text.lines().count(), events.len() - 1, "{text}");
        assert!(!text.contains(['\u{1b}', '\r', '\u{2028}']), "{text}");
        assert!(text.lines().all(|line| line.len() < 2500), "{text}");
    }
}

#[test]
fn a_rebalance_is_one_line() {
    let mut events = round().to_vec();
    // A round nobody saw begin (it began before a restart) has its line all the same.
    events.push(event(6, EventKind::RebalanceCompleted { members: 1, took_ms: 7 }));
    let text = logged(&events);
    let text: String = text.split_inclusive('\n').filter(|line| !line.starts_with("DEBUG")).collect();
    assert_eq!(
        text,
        " INFO member fell silent group=g generation=4 member=m3 session_timeout_ms=6000\n \
         INFO rebalance group=g generation=5 members=2 cause=\"member joins\" member=\"m1\" leader=\"m1\" \
         waited_ms=3000 waited_for=\"m2\" took_ms=3010 restarts=1 dropped=\"m3\"\n \
         INFO rebalance group=g generation=6 members=1 took_ms=7\n"
    );
}
