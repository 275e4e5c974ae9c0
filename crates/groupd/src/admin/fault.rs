//! `groupd fault`: what is to go wrong on a server for tests.

use clap::{Args, Subcommand};
use serde_json::Value;

use super::control::Control;
use super::error::AdminError;
use super::report::{Form, Report, count};
use crate::tables;

/// Whom a fault strikes: all that is named must fit.
#[derive(Debug, Args)]
pub(super) struct Whose {
    /// Only requests of this group
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// Only requests of this member
    #[arg(long, value_name = "MEMBER-ID")]
    member: Option<String>,
    /// Only requests of clients of this client.id
    #[arg(long, value_name = "CLIENT-ID")]
    client_id: Option<String>,
}

/// How often a fault strikes.
#[derive(Debug, Args)]
pub(super) struct Times {
    /// How often: a number, or all (until it is cleared)
    #[arg(long, value_name = "N", default_value = "1")]
    count: String,
}

#[derive(Debug, Subcommand)]
pub(super) enum FaultCommand {
    /// Handle requests of an API late, and what comes behind them on their connection
    Delay {
        /// As Kafka names it: Heartbeat, JoinGroup, OffsetCommit, ...
        api: String,
        /// By how much real time, an hour at most: 2s; clearing the fault ends it
        time: String,
        #[command(flatten)]
        whose: Whose,
        #[command(flatten)]
        times: Times,
    },
    /// Answer requests of an API with an error, and do not handle them
    Fail {
        /// As Kafka names it: Heartbeat, JoinGroup, OffsetCommit, ...
        api: String,
        /// As Kafka names it: NOT_COORDINATOR, REBALANCE_IN_PROGRESS, ...
        error: String,
        #[command(flatten)]
        whose: Whose,
        #[command(flatten)]
        times: Times,
    },
    /// Close the connection of a request of an API instead of handling it
    LoseRequest {
        /// As Kafka names it: Heartbeat, JoinGroup, OffsetCommit, ...
        api: String,
        #[command(flatten)]
        whose: Whose,
        #[command(flatten)]
        times: Times,
    },
    /// Handle a request of an API, then close its connection instead of answering: a commit is durable and unheard of
    LoseAnswer {
        /// As Kafka names it: Heartbeat, JoinGroup, OffsetCommit, ...
        api: String,
        #[command(flatten)]
        whose: Whose,
        #[command(flatten)]
        times: Times,
    },
    /// Close the connections of a group, a member or a client now
    Disconnect {
        #[command(flatten)]
        whose: Whose,
    },
    /// Let writes of groups (commits, assignments) fail
    StoreFail {
        /// KAFKA_STORAGE_ERROR, NOT_ENOUGH_REPLICAS, REQUEST_TIMED_OUT, ...
        #[arg(default_value = "KAFKA_STORAGE_ERROR")]
        error: String,
        /// Only writes of this group
        #[arg(long, value_name = "GROUP")]
        group: Option<String>,
        #[command(flatten)]
        times: Times,
    },
    /// Let the outcomes of writes of groups come late, and those behind them on their shard
    StoreSlow {
        /// By how much real time, an hour at most: 2s; clearing the fault ends it
        time: String,
        /// Only writes of this group
        #[arg(long, value_name = "GROUP")]
        group: Option<String>,
        #[command(flatten)]
        times: Times,
    },
    /// Move the coordinator of a group elsewhere, until the fault is cleared: NOT_COORDINATOR
    ///
    /// All groups of the same offsets partition go with it; transactional ids stay.
    Move {
        group: String,
        /// And back at once: what was parked is told, and the group is loaded anew
        #[arg(long)]
        and_back: bool,
    },
    /// List the faults that are set
    List,
    /// Clear faults: what they delay goes on, what they moved comes back
    Clear {
        /// Their numbers
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        number: Vec<u32>,
        /// All of them
        #[arg(long)]
        all: bool,
    },
}

