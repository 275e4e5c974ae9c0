//! A real groupd in a process of its own, and the directory that outlives it.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use groupd::store::FILES;
use tempfile::TempDir;

/// The topic that is committed to, and its partitions.
pub(super) const TOPIC: &str = "orders";
pub(super) const PARTITIONS: i32 = 2_000;

/// Where one server lives, again and again.
pub(crate) struct Home {
    directory: TempDir,
    store: &'static str,
}

impl Home {
    /// With `--store` as said here.
    pub(crate) fn new(store: &'static str) -> Self {
        Self { directory: tempfile::tempdir().unwrap(), store }
    }

    /// The data directory.
    pub(crate) fn data(&self) -> std::path::PathBuf {
        self.directory.path().join("data")
    }

    /// Starts a server, and waits until it says where it listens.
    pub(crate) fn start(&self) -> Process {
        let mut child = self.spawn();
        let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
        let address = loop {
            let Some(Ok(line)) = lines.next() else { panic!("groupd did not start:\n{}", self.log()) };
            if let Some(address) = line.trim_start().strip_prefix("clients") {
                break address.trim().parse().unwrap();
            }
        };
        Process { child, address }
    }

    /// Starts a server, and waits for nothing.
    pub(super) fn spawn(&self) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_groupd"));
        // The tests' own environment must not speak for the user.
        let ours = std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GROUPD_"));
        for (name, _) in ours {
            command.env_remove(name);
        }
        let log = File::options().create(true).append(true).open(self.log_path()).unwrap();
        let child = command
            .args(["--listen", "127.0.0.1:0", "--http", "off", "--shards", "2", "--log", "warn"])
            .args(["--topic", &format!("{TOPIC}:{PARTITIONS}"), "--store", self.store])
            .args(["--set", "group.initial.rebalance.delay.ms=0"])
            // A disk that is slow for a while is no fault.
            .args(["--set", "offsets.commit.timeout.ms=60000"])
            .arg("--data-dir")
            .arg(self.data())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn();
        Running(child.unwrap())
    }

    fn log_path(&self) -> std::path::PathBuf {
        self.directory.path().join("log")
    }

    /// What the servers logged.
    pub(super) fn log(&self) -> String {
        std::fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    /// How many logs the store has begun: all but the last two were folded.
    pub(super) fn logs_begun(&self) -> u64 {
        let generation = |name| {
            let log = std::fs::read(self.data().join(name)).unwrap_or_default();
            log.get(20..28).map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()))
        };
        FILES[1..].iter().map(generation).max().unwrap_or_default()
    }

    /// Copies the data directory's files elsewhere.
    pub(super) fn copy_to(&self, elsewhere: &Path) {
        copy(&self.data(), elsewhere);
    }

    /// Puts a copy back.
    pub(super) fn restore(&self, copy_of_it: &Path) {
        std::fs::remove_dir_all(self.data()).unwrap();
        std::fs::create_dir(self.data()).unwrap();
        copy(copy_of_it, &self.data());
    }
}

fn copy(from: &Path, to: &Path) {
    for file in std::fs::read_dir(from).unwrap() {
        let path = file.unwrap().path();
        std::fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

/// A server that listens.
pub(crate) struct Process {
    child: Running,
    pub(super) address: SocketAddr,
}

impl Process {
    /// Kills it with SIGKILL.
    pub(crate) fn kill(self) {
        self.child.kill();
    }
}

/// A process that ends with this value.
pub(super) struct Running(Child);

impl Running {
    /// Kills it with SIGKILL.
    pub(super) fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Either may fail: it may have ended before.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
