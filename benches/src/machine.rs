//! What a figure was taken on: processor, compiler, load, date.

use std::fs;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// One run of a benchmark, and the machine as it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// When it began, UTC, and its process: what its figures refer to.
    pub id: String,
    /// When it began, UTC.
    pub date: String,
    /// The processor's name for itself.
    pub processor: String,
    /// Cores that this process may use.
    pub cores: usize,
    /// The load average of the last minute at its start.
    pub load_before: f64,
    /// The same at its end; `None` if it was cut off.
    pub load_after: Option<f64>,
    /// What `rustc --version` says.
    pub rustc: String,
    /// The commit that was measured, shortened, with a `+` if files differed from it.
    pub revision: String,
}

impl Session {
    /// A session that begins now.
    pub fn begin() -> Self {
        let date = said("date", &["-u", "+%Y-%m-%d %H:%M"]);
        Self {
            id: format!("{date} {}", std::process::id()),
            date,
            processor: processor(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            load_before: load(),
            load_after: None,
            rustc: said("rustc", &["--version"]),
            revision: revision(),
        }
    }

    /// The same session, at its end.
    pub fn end(&mut self) {
        self.load_after = Some(load());
    }
}

fn processor() -> String {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = cpus.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    match (field("model name"), field("cpu family"), field("model\t")) {
        (Some(name), Some(family), Some(model)) => format!("{name} (family {family}, model {model})"),
        (Some(name), ..) => name,
        _ => "unknown".to_owned(),
    }
}

/// 0 where the system does not say.
fn load() -> f64 {
    let loads = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    loads.split_whitespace().next().and_then(|load| load.parse().ok()).unwrap_or_default()
}

fn revision() -> String {
    let changed = !said("git", &["status", "--porcelain", "--untracked-files=no"]).is_empty();
    said("git", &["rev-parse", "--short", "HEAD"]) + if changed { "+" } else { "" }
}

/// What a command prints, or nothing where it cannot be run.
fn said(command: &str, arguments: &[&str]) -> String {
    let output = Command::new(command).args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output();
    output.map_or_else(|_| String::new(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
