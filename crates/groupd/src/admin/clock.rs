//! `groupd clock`: moves the clock of a server for tests.

use std::io::Write;
use std::time::{Duration, Instant};

use clap::Subcommand;
use serde_json::Value;

use super::control::Control;
use super::error::AdminError;
use super::report::{Form, Report, count};
use crate::cli::Output;
use crate::testing::milliseconds;

/// How often `clock run` moves it.
const PACE: Duration = Duration::from_millis(50);

#[derive(Debug, Subcommand)]
pub(super) enum ClockCommand {
    /// Show where the clock stands
    Now,
    /// Move it, and show what that brought: all that is due by then happens, in order, before this returns
    ///
    /// Members whose connection is open are heard from all along, as if the time had passed for their clients too;
    /// --silent tells whom not to hear.
    Advance {
        /// How far: 45s, 250ms, 1h 30m; at most to the year 9999
        #[arg(value_name = "TIME", allow_hyphen_values = true)]
        by: String,
        /// Who says nothing meanwhile: a member id, group.instance.id or client.id; repeat for more
        #[arg(long, value_name = "WHO")]
        silent: Vec<String>,
        /// Nobody says anything: every session that ends by then ends
        #[arg(long, conflicts_with = "silent")]
        silent_all: bool,
    },
    /// Let it go at the pace of real time, until interrupted
    Run {
        /// No longer than this: 30s, 5m
        #[arg(long = "for", value_name = "TIME", allow_hyphen_values = true)]
        period: Option<String>,
    },
}

pub(super) fn run(command: &ClockCommand, control: &Control, form: Form) -> Result<Report, AdminError> {
    match command {
        ClockCommand::Now => {
            let clock = control.ask("GET", "/clock", &[])?;
            Ok(Report::new(form, || text(&clock, "now"), || clock.clone()))
        }
        ClockCommand::Advance { by, silent, silent_all } => {
            milliseconds(by).map_err(AdminError::Usage)?;
            let mut parameters = vec![("by", by.as_str())];
            parameters.extend(silent.iter().map(|who| ("silent", who.as_str())));
            parameters.extend(silent_all.then_some(("silent_all", "true")));
            let advanced = control.ask("POST", "/clock/advance", &parameters)?;
            Ok(Report::new(form, || sentence(&advanced), || advanced.clone()))
        }
        ClockCommand::Run { period } => {
            let period = period.as_deref().map(milliseconds).transpose().map_err(AdminError::Usage)?;
            at_real_pace(control, form, period.map(Duration::from_millis))
        }
    }
}

/// Moves it by as much time as has passed, again and again. Members heartbeat by themselves meanwhile.
fn at_real_pace(control: &Control, form: Form, period: Option<Duration>) -> Result<Report, AdminError> {
    let began = Instant::now();
    let mut out = Output::new(std::io::stdout().lock());
    let mut moved = Duration::ZERO;
    loop {
        let passed = began.elapsed().min(period.unwrap_or(Duration::MAX));
        let by = u64::try_from(passed.saturating_sub(moved).as_millis()).unwrap_or(u64::MAX);
        let parameters = [("by", &*format!("{by}ms")), ("silent_all", "true")];
        let advanced = control.ask("POST", "/clock/advance", &parameters)?;
        moved += Duration::from_millis(by);
        if period.is_some_and(|period| passed >= period) {
            return Ok(Report::new(
                form,
                || format!("the clock stands at {}", text(&advanced, "now")),
                || advanced.clone(),
            ));
        }
        if form == Form::Tables && !happened(&advanced).is_empty() {
            // A reader that has seen enough does not stop the clock.
            let _ = writeln!(out, "{}", sentence(&advanced)).and_then(|()| out.flush());
        }
        std::thread::sleep(PACE);
    }
}

/// What moving the clock brought, for people.
fn sentence(advanced: &Value) -> String {
    let mut parts = happened(advanced);
    if parts.is_empty() {
        parts.push("nothing was due".into());
    }
    let heard = number(advanced, "members_heard");
    let heard = match heard {
        0 => String::new(),
        some => format!(" ({} heard from all along)", count(some, "connected member")),
    };
    let left = match number(advanced, "left_ms") {
        0 => String::new(),
        left => format!("\nmore was due than one command handles: go on with groupd clock advance {left}ms"),
    };
    format!("{}: {}{heard}{left}", text(advanced, "now"), parts.join(", "))
}

fn happened(advanced: &Value) -> Vec<String> {
    let told = [
        ("operations_expired", "operation", " expired"),
        ("members_evicted", "member", " evicted"),
        ("rebalances_started", "rebalance", " begun"),
        ("rebalances_completed", "rebalance", " completed"),
        ("offsets_expired", "offset", " expired"),
        ("groups_removed", "group", " removed"),
        ("transactions_timed_out", "transaction", " timed out"),
    ];
    let some = told.iter().filter_map(|(name, what, how)| match number(advanced, name) {
        0 => None,
        some => Some(count(some, what) + how),
    });
    some.collect()
}

fn number(told: &Value, name: &str) -> usize {
    told[name].as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or_default()
}

fn text(told: &Value, name: &str) -> String {
    told[name].as_str().unwrap_or_default().to_owned()
}
