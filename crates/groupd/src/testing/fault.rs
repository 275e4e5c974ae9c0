//! One fault: what goes wrong, for whom, and how often.

use std::time::Duration;

use coordinator::ids::{GroupId, OffsetsPartition};
use coordinator::messages::StoreError;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::error_names;
use super::parameters::{Parameters, milliseconds};
use crate::apis::Api;

/// The longest delay.
const LONGEST: Duration = Duration::from_hours(1);
/// The most requests or writes that one fault strikes, if it is not to last until it is cleared.
const MOST_TIMES: u32 = 1_000_000;
/// The longest name of a group, member or client, bytes.
const LONGEST_NAME: usize = 1024;

/// What goes wrong.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// A request is handled late, and so is what comes behind it on its connection.
    Delay(Api, Duration),
    /// A request is not handled: its answer is this error.
    Fail(Api, i16),
    /// A request is not handled, and its connection ends.
    LoseRequest(Api),
    /// A request is handled, and its connection ends instead of an answer.
    LoseAnswer(Api),
    /// A write of a group fails.
    StoreFail(StoreError),
    /// The outcome of a write of a group comes late.
    StoreSlow(Duration),
    /// The coordinator of a partition's groups is elsewhere.
    Away(OffsetsPartition),
}

/// Whom a fault strikes: all that is given must fit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scope {
    pub(super) group: Option<String>,
    pub(super) member: Option<String>,
    pub(super) client_id: Option<String>,
}

/// Who asks for something.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asks<'a> {
    pub(crate) group: Option<&'a str>,
    pub(crate) member: Option<&'a str>,
    pub(crate) client_id: &'a str,
}

/// A fault that is wanted.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) kind: Kind,
    pub(super) scope: Scope,
    /// How often; `None`: until it is cleared.
    pub(super) times: Option<u32>,
}

/// A fault that is set.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) id: u32,
    pub(super) kind: Kind,
    pub(super) scope: Scope,
    pub(super) left: Option<u32>,
    pub(super) struck: u64,
    /// Becomes true when it is cleared: what it delays goes on.
    pub(super) release: watch::Sender<bool>,
}

impl Wanted {
    /// What `parameters` ask for; `kind` is taken already.
    ///
    /// # Errors
    ///
    /// What cannot be.
    pub(super) fn read(kind: &str, mut parameters: Parameters) -> Result<Self, String> {
        let kind = match kind {
            "delay" => Kind::Delay(api(&mut parameters)?, delay(&mut parameters)?),
            "fail" => {
                let api = api(&mut parameters)?;
                if !api.can_be_refused() {
                    return Err(format!("{} cannot be failed, only delayed or lost", api.key().name()));
                }
                Kind::Fail(api, error_names::code(&parameters.required("error")?)?)
            }
            "lose-request" => Kind::LoseRequest(api(&mut parameters)?),
            "lose-answer" => Kind::LoseAnswer(api(&mut parameters)?),
            "store-fail" => Kind::StoreFail(store_error(parameters.one("error")?.as_deref())?),
            "store-slow" => Kind::StoreSlow(delay(&mut parameters)?),
            _ => return Err(format!("there is no fault of that kind; there are {KINDS}")),
        };
        let times = times(parameters.one("count")?.as_deref())?;
        let scope = Scope::read(&mut parameters)?;
        parameters.finish()?;
        let wanted = Self { kind, scope, times };
        wanted.check_scope()?;
        Ok(wanted)
    }

    /// A scope that nothing of the kind can ever fit is a mistake.
    fn check_scope(&self) -> Result<(), String> {
        let Scope { group, member, client_id } = &self.scope;
        match &self.kind {
            Kind::Delay(api, _) | Kind::Fail(api, _) | Kind::LoseRequest(api) | Kind::LoseAnswer(api) => {
                let name = api.key().name();
                if group.is_some() && !api.names_group() {
                    return Err(format!("{name} names no one group: say whose by client id"));
                }
                if member.is_some() && !api.names_member() {
                    return Err(format!("{name} names no member: say whose by client id"));
                }
            }
            Kind::StoreFail(_) | Kind::StoreSlow(_) | Kind::Away(_) => {
                if member.is_some() || client_id.is_some() {
                    return Err("a write is a group's: of members and clients the store knows nothing".into());
                }
            }
        }
        Ok(())
    }
}

/// All kinds that are set by a command of their own name.
const KINDS: &str = "delay, fail, lose-request, lose-answer, store-fail, store-slow, move, disconnect";

impl Scope {
    /// Takes what `parameters` say of it.
    ///
    /// # Errors
    ///
    /// A name that is too long, or given twice.
    pub(super) fn read(parameters: &mut Parameters) -> Result<Self, String> {
        let mut name = |of: &str| match parameters.one(of)? {
            Some(name) if name.len() > LONGEST_NAME => {
                Err(format!("{of} is longer than {LONGEST_NAME} bytes"))
            }
            name => Ok(name),
        };
        Ok(Self { group: name("group")?, member: name("member")?, client_id: name("client_id")? })
    }

