//! Runs the scenarios in `tests/conformance/` (or any folder named by `CONFORMANCE_DIR`) against the coordinator.
//!
//! The format is described in `tests/conformance/README.md`. A failing scenario is printed as a transcript:
//! each step, what happened, what was expected, what was got.

mod falsify;
mod matching;
mod run;
mod scenario;
mod subject;
mod translate;
mod world;

use std::path::{Path, PathBuf};

use run::{Report, run_file};

/// Scenarios answered otherwise on purpose, each with its reason. Exact: one that passes must not be listed.
const DEVIATIONS: [(&str, &str); 0] = [];

macro_rules! files {
    ($($name:ident: $file:literal, $count:literal;)*) => {
        $(
            #[test]
            fn $name() {
                let report = run_file(&own_folder().join($file), &DEVIATIONS);
                report.assert_clean();
                assert_eq!(report.total(), $count, "scenarios in {}", $file);
            }
        )*

        #[test]
        fn every_file_of_the_folder_has_its_test() {
            let listed = [$($file),*];
            for file in scenario_files(&own_folder()) {
                let name = file.file_name().expect("a file has a name").to_string_lossy().into_owned();
                assert!(listed.contains(&name.as_str()), "{name} is not run");
            }
        }
    };
}

files! {
    join_basic: "01-join-basic.json", 26;
    initial_delay: "02-initial-delay.json", 10;
    pending_members: "03-pending-members.json", 10;
    max_size: "04-max-size.json", 8;
    sync: "05-sync.json", 26;
    sync_store: "06-sync-store.json", 21;
    sync_timeout: "07-sync-timeout.json", 8;
    heartbeat_session: "08-heartbeat-session.json", 25;
    rebalance_timeout: "09-rebalance-timeout.json", 10;
    static_membership: "10-static-membership.json", 21;
    static_fencing: "11-static-fencing.json", 8;
    leave: "12-leave.json", 16;
    offset_commit: "13-offset-commit.json", 28;
    offset_fetch: "14-offset-fetch.json", 6;
    txn_offset_commit: "15-txn-offset-commit.json", 24;
    offset_delete: "16-offset-delete.json", 9;
    delete_groups: "17-delete-groups.json", 10;
    describe_list: "18-describe-list.json", 13;
    coordinator_status: "19-coordinator-status.json", 7;
    load_unload: "20-load-unload.json", 23;
    retention: "21-retention.json", 15;
    forced_states: "22-forced-states.json", 13;
}

/// Scenarios of ours in the same form: faults that others had, and where we do better on purpose.
#[test]
fn own_scenarios() {
    let files = scenario_files(&extra_folder());
    assert!(!files.is_empty(), "no scenarios of ours");
    for file in files {
        run_file(&file, &DEVIATIONS).assert_clean();
    }
}

#[test]
fn scenarios_of_another_folder() {
    let Some(folder) = std::env::var_os("CONFORMANCE_DIR") else { return };
    let files = scenario_files(Path::new(&folder));
    assert!(!files.is_empty(), "no *.json in {}", folder.display());
    let reports: Vec<Report> = files.iter().map(|file| run_file(file, &DEVIATIONS)).collect();
    for report in &reports {
        report.print();
    }
    assert!(reports.iter().all(Report::is_clean), "some scenarios failed, see above");
}

fn own_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance")
}

fn extra_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios")
}

/// The scenario files of a folder, by name. `schema.json` describes them and is none.
fn scenario_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "json"))
        .filter(|path| path.file_name().is_none_or(|name| name != "schema.json"))
        .collect();
    files.sort();
    files
}
