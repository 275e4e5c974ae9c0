//! The commands as paths: `GET /clock`, `POST /clock/advance?by=45s`, `GET /faults`,
//! `POST /faults?kind=fail&api=OffsetCommit&error=NOT_COORDINATOR&group=orders`, `DELETE /faults?id=3`.
//!
//! Whatever changes something is a POST or a DELETE, and none that a web page sends is taken: a page that somebody has
//! open beside the server must not be able to move its clock.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::advance::{Advanced, NotMoved};
use super::fault::{self, Scope, Wanted};
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
        matches!(self.path(), "/clock" | "/clock/advance" | "/faults")
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
            ("GET", "/faults") => match parameters.finish() {
                Ok(()) => Reply { status: 200, body: json!({ "faults": self.faults.list() }) },
                Err(why) => Reply::refused(400, why),
            },
            ("POST", "/faults") => self.set_as(parameters).await.unwrap_or_else(|refused| refused),
            ("DELETE", "/faults") => self.clear_as(parameters).await.unwrap_or_else(|refused| refused),
            (_, "/faults") => {
                Reply::refused(405, "faults are listed by GET, set by POST and cleared by DELETE")
            }
            _ => {
                Reply::refused(405, "the clock is read by GET /clock and moved by POST /clock/advance?by=45s")
            }
        }
    }

    async fn set_as(self: &Arc<Self>, mut parameters: Parameters) -> Result<Reply, Reply> {
        let bad = |why: String| Reply::refused(400, why);
        let kind = parameters.required("kind").map_err(bad)?;
        let id = match kind.as_str() {
            "disconnect" => {
                let scope = Scope::read(&mut parameters).map_err(bad)?;
                parameters.finish().map_err(bad)?;
                if scope == Scope::default() {
                    return Err(bad("say whose connection: a group, a member or a client_id".into()));
                }
                let body = json!({ "connections_closed": self.heard.dismiss(&scope) });
                return Ok(Reply { status: 200, body });
            }
            "move" => {
                let back = !parameters.all("back").is_empty();
                let scope = Scope::read(&mut parameters).map_err(bad)?;
                parameters.finish().map_err(bad)?;
                let group = fault::moved_group(&scope).map_err(bad)?;
                let conflict = |why: String| Reply::refused(409, why);
                let id = Arc::clone(self).move_away(group, scope).await.map_err(conflict)?;
                if back {
                    Arc::clone(self).clear(Some(id)).await.map_err(conflict)?;
                    return Ok(Reply { status: 200, body: json!({ "moved": "there and back" }) });
                }
                id
            }
            kind => {
                let wanted = Wanted::read(kind, parameters).map_err(bad)?;
                self.faults.set(wanted).map_err(|why| Reply::refused(409, why))?
            }
        };
        // It may be used up already.
        let body = self.faults.tell(id).unwrap_or_else(|| json!({ "id": id }));
        Ok(Reply { status: 200, body })
    }

    async fn clear_as(self: &Arc<Self>, mut parameters: Parameters) -> Result<Reply, Reply> {
        let bad = |why: String| Reply::refused(400, why);
        let ids = parameters.all("id");
        parameters.finish().map_err(bad)?;
        let number = |id: &String| id.parse::<u32>().map_err(|_| bad("a fault has a number".into()));
        let ids: Vec<Option<u32>> = match ids.as_slice() {
            [] => vec![None],
            ids => ids.iter().map(|id| number(id).map(Some)).collect::<Result<_, _>>()?,
        };
        let mut cleared = Vec::new();
        for id in ids {
            let some = Arc::clone(self).clear(id).await.map_err(|why| Reply::refused(409, why))?;
            if let (Some(id), []) = (id, some.as_slice()) {
                return Err(Reply::refused(409, format!("there is no fault {id}; it may be used up")));
            }
            cleared.extend(some);
        }
        Ok(Reply { status: 200, body: json!({ "cleared": cleared }) })
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