    /// Whether `asks` is in it.
    pub(super) fn fits(&self, asks: Asks<'_>) -> bool {
        let fits = |wanted: &Option<String>, given: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| given == Some(wanted))
        };
        fits(&self.group, asks.group)
            && fits(&self.member, asks.member)
            && fits(&self.client_id, Some(asks.client_id))
    }

    fn told(&self) -> String {
        let parts = [("group", &self.group), ("member", &self.member), ("client", &self.client_id)];
        let parts = parts.iter().filter_map(|(what, name)| Some(format!(" of {what} {}", name.as_ref()?)));
        parts.collect()
    }
}

impl Fault {
    /// Whether it has no more to do, and nothing waits for it.
    pub(super) fn is_over(&self) -> bool {
        self.left == Some(0) && self.release.receiver_count() == 0
    }

    /// Counts one strike.
    pub(super) fn strike(&mut self) {
        self.struck += 1;
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(1);
        }
    }

    /// In words, without its number.
    pub(super) fn sentence(&self) -> String {
        let whose = self.scope.told();
        let shown = |time: &Duration| humantime::format_duration(*time).to_string();
        match &self.kind {
            Kind::Delay(api, by) => format!("{}{whose} is handled {} late", api.key().name(), shown(by)),
            Kind::Fail(api, code) => {
                format!("{}{whose} is answered {}", api.key().name(), error_names::name(*code))
            }
            Kind::LoseRequest(api) => format!("{}{whose} is lost with its connection", api.key().name()),
            Kind::LoseAnswer(api) => {
                format!("the answer to {}{whose} is lost with its connection", api.key().name())
            }
            Kind::StoreFail(error) => format!("a write{whose} fails: {error:?}"),
            Kind::StoreSlow(by) => format!("a write{whose} is reported {} late", shown(by)),
            Kind::Away(partition) => {
                format!("the coordinator{whose} is elsewhere, with all of offsets partition {}", partition.0)
            }
        }
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        json!({
            "id": self.id,
            "kind": self.kind.name(),
            "about": self.sentence(),
            "left": self.left,
            "struck": self.struck,
        })
    }
}

impl Kind {
    /// As the command that sets it is called.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Delay(..) => "delay",
            Self::Fail(..) => "fail",
            Self::LoseRequest(_) => "lose-request",
            Self::LoseAnswer(_) => "lose-answer",
            Self::StoreFail(_) => "store-fail",
            Self::StoreSlow(_) => "store-slow",
            Self::Away(_) => "move",
        }
    }

    /// Whether it strikes requests for `api`.
    pub(super) fn is_of(&self, api: Api) -> bool {
        match self {
            Self::Delay(of, _) | Self::Fail(of, _) | Self::LoseRequest(of) | Self::LoseAnswer(of) => {
                *of == api
            }
            Self::StoreFail(_) | Self::StoreSlow(_) | Self::Away(_) => false,
        }
    }
}

/// The group that is to be moved.
///
/// # Errors
///
/// If none is named.
pub(super) fn moved_group(scope: &Scope) -> Result<GroupId, String> {
    match scope {
        Scope { group: Some(group), member: None, client_id: None } => Ok(GroupId::from(group.as_str())),
        _ => Err("the coordinator of a group is moved: name a group, and nothing else".into()),
    }
}

fn api(parameters: &mut Parameters) -> Result<Api, String> {
    let name = parameters.required("api")?;
    let found = Api::ALL.iter().find(|api| api.key().name().eq_ignore_ascii_case(&name));
    found.copied().ok_or_else(|| {
        let names: Vec<_> = Api::ALL.iter().map(|api| api.key().name()).collect();
        format!("there is no API of that name; there are {}", names.join(", "))
    })
}

fn delay(parameters: &mut Parameters) -> Result<Duration, String> {
    let by = Duration::from_millis(milliseconds(&parameters.required("by")?)?);
    if by > LONGEST {
        return Err("a delay is an hour at most".into());
    }
    Ok(by)
}

fn times(count: Option<&str>) -> Result<Option<u32>, String> {
    match count {
        None => Ok(Some(1)),
        Some("all") => Ok(None),
        Some(count) => match count.parse() {
            Ok(count @ 1..=MOST_TIMES) => Ok(Some(count)),
            Ok(_) | Err(_) => Err(format!("count is a whole number from 1 to {MOST_TIMES}, or all")),
        },
    }
}

fn store_error(name: Option<&str>) -> Result<StoreError, String> {
    let known = [
        ("KAFKA_STORAGE_ERROR", StoreError::KafkaStorageError),
        ("NOT_ENOUGH_REPLICAS", StoreError::NotEnoughReplicas),
        ("NOT_LEADER_OR_FOLLOWER", StoreError::NotLeaderOrFollower),
        ("REQUEST_TIMED_OUT", StoreError::RequestTimedOut),
        ("MESSAGE_TOO_LARGE", StoreError::MessageTooLarge),
        ("UNKNOWN_SERVER_ERROR", StoreError::UnknownServerError),
    ];
    let name = name.unwrap_or("KAFKA_STORAGE_ERROR");
    let found = known.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, error)| *error).ok_or_else(|| {
        let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
        format!("a store fails with one of {}", names.join(", "))
    })
}
