//! `groupd store`: what is exported is what was kept, and goes back in as it was.

use std::path::Path;

use coordinator::ids::{OffsetsPartition, ProducerId};
use coordinator::messages::Record;
use groupd::store::{
    Batch, CATALOG_PARTITION, Directory, EmbeddedSettings, EmbeddedStore, Store, StoreCommand,
};
use groupd::topics::{Topic, TopicIds, encode_topic};

use super::model::{group, offset, offset_record};

fn run(command: fn(Directory) -> StoreCommand, path: &Path, input: &str) -> anyhow::Result<String> {
    let mut output = Vec::new();
    command(Directory { data_dir: path.to_owned() }).run(input.as_bytes(), &mut output)?;
    Ok(String::from_utf8(output)?)
}

/// Two groups, three offsets of which one waits, a topic.
fn fill(path: &Path) {
    let mut store = EmbeddedStore::open_directory(path, EmbeddedSettings::default(), 1).unwrap();
    let partitions = [CATALOG_PARTITION, OffsetsPartition(2), OffsetsPartition(7)];
    let epochs = store.acquire(&partitions).unwrap();
    let mut topic = Vec::new();
    let id = TopicIds::seeded([1, 2]).next_id();
    encode_topic(&Topic { name: "orders".into(), id, partitions: 12 }, &mut topic);
    let second = [offset("b", 0, 5), Record::TxnOffset(ProducerId(9), offset_record("b", 0, 6))];
    let batches = [
        Batch::from_encoded(partitions[0], epochs[0], 1, topic).unwrap(),
        Batch::new(partitions[1], epochs[1], &[group("a", 1, 0), group("a", 3, 2), offset("a", 17, 4)])
            .unwrap(),
        Batch::new(partitions[2], epochs[2], &second).unwrap(),
    ];
    assert!(store.append(&batches).unwrap().iter().all(Result::is_ok));
}

#[test]
fn an_export_goes_back_in_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let (from, to) = (directory.path().join("from"), directory.path().join("to"));
    fill(&from);
    let exported = run(StoreCommand::Export, &from, "").unwrap();
    assert_eq!(exported.lines().count(), 5, "the last of each key: {exported}");
    assert!(exported.contains(r#""generation":3"#) && !exported.contains(r#""generation":1"#));
    assert!(run(StoreCommand::Import, &to, &exported).unwrap().starts_with("5 lines are in"));
    assert_eq!(run(StoreCommand::Export, &to, "").unwrap(), exported);
    let sound = run(StoreCommand::Check, &to, "").unwrap();
    assert!(sound.contains("1 groups with 2 members, 2 offsets, 1 topics"), "{sound}");
    assert!(sound.contains("1 offsets wait"), "{sound}");
}

#[test]
fn an_import_never_mixes() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path());
    let refused = run(StoreCommand::Import, directory.path(), "").unwrap_err();
    assert!(refused.to_string().contains("holds something already"), "{refused}");
}

#[test]
fn a_wrong_line_is_named() {
    for wrong in ["{}", "nonsense", r#"{"kind":"topic","name":"/","id":"00","partitions":1}"#] {
        let directory = tempfile::tempdir().unwrap();
        let refused = run(StoreCommand::Import, directory.path(), wrong).unwrap_err();
        assert_eq!(refused.to_string(), "line 1", "{wrong}");
    }
}

#[test]
fn a_check_needs_a_store_and_finds_damage() {
    let directory = tempfile::tempdir().unwrap();
    let missing = run(StoreCommand::Check, directory.path(), "").unwrap_err();
    assert!(missing.to_string().contains("there is no store in"), "{missing}");
    fill(directory.path());
    run(StoreCommand::Check, directory.path(), "").unwrap();
    let log = directory.path().join(groupd::store::FILES[1]);
    let mut bytes = std::fs::read(&log).unwrap();
    // The entry of the epochs, which the batches follow.
    bytes[512 + 30] ^= 1;
    std::fs::write(&log, bytes).unwrap();
    let damaged = run(StoreCommand::Check, directory.path(), "").unwrap_err();
    assert!(damaged.to_string().contains("the store is damaged"), "{damaged}");
}
