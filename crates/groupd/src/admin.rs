//! The admin commands: they ask any Kafka coordinator over the wire, and show what it said.
//!
//! (`groupd clock` and `groupd fault` speak to a groupd alone, and over HTTP.)
//!
//! A client of its own, blocking and small, that shares nothing with the server but the codec: so it sees what
//! other clients see. Tables are for people; `--json` is for programs.

mod clock;
mod cluster;
mod codes;
mod connection;
mod consumer;
mod control;
mod describe;
mod error;
mod events;
mod fault;
mod fitting;
mod groups;
mod offsets;
mod partitions;
mod report;
mod topics;
mod transfer;

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};

use crate::cli::{EXIT_USAGE, complain};
use crate::settings::HostPort;
use cluster::Cluster;
use control::ControlTarget;
use error::AdminError;
use report::{Form, Report};

/// Exit code where the server refused, what was named is not there, or the answer could not be printed.
pub const EXIT_REFUSED: u8 = 1;
/// Exit code where no answer could be had: nobody listens, it timed out, or it is no Kafka server.
pub const EXIT_UNREACHABLE: u8 = 3;

const AFTER_HELP: &str =
    "Exit codes: 0 done, 1 refused, not there or not printed, 2 wrong usage, 3 no answer.";

/// Whom to ask, and how to show what it says.
#[derive(Debug, Clone, Args)]
pub struct Target {
    /// Any server of the cluster; several are tried in turn
    #[arg(
        long,
        global = true,
        value_name = "HOST:PORT",
        default_value = "127.0.0.1:9092",
        env = "GROUPD_SERVER",
        value_delimiter = ','
    )]
    server: Vec<HostPort>,
    /// Print JSON for programs instead of tables
    #[arg(long, global = true)]
    json: bool,
    /// How long one question may take, retries included
    #[arg(long, global = true, value_name = "SECONDS", default_value = "10", value_parser = clap::value_parser!(u16).range(1..=3600))]
    timeout: u16,
}

/// `groupd groups`: who is in which group, and out with them.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP, subcommand_required = true, arg_required_else_help = true)]
pub struct GroupsArgs {
    #[command(flatten)]
    target: Target,
    #[command(subcommand)]
    command: groups::GroupsCommand,
}

/// `groupd offsets`: what groups have committed.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP, subcommand_required = true, arg_required_else_help = true)]
pub struct OffsetsArgs {
    #[command(flatten)]
    target: Target,
    #[command(subcommand)]
    command: offsets::OffsetsCommand,
}

/// `groupd topics`: what there is to divide.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP, subcommand_required = true, arg_required_else_help = true)]
pub struct TopicsArgs {
    #[command(flatten)]
    target: Target,
    #[command(subcommand)]
    command: topics::TopicsCommand,
}

/// `groupd clock`: time, by command.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP, subcommand_required = true, arg_required_else_help = true)]
pub struct ClockArgs {
    #[command(flatten)]
    target: ControlTarget,
    #[command(subcommand)]
    command: clock::ClockCommand,
}

/// `groupd fault`: what goes wrong, by command.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP, subcommand_required = true, arg_required_else_help = true)]
pub struct FaultArgs {
    #[command(flatten)]
    target: ControlTarget,
    #[command(subcommand)]
    command: fault::FaultCommand,
}

/// An admin command, as typed.
#[derive(Debug, Subcommand)]
pub enum AdminCommand {
    /// List, describe and delete groups; evict members
    Groups(GroupsArgs),
    /// Get, set, delete, export and import committed offsets
    Offsets(OffsetsArgs),
    /// List, create and delete topics
    Topics(TopicsArgs),
    /// Move the clock of a server for tests (--simulated-clock)
    Clock(ClockArgs),
    /// Let things go wrong on a server for tests (--simulated-clock)
    Fault(FaultArgs),
}

/// Runs the command: its answer to standard output, what went wrong to standard error.
pub fn run(command: &AdminCommand) -> ExitCode {
    let target = match command {
        AdminCommand::Groups(args) => &args.target,
        AdminCommand::Offsets(args) => &args.target,
        AdminCommand::Topics(args) => &args.target,
        AdminCommand::Clock(args) => &args.target.target,
        AdminCommand::Fault(args) => &args.target.target,
    };
    let mut cluster = Cluster::new(target.server.clone(), Duration::from_secs(target.timeout.into()));
    let form = if target.json { Form::Json } else { Form::Tables };
    let outcome = match command {
        AdminCommand::Groups(args) => groups::run(&args.command, &mut cluster, form),
        AdminCommand::Offsets(args) => offsets::run(&args.command, &mut cluster, form),
        AdminCommand::Topics(args) => topics::run(&args.command, &mut cluster, form),
        AdminCommand::Clock(args) => clock::run(&args.command, &args.target.control(), form),
        AdminCommand::Fault(args) => fault::run(&args.command, &args.target.control(), form),
    };
    match outcome {
        Ok(report) => show(&report),
        Err(error) => {
            complain(&error.to_string());
            ExitCode::from(match error {
                AdminError::Usage(_) => EXIT_USAGE,
                AdminError::Refused { .. }
                | AdminError::Alive { .. }
                | AdminError::Said(_)
                | AdminError::NotForTests { .. } => EXIT_REFUSED,
                AdminError::Unreachable { .. }
                | AdminError::TimedOut { .. }
                | AdminError::Garbled { .. }
                | AdminError::NoCommands { .. }
                | AdminError::NotOffered { .. } => EXIT_UNREACHABLE,
            })
        }
    }
}

fn show(report: &Report) -> ExitCode {
    let printed = report.print();
    if let Err(error) = &printed {
        complain(&error.to_string());
    }
    if printed.is_ok() && report.refusals.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(EXIT_REFUSED)
    }
}
