//! How a coordinator bears load over loopback: groupd, or Apache Kafka driven by the same load.
//!
//! ```text
//! cargo bench -p benches --bench load                        # small, in seconds: groupd, built if need be
//! cargo bench -p benches --bench load -- --full              # the sizes of the README
//! cargo bench -p benches --bench load -- --full --kafka      # the same for Kafka (needs Java and Maven)
//! cargo bench -p benches --bench load -- --full --kafka --set log.flush.interval.messages=1    # syncing, as we do
//! ```
//!
//! Every figure is a median of `--rounds`, with the smallest and the largest. The server is a process of its own; its
//! CPU time and memory are read from `/proc`. Load and server share the machine, so rates per second say less than
//! rates per CPU-second of the server.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "measures: the world is what is measured"
)]
#![expect(clippy::unwrap_used, reason = "a bench that cannot go on stops")]

#[path = "load/client.rs"]
mod client;
#[path = "load/figures.rs"]
mod figures;
#[path = "load/measures.rs"]
mod measures;
#[path = "load/members.rs"]
mod members;
#[path = "load/server.rs"]
mod server;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use figures::{Checksum, machine};
use server::{Kind, Server};

/// Loads a coordinator and prints what it took.
#[derive(Debug, Parser)]
struct Options {
    /// What to measure
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "startup,memory,rebalance,heartbeat,commit",
        value_parser = ["startup", "memory", "rebalance", "heartbeat", "commit"]
    )]
    measure: Vec<String>,
    /// The sizes of the README instead of small ones
    #[arg(long)]
    full: bool,
    /// Apache Kafka instead of groupd
    #[arg(long)]
    kafka: bool,
    /// A groupd to start; the one beside this program, built if need be, if left out
    #[arg(long, conflicts_with = "kafka")]
    groupd: Option<std::path::PathBuf>,
    /// A setting for the server; repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Where the server listens (Kafka also takes the next port)
    #[arg(long, default_value = "19092")]
    port: u16,
    /// How often each figure is taken
    #[arg(long, default_value = "5")]
    rounds: usize,
    /// Idle members for the memory figure, in groups of ten
    #[arg(long)]
    members: Option<usize>,
    /// How long one round of heartbeats or commits lasts
    #[arg(long)]
    seconds: Option<f64>,
    /// Given by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

/// How large each measurement is.
#[derive(Debug)]
struct Sizes {
    rounds: usize,
    members: usize,
    round: Duration,
    groups: &'static [usize],
    heartbeaters: usize,
    committers: &'static [usize],
}

impl Options {
    fn sizes(&self) -> Sizes {
        let seconds = self.seconds.unwrap_or(if self.full { 4.0 } else { 0.3 });
        Sizes {
            rounds: self.rounds,
            members: self.members.unwrap_or(if self.full { 10_000 } else { 200 }),
            round: Duration::from_secs_f64(seconds),
            groups: if self.full { &[3, 10, 100, 1000] } else { &[3, 30] },
            heartbeaters: if self.full { 1000 } else { 50 },
            committers: &[1, 16, 256],
        }
    }

    fn kind(&self) -> Kind {
        if self.kafka {
            return Kind::Kafka { properties: self.set.clone() };
        }
        let binary = self.groupd.clone().unwrap_or_else(server::groupd_beside_us);
        Kind::Groupd { binary, settings: self.set.clone() }
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    let (sizes, kind) = (options.sizes(), options.kind());
    println!("# {kind}\n# {}\n# {sizes:?}", machine());
    let wants = |name: &str| options.measure.iter().any(|wanted| wanted == name);
    let mut checksum = Checksum::default();
    if wants("startup") {
        measures::startup(&kind, options.port, &sizes);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let load = async {
        if ["memory", "rebalance", "heartbeat", "commit"].into_iter().any(wants) {
            let server = Server::start(&kind, options.port);
            client::prepare(server.address()).await;
            if wants("memory") {
                measures::memory(&server, &sizes, &mut checksum).await;
            }
            if wants("rebalance") {
                measures::rebalance(&server, &sizes, &mut checksum).await;
            }
            if wants("heartbeat") {
                measures::heartbeat(&server, &sizes, &mut checksum).await;
            }
            if wants("commit") {
                measures::commit(&server, &sizes, &mut checksum).await;
            }
        }
    };
    runtime.block_on(load);
    println!("# {checksum}; {}", machine());
    if checksum.refused() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
