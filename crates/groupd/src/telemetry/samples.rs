//! Metrics that are not counted but told at each scrape, as Prometheus text.

use std::fmt::Write;

use super::METRICS;

/// What stands above the samples of a metric, which must be in the table.
pub(crate) fn head(text: &mut String, name: &str) {
    let metric = METRICS.iter().find(|metric| metric.name == name);
    let metric = metric.expect("invariant: what is rendered is in the table");
    let written = writeln!(text, "# HELP {name} {}\n# TYPE {name} {}", metric.help, metric.kind.as_str());
    written.expect("invariant: writing to a String cannot fail");
}

/// One sample.
pub(crate) fn sample(text: &mut String, name: &str, labels: &[(&str, &str)], value: u64) {
    let labels: Vec<_> = labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
    let written = match labels.as_slice() {
        [] => writeln!(text, "{name} {value}"),
        labels => writeln!(text, "{name}{{{}}} {value}", labels.join(",")),
    };
    written.expect("invariant: writing to a String cannot fail");
}

/// As the text format wants it in a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
