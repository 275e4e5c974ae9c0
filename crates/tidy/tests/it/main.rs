//! The house rules, a file per kind. Each test lists every breach, with its place and what to do.

mod arrows;
mod docs;
mod files;

/// Fails with all breaches, if there are any.
#[track_caller]
fn none(rule: &str, breaches: &[String]) {
    assert!(breaches.is_empty(), "{rule}\n  {}", breaches.join("\n  "));
}
