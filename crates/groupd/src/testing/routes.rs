//! The commands as paths: `GET /clock`, `POST /clock/advance?by=45s`.
//!
//! Whatever changes something is a POST or a DELETE, and none that a web page sends is taken: a page that somebody has
//! open beside the server must not be able to move its clock.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::advance::{Advanced, NotMoved};
use super::heard::Silent;
use super::parameters::{Parameters, milliseconds};
use super::{Testing, date};

/// A request for one of the paths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Called<'a> {
    pub(crate) method: &'a str,
    /// Path and query.
    pub(crate) target: &'a str,
    /// It names the web page that sent it.
    pub(crate) from_page: bool,
}

/// An answer: the status, and a JSON object. Where the status is not 200 its `error` says why.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Reply {
    fn refused(status: u16, why: impl std::fmt::Display) -> Self {
        Self { status, body: json!({ "error": why.to_string() }) }
    }
}

impl Called<'_> {
    /// Whether there is such a path.
    pub(crate) fn is_known(&self) -> bool {
        matches!(self.path(), "/clock" | "/clock/advance")
    }

    fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }
}

impl Testing {
    /// Does what is asked for.
    pub(crate) async fn answer(self: &Arc<Self>, called: Called<'_>) -> Reply {
        if called.from_page {
            return Reply::refused(403, "no web page is let in here");
        }
        let query = called.target.split_once('?').map_or("", |(_, query)| query);
        let parameters = match Parameters::of(query) {
            Ok(parameters) => parameters,
            Err(why) => return Reply::refused(400, why),
        };
        match (called.method, called.path()) {
            ("GET", "/clock") => match parameters.finish() {
                Ok(()) => Reply { status: 200, body: self.clock() },
                Err(why) => Reply::refused(400, why),
            },
            ("POST", "/clock/advance") => self.advance_as(parameters).await,
            _ => {
                Reply::refused(405, "the clock is read by GET /clock and moved by POST /clock/advance?by=45s")
            }
        }
    }

    fn clock(&self) -> Value {
        let now = self.now();
        let heard = self.heard.heartbeats(&Silent::Gone);
        let members: Vec<_> = heard.iter().map(|beat| beat.member.as_str()).collect();
        json!({ "simulated": true, "now": date(now), "now_ms": now.ticks(), "members_connected": members })
    }

    async fn advance_as(self: &Arc<Self>, mut parameters: Parameters) -> Reply {
        let read = || -> Result<(u64, Silent), String> {
            let by = milliseconds(&parameters.required("by")?)?;
            let named = parameters.all("silent");
            let all = parameters.all("silent_all");
            parameters.finish()?;
            let silent = match (all.is_empty(), named.is_empty()) {
                (false, _) => Silent::All,
                (true, false) => Silent::Named(named),
                (true, true) => Silent::Gone,
            };
            Ok((by, silent))
        };
        let (by, silent) = match read() {
            Ok(read) => read,
            Err(why) => return Reply::refused(400, why),
        };
        match Arc::clone(self).advance(by, silent).await {
            Ok(advanced) => Reply { status: 200, body: told(&advanced) },
            Err(why @ NotMoved::TooFar(_)) => Reply::refused(400, why),
            Err(why @ (NotMoved::NotKept(_) | NotMoved::Stopping)) => Reply::refused(503, why),
        }
    }
}

fn told(advanced: &Advanced) -> Value {
    let Advanced { from, now, left, heard, tally } = advanced;
    let mut told = Map::new();
    told.insert("from".into(), json!(date(*from)));
    told.insert("now".into(), json!(date(*now)));
    for (name, count) in [
        ("now_ms", now.ticks()),
        ("advanced_ms", now.ticks_since(*from)),
        ("left_ms", *left),
        ("members_heard", *heard as u64),
        ("operations_expired", tally.operations_expired),
        ("members_evicted", tally.members_evicted),
        ("rebalances_started", tally.rebalances_started),
        ("rebalances_completed", tally.rebalances_completed),
        ("offsets_expired", tally.offsets_expired),
        ("groups_removed", tally.groups_removed),
        ("transactions_timed_out", tally.transactions_timed_out),
    ] {
        told.insert(name.into(), json!(count));
    }
    Value::Object(told)
}
