//! Committed offsets out of one coordinator and into another, as JSON lines: one line an offset.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::cluster::Cluster;
use super::describe;
use super::error::AdminError;
use super::fitting::Fitting;
use super::groups;
use super::offsets::{self, Committed};
use super::report::{Form, Report, count};
use crate::shown;

/// The longest line, bytes: names, numbers and a note are far below.
const MAX_LINE: u64 = 1 << 20;
/// The most offsets of one file.
const MAX_OFFSETS: usize = 10_000_000;

/// The most refusals that are told one by one.
const SHOWN: usize = 20;

/// One line of a file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    group: String,
    topic: String,
    partition: i32,
    offset: i64,
    #[serde(default = "no_epoch")]
    leader_epoch: i32,
    #[serde(default)]
    metadata: String,
}

const fn no_epoch() -> i32 {
    -1
}

/// The offsets of these groups, or of all: complete, or an error and nothing.
pub(super) fn export(cluster: &mut Cluster, only: &[String]) -> Result<Report, AdminError> {
    let mut names = only.to_vec();
    if names.is_empty() {
        names = groups::listed(cluster, &[])?.into_iter().map(|listed| listed.group).collect();
    }
    let mut lines = Vec::new();
    for group in names {
        let all = offsets::committed(cluster, &group)?;
        if all.is_empty() && !only.is_empty() && describe::described(cluster, &group)?.is_none() {
            return Err(groups::not_found(&group));
        }
        for Committed { topic, partition, offset, leader_epoch, metadata } in all {
            let line = Line { group: group.clone(), topic, partition, offset, leader_epoch, metadata };
            let line = serde_json::to_string(&line).expect("invariant: text and numbers are JSON");
            lines.push(shown::json(&line).into_owned());
        }
    }
    // JSON in either form.
    Ok(Report { text: lines.join("\n"), refusals: Vec::new() })
}

/// Checks all of the file and all of its groups before it commits anything.
pub(super) fn import(
    cluster: &mut Cluster,
    form: Form,
    file: &Path,
    dry_run: bool,
) -> Result<Report, AdminError> {
    let shown = file.display();
    let unreadable = |error: std::io::Error| AdminError::Usage(format!("{shown} cannot be read: {error}"));
    let groups = if file == Path::new("-") {
        read(std::io::stdin().lock())
    } else {
        read(BufReader::new(File::open(file).map_err(unreadable)?))
    };
    let groups = groups.map_err(|(number, why)| AdminError::Usage(format!("{shown}:{number}: {why}")))?;
    if groups.is_empty() {
        return Ok(Report::sentence(
            form,
            || format!("{shown} holds no offsets: nothing to commit"),
            || json!([]),
        ));
    }
    let refused = unfit(cluster, &groups)?;
    if !refused.is_empty() {
        return Ok(Report { refusals: refused, ..Report::of_each(form, Vec::new()) });
    }
    let mut outcomes = Vec::new();
    for (group, all) in &groups {
        let json = json!({ "group": group, "offsets": all.len(), "dry_run": dry_run });
        if dry_run {
            let would = format!("group {group}: {} would be committed", count(all.len(), "offset"));
            outcomes.push((json, Ok(would)));
            continue;
        }
        let refusals: Vec<_> = offsets::commit(cluster, group, all)?
            .into_iter()
            .filter_map(|outcome| outcome.err().map(|error| error.to_string()))
            .collect();
        let outcome = if refusals.is_empty() {
            Ok(format!("group {group}: {} committed", count(all.len(), "offset")))
        } else {
            Err(some_of(&refusals))
        };
        outcomes.push((json, outcome));
    }
    Ok(Report::of_each(form, outcomes))
}

/// The first of these sentences, and how many more there are.
fn some_of(refusals: &[String]) -> String {
    let some = refusals[..refusals.len().min(SHOWN)].join("; ");
    match refusals.len().saturating_sub(SHOWN) {
        0 => some,
        more => format!("{some}; and {more} more like these"),
    }
}

