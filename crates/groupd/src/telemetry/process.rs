//! The process' own figures under the names Prometheus gives them, read from `/proc` at each scrape.

use std::fmt::Write;
use std::fs;

/// `USER_HZ`: fixed at 100 in the interface between Linux and programs, whatever the kernel's own tick.
const TICKS_PER_SECOND: f64 = 100.0;

/// Appends what can be read; where there is no `/proc`, only the version.
pub(super) fn render(text: &mut String) {
    let version = env!("CARGO_PKG_VERSION");
    let build = format!("groupd_build_info{{version=\"{version}\"}}");
    sample(text, &build, "gauge", "Always 1; the version is in the label.", 1.0);
    if let Some(seconds) = cpu_seconds() {
        sample(text, "process_cpu_seconds_total", "counter", "User and system CPU time.", seconds);
    }
    if let Some(bytes) = resident_bytes() {
        #[expect(clippy::cast_precision_loss, reason = "a size shown, not computed with")]
        sample(text, "process_resident_memory_bytes", "gauge", "Resident memory.", bytes as f64);
    }
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        #[expect(clippy::cast_precision_loss, reason = "a count shown, not computed with")]
        sample(text, "process_open_fds", "gauge", "Open file descriptors.", open.count() as f64);
    }
}

fn sample(text: &mut String, name: &str, kind: &str, help: &str, value: f64) {
    let bare = name.split('{').next().unwrap_or(name);
    let written = writeln!(text, "# HELP {bare} {help}\n# TYPE {bare} {kind}\n{name} {value}\n");
    written.expect("invariant: writing to a String cannot fail");
}

/// Fields 14 and 15 of `stat`, counted after the command's closing bracket, as it may contain blanks.
fn cpu_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let ticks = |field: Option<&str>| field.and_then(|field| field.parse::<f64>().ok());
    Some((ticks(fields.next())? + ticks(fields.next())?) / TICKS_PER_SECOND)
}

fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}
