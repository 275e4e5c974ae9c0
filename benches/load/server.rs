//! The server under load: a process that is started, looked at through `/proc`, and stopped.

use std::fmt;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use kafka_wire::{ApiVersionsRequest, RequestHeader};

/// How long a server may take to answer after its start.
const PATIENCE: Duration = Duration::from_mins(2);
/// Between two tries to connect to a server that is starting: what a start-up time is exact to.
const STEP: Duration = Duration::from_micros(250);

/// What to start.
#[derive(Debug)]
pub(crate) enum Kind {
    /// groupd with its embedded store.
    Groupd { binary: PathBuf, settings: Vec<String> },
    /// One broker of Apache Kafka, as `kafka/run-kafka` starts it.
    Kafka { properties: Vec<String> },
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Groupd { binary, settings } => write!(f, "{} {}", binary.display(), settings.join(" ")),
            Self::Kafka { properties } => write!(f, "Apache Kafka 4.4.0 {}", properties.join(" ")),
        }
    }
}

/// A running server. Killed when dropped.
#[derive(Debug)]
pub(crate) struct Server {
    process: Child,
    address: SocketAddr,
    /// From its start to its first answer.
    pub(crate) startup: Duration,
    data: Data,
}

/// Where a server keeps its data: removed with it, or kept for the next start.
#[derive(Debug)]
pub(crate) struct Data(tempfile::TempDir);

impl Data {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
}

impl Server {
    /// Starts a server on an empty directory and waits for its first answer.
    pub(crate) fn start(kind: &Kind, port: u16) -> Self {
        Self::start_on(kind, port, Data::new())
    }

    /// The same, on a directory that may have been used before.
    pub(crate) fn start_on(kind: &Kind, port: u16, data: Data) -> Self {
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        assert!(
            TcpStream::connect(address).is_err(),
            "somebody listens on {address} already: choose a --port"
        );
        let mut command = command(kind, port, data.0.path());
        let begin = Instant::now();
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let mut process = process.unwrap_or_else(|error| panic!("{command:?} cannot be started: {error}"));
        while !answers(address) {
            assert!(process.try_wait().unwrap().is_none(), "{command:?} ended");
            assert!(begin.elapsed() < PATIENCE, "{command:?} does not answer");
            sleep(STEP);
        }
        Self { process, address, startup: begin.elapsed(), data }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// User and system time so far, in seconds, exact to 10 ms.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process.id())).unwrap();
        let mut fields = stat.rsplit_once(')').unwrap().1.split_whitespace().skip(11);
        let mut ticks = || fields.next().unwrap().parse::<f64>().unwrap();
        (ticks() + ticks()) / 100.0
    }

    /// Resident memory in MiB.
    pub(crate) fn resident_mib(&self) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
    }

    /// Stops it and gives its data back.
    pub(crate) fn stop(mut self) -> Data {
        self.kill();
        std::mem::replace(&mut self.data, Data::new())
    }

    fn kill(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

fn command(kind: &Kind, port: u16, data: &Path) -> Command {
    let log = fs::OpenOptions::new().create(true).append(true).open(data.join("stderr.log")).unwrap();
    let mut command = match kind {
        Kind::Groupd { binary, settings } => {
            let mut command = Command::new(binary);
            command.args(["--http", "off", "--set", "group.initial.rebalance.delay.ms=0"]);
            command
                .args(["--listen", &format!("127.0.0.1:{port}")])
                .arg("--data-dir")
                .arg(data.join("groupd"));
            command.args(settings.iter().flat_map(|pair| ["--set", pair.as_str()]));
            command
        }
        Kind::Kafka { properties } => {
            let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("kafka/run-kafka");
            let mut command = Command::new(script);
            command
                .args(["--port", &port.to_string()])
                .arg("--data")
                .arg(data.join("kafka"))
                .args(properties);
            command
        }
    };
    command.stderr(log);
    command
}

/// Whether somebody answers `ApiVersions` there.
fn answers(address: SocketAddr) -> bool {
    let ask = || -> std::io::Result<()> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        let header = RequestHeader { api_key: ApiVersionsRequest::KEY.code(), ..Default::default() };
        let mut frame = vec![0; 4];
        header.encode(&mut frame).unwrap();
        let length = u32::try_from(frame.len() - 4).unwrap();
        frame[..4].copy_from_slice(&length.to_be_bytes());
        stream.write_all(&frame)?;
        stream.read_exact(&mut [0; 8])
    };
    ask().is_ok()
}

/// The groupd of the same profile as this program, built first: cargo does nothing if it is up to date.
pub(crate) fn groupd_beside_us() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let directory = own.parent().and_then(Path::parent).expect("a bench is in target/PROFILE/deps");
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build.args(["build", "-q", "-p", "groupd", "--bin", "groupd"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    if directory.ends_with("release") {
        build.arg("--release");
    }
    assert!(build.status().unwrap().success(), "groupd cannot be built");
    directory.join("groupd")
}
