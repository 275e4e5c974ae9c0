//! The tables of `docs/protocol.md`: made from what the coordinator does, and compared with what the page says.
//!
//! `UPDATE_DOCS=1 cargo test -p coordinator tables` writes them anew.

mod world;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use coordinator::{Phase, PhaseEvent};

use world::{HAPPENINGS, World};

#[test]
fn the_page_shows_the_transition_table() {
    let mut table = String::from("| from \\ event |");
    for event in PhaseEvent::ALL {
        write!(table, " {event:?} |").expect("a string takes it");
    }
    table += "\n|---|---|---|---|---|---|---|\n";
    for phase in Phase::ALL {
        write!(table, "| **{phase}** |").expect("a string takes it");
        for event in PhaseEvent::ALL {
            let next = phase.after(event).map_or("·", Phase::name);
            write!(table, " {next} |").expect("a string takes it");
        }
        table += "\n";
    }
    compare("transitions", &table);
}

#[test]
fn the_page_shows_what_each_request_does_in_each_phase() {
    let phases = [Phase::Empty, Phase::PreparingRebalance, Phase::CompletingRebalance, Phase::Stable];
    let mut table = String::from("| |");
    for phase in phases {
        write!(table, " {phase} |").expect("a string takes it");
    }
    table += "\n|---|---|---|---|---|\n";
    for (name, happening) in HAPPENINGS {
        write!(table, "| **{name}** |").expect("a string takes it");
        for phase in phases {
            let mut world = World::at(phase, happening);
            let outcome = world.observe(happening);
            write!(table, " {outcome} |").expect("a string takes it");
        }
        table += "\n";
    }
    compare("requests", &table);
}

/// What stands between `<!-- name -->` and `<!-- end -->` on the page.
fn compare(name: &str, table: &str) {
    let path = page();
    let text = std::fs::read_to_string(&path).expect("docs/protocol.md");
    let (start, end) = (format!("<!-- {name}: made by a test -->\n\n"), "\n<!-- end -->");
    let (before, rest) = text.split_once(&start).unwrap_or_else(|| panic!("the page has no {start}"));
    let (shown, after) = rest.split_once(end).expect("the table has an end");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}{start}{table}{end}{after}")).expect("the page is ours");
    } else {
        assert_eq!(shown, table, "the page is out of date: UPDATE_DOCS=1 writes it");
    }
}

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/protocol.md")
}
