//! Which crate may stand on which. Nothing points back.

use tidy::{files, keys};

use crate::none;

/// A member, the members it may use, and for crates that must stay pure all else they may use.
struct Arrows {
    member: &'static str,
    members: &'static [&'static str],
    others: Option<&'static [&'static str]>,
}

const ALL: &[&str] = &["purgatory", "coordinator", "kafka-wire", "groupd", "simulator"];

const ARROWS: &[Arrows] = &[
    Arrows {
        member: "purgatory",
        members: &[],
        others: Some(&[
            "slab",
            "hashbrown",
            "parking_lot",
            "crossbeam-channel",
            "metrics",
            "foldhash",
            "smallvec",
        ]),
    },
    Arrows {
        member: "coordinator",
        members: &["purgatory"],
        others: Some(&["hashbrown", "foldhash", "slab", "indexmap", "smallvec", "rand_chacha", "rand"]),
    },
    Arrows { member: "kafka-wire", members: &[], others: Some(&[]) },
    Arrows { member: "groupd", members: &["purgatory", "coordinator", "kafka-wire"], others: None },
    Arrows { member: "simulator", members: ALL, others: None },
    Arrows { member: "tidy", members: &[], others: Some(&[]) },
    Arrows { member: "benches", members: ALL, others: None },
];

#[test]
fn nothing_points_back() {
    let mut breaches = Vec::new();
    for file in files() {
        let Some(directory) = file.path.strip_suffix("/Cargo.toml") else { continue };
        let member = directory.rsplit('/').next().unwrap_or(directory);
        let Some(arrows) = ARROWS.iter().find(|arrows| arrows.member == member) else {
            breaches.push(format!("{}: a new member; draw its arrows in {}", file.path, file!()));
            continue;
        };
        for used in keys(&file.text, "dependencies") {
            let inner = ARROWS.iter().any(|arrows| arrows.member == used);
            let allowed = if inner {
                arrows.members.contains(&used)
            } else {
                arrows.others.is_none_or(|others| others.contains(&used))
            };
            if !allowed {
                breaches.push(format!("{}: {member} may not use {used}", file.path));
            }
        }
    }
    none("A crate may use what docs/architecture.md lets it use. A new arrow is its own commit.", &breaches);
}

#[test]
fn every_member_has_the_lints_of_the_workspace() {
    let manifests = files().into_iter().filter(|file| file.path.ends_with("/Cargo.toml"));
    let breaches: Vec<_> =
        manifests.filter(|file| keys(&file.text, "lints") != ["workspace"]).map(|file| file.path).collect();
    none("Each manifest says `[lints] workspace = true`.", &breaches);
}

#[test]
fn the_whole_of_a_section_is_read() {
    let manifest =
        "[package]\nname = \"x\"\n\n[dependencies]\na.workspace = true\n# no\nb = \"1\"\n\n[other]\nc = 1\n";
    assert_eq!(keys(manifest, "dependencies"), ["a", "b"]);
    assert_eq!(keys(manifest, "absent"), [""; 0]);
}