/// Why nothing may be committed: at most [`SHOWN`] sentences, and how many more there would be. An error, if a group
/// has members.
fn unfit(cluster: &mut Cluster, groups: &ByGroup) -> Result<Vec<String>, AdminError> {
    for group in groups.keys() {
        offsets::refuse_if_alive(cluster, group)?;
    }
    let fitting = Fitting::of(cluster)?;
    let of_group = |(group, all)| {
        let (group, all): (&String, &Vec<Committed>) = (group, all);
        let fitting = &fitting;
        all.iter().filter_map(move |of| fitting.check(group, of).err())
    };
    let mut unfit = groups.iter().flat_map(of_group);
    let mut sentences: Vec<_> = unfit.by_ref().take(SHOWN).map(|error| error.to_string()).collect();
    if !sentences.is_empty() {
        let more = match unfit.count() {
            0 => String::new(),
            more => format!("and {more} more like these: "),
        };
        sentences.push(format!("{more}nothing was committed"));
    }
    Ok(sentences)
}

type ByGroup = BTreeMap<String, Vec<Committed>>;

/// What the file says, each partition once; or the number of the bad line and what is wrong with it.
fn read(mut input: impl BufRead) -> Result<ByGroup, (usize, String)> {
    let mut groups: BTreeMap<String, BTreeMap<(String, i32), Committed>> = BTreeMap::new();
    let mut bytes = Vec::new();
    let mut count = 0;
    for number in 1.. {
        bytes.clear();
        let at = |why: String| (number, why);
        let length =
            (&mut input).take(MAX_LINE).read_until(b'\n', &mut bytes).map_err(|e| at(e.to_string()))?;
        if length == 0 {
            break;
        }
        if length as u64 == MAX_LINE {
            return Err(at(format!("the line is longer than {MAX_LINE} bytes")));
        }
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        let line: Line = serde_json::from_slice(&bytes).map_err(|error| at(error.to_string()))?;
        count += 1;
        check(&line, count).map_err(at)?;
        let Line { group, topic, partition, offset, leader_epoch, metadata } = line;
        let committed = Committed { topic: topic.clone(), partition, offset, leader_epoch, metadata };
        let known = groups.entry(group).or_default().insert((topic, partition), committed.clone());
        if known.is_some_and(|known| known != committed) {
            return Err(at(format!("{}:{partition} has another offset further up", committed.topic)));
        }
    }
    Ok(groups.into_iter().map(|(group, all)| (group, all.into_values().collect())).collect())
}

fn check(line: &Line, count: usize) -> Result<(), String> {
    if line.group.is_empty() || line.topic.is_empty() {
        return Err("a group and a topic have names".into());
    }
    if line.partition < 0 {
        return Err("partitions are whole numbers from 0".into());
    }
    if line.offset == offsets::NO_OFFSET {
        return Err("an offset of -1 means that none is committed".into());
    }
    if count > MAX_OFFSETS {
        return Err(format!("more than {MAX_OFFSETS} offsets; do it in parts"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        let (number, why) = read(text.as_bytes()).expect_err("is wrong");
        format!("{number}: {why}")
    }

    #[test]
    fn lines_are_read_as_they_were_written() {
        let line = Line {
            group: "g".into(),
            topic: "t".into(),
            partition: 3,
            offset: i64::MAX,
            leader_epoch: 7,
            metadata: "a \"note\"\n".into(),
        };
        let text = format!("{}\n\n", json!(line));
        let groups = read(text.as_bytes()).expect("is right");
        let expected = Committed {
            topic: "t".into(),
            partition: 3,
            offset: i64::MAX,
            leader_epoch: 7,
            metadata: "a \"note\"\n".into(),
        };
        assert_eq!(groups["g"], [expected]);
    }

    #[test]
    fn a_wrong_line_is_named_before_anything_is_done() {
        let good = "{\"group\":\"g\",\"topic\":\"t\",\"partition\":0,\"offset\":1}\n";
        assert!(fault(&format!("{good}{{}}\n")).starts_with("2: missing field"));
        assert!(fault(&format!("{good}nonsense")).starts_with("2: "));
        assert!(
            fault(&good.replace("\"offset\":1", "\"offset\":-1")).starts_with("1: an offset of -1 means")
        );
        assert!(fault(&good.replace("\"g\"", "\"\"")).starts_with("1: a group and a topic"));
        assert!(fault(&good.replace("offset", "ofset")).starts_with("1: unknown field"));
        let other = good.replace("\"offset\":1", "\"offset\":2");
        assert_eq!(fault(&format!("{good}{other}")), "2: t:0 has another offset further up");
        assert!(fault(&"x".repeat(2 << 20)).contains("longer than"));
        read(format!("{good}{good}").as_bytes()).expect("the same twice is no contradiction");
    }
}