pub(super) fn run(command: &FaultCommand, control: &Control, form: Form) -> Result<Report, AdminError> {
    match command {
        FaultCommand::List => {
            let list = control.ask("GET", "/faults", &[])?;
            Ok(Report::new(form, || table(&list["faults"]), || list["faults"].clone()))
        }
        FaultCommand::Clear { number, all: _ } => {
            let numbers: Vec<_> = number.iter().map(ToString::to_string).collect();
            let parameters: Vec<_> = numbers.iter().map(|number| ("id", number.as_str())).collect();
            let cleared = control.ask("DELETE", "/faults", &parameters)?;
            let many = cleared["cleared"].as_array().map_or(0, Vec::len);
            let text = || format!("{} cleared", count(many, "fault"));
            Ok(Report::new(form, text, || cleared.clone()))
        }
        set => {
            let told = control.ask("POST", "/faults", &parameters(set))?;
            if told["connections_closed"] == 0 {
                return Err(AdminError::Said("there is no such connection".into()));
            }
            Ok(Report::new(form, || sentence(&told), || told.clone()))
        }
    }
}

/// What sets the fault.
fn parameters(command: &FaultCommand) -> Vec<(&str, &str)> {
    match command {
        FaultCommand::Delay { api, time, whose, times } => {
            with(&[("kind", "delay"), ("api", api), ("by", time)], whose, times)
        }
        FaultCommand::Fail { api, error, whose, times } => {
            with(&[("kind", "fail"), ("api", api), ("error", error)], whose, times)
        }
        FaultCommand::LoseRequest { api, whose, times } => {
            with(&[("kind", "lose-request"), ("api", api)], whose, times)
        }
        FaultCommand::LoseAnswer { api, whose, times } => {
            with(&[("kind", "lose-answer"), ("api", api)], whose, times)
        }
        FaultCommand::Disconnect { whose } => {
            let mut parameters = vec![("kind", "disconnect")];
            parameters.extend(whose.parameters());
            parameters
        }
        FaultCommand::StoreFail { error, group, times } => {
            let mut parameters = vec![("kind", "store-fail"), ("error", error), ("count", &times.count)];
            parameters.extend(group.iter().map(|group| ("group", group.as_str())));
            parameters
        }
        FaultCommand::StoreSlow { time, group, times } => {
            let mut parameters = vec![("kind", "store-slow"), ("by", time), ("count", &times.count)];
            parameters.extend(group.iter().map(|group| ("group", group.as_str())));
            parameters
        }
        FaultCommand::Move { group, and_back } => {
            let mut parameters = vec![("kind", "move"), ("group", group)];
            parameters.extend(and_back.then_some(("back", "true")));
            parameters
        }
        FaultCommand::List | FaultCommand::Clear { .. } => Vec::new(),
    }
}

fn with<'a>(what: &[(&'a str, &'a str)], whose: &'a Whose, times: &'a Times) -> Vec<(&'a str, &'a str)> {
    let mut parameters = what.to_vec();
    parameters.extend(whose.parameters());
    parameters.push(("count", &times.count));
    parameters
}

impl Whose {
    fn parameters(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = [("group", &self.group), ("member", &self.member), ("client_id", &self.client_id)];
        all.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)))
    }
}

fn sentence(told: &Value) -> String {
    if let Some(closed) = told["connections_closed"].as_u64() {
        return format!("{} closed", count(usize::try_from(closed).unwrap_or(usize::MAX), "connection"));
    }
    if told["moved"].is_string() {
        return "the coordinator went and came back".into();
    }
    format!("fault {}: {}, {}", told["id"], about(told), left(told))
}

fn table(list: &Value) -> String {
    let faults = list.as_array().map(Vec::as_slice).unwrap_or_default();
    if faults.is_empty() {
        return "no faults are set".into();
    }
    let row =
        |fault: &Value| [fault["id"].to_string(), left(fault), fault["struck"].to_string(), about(fault)];
    tables::columns(["FAULT", "LEFT", "STRUCK", "ABOUT"], faults.iter().map(row))
}

fn about(fault: &Value) -> String {
    fault["about"].as_str().unwrap_or_default().to_owned()
}

fn left(fault: &Value) -> String {
    match fault["left"].as_u64() {
        None => "until cleared".into(),
        Some(1) => "once".into(),
        Some(left) => format!("{left} times"),
    }
}
