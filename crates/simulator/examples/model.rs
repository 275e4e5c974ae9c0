//! `cargo run --release -p simulator --example model`: explores the group protocol, and says how much of it there is.
//!
//! `-- STATES` explores so many states (100,000 if nothing is said) of the model with all faults.

use std::process::ExitCode;

use simulator::model::{Bounds, Explored, Plant, explore};

fn main() -> ExitCode {
    let states = match std::env::args().nth(1).map(|typed| typed.parse()) {
        None => Bounds::default().states,
        Some(Ok(states)) => states,
        Some(Err(why)) => {
            eprintln!("the number of states: {why}");
            return ExitCode::from(2);
        }
    };
    let all = Bounds { states, ..Bounds::default() };
    let quiet = Bounds { crashes: 0, leaves: 0, store_faults: 0, moves: 0, ..all };
    for (name, bounds) in [
        ("one client, a fault of each kind", Bounds { clients: 1, generations: 1, ..all }),
        ("two clients, no faults", Bounds { clients: 2, generations: 2, ..quiet }),
        ("two clients, two owners", Bounds { clients: 2, generations: 1, moves: 1, ..quiet }),
        ("two clients, a fault of each kind", Bounds { clients: 2, ..all }),
        ("three clients, no faults", Bounds { generations: 1, ..quiet }),
        ("three clients, a fault of each kind", all),
    ] {
        match explore(bounds, Plant::Nothing) {
            Ok(Explored { states, transitions, depth, unexplored, longest_rest_ms }) => {
                let all = if unexplored == 0 { "all there is".into() } else { format!("{unexplored} left") };
                println!(
                    "{name}: {states} states, {transitions} transitions, {depth} steps deep, {all}; \
                     at rest after {longest_rest_ms} ms at the latest"
                );
            }
            Err(why) => {
                println!("{name}: this must not be:\n{why}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
