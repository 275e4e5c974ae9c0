//! Reads raw texts as values, and collects everything that is wrong instead of stopping at the first.

use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use super::layers::{Raw, Source};
use super::table::{self, Allowed, Setting};
use super::values::{HostPort, TopicSetting};
use super::{Settings, SettingsError};

/// The most threads that own groups.
const MAX_SHARDS: usize = 1024;
/// What a log line can be, and `off`.
const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];
/// The most topics from settings.
const MAX_TOPICS: usize = 10_000;

/// Reads one setting after the other. What cannot be read is noted and replaced by its default, so that the
/// next problem is found as well.
pub(super) struct Reader<'a> {
    raw: &'a Raw,
    problems: Vec<String>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(raw: &'a Raw) -> Self {
        Self { raw, problems: Vec::new() }
    }

    pub(super) fn finish(self, settings: Settings) -> Result<Settings, SettingsError> {
        if self.problems.is_empty() { Ok(settings) } else { Err(SettingsError { problems: self.problems }) }
    }

    /// What its type reads.
    pub(super) fn value<T: FromStr<Err = String>>(&mut self, name: &str) -> T {
        self.read(name, str::parse)
    }

    pub(super) fn text(&mut self, name: &str) -> String {
        self.read(
            name,
            |text| {
                if text.trim().is_empty() { Err("it is empty".into()) } else { Ok(text.to_owned()) }
            },
        )
    }

    pub(super) fn integer(&mut self, name: &str) -> i32 {
        self.whole(name).try_into().expect("invariant: ranges of the table end within an i32")
    }

    pub(super) fn count(&mut self, name: &str) -> usize {
        self.whole(name).try_into().expect("invariant: ranges of counts start at 0")
    }

    pub(super) fn millis(&mut self, name: &str) -> Duration {
        Duration::from_millis(self.whole(name).try_into().expect("invariant: ranges of times start at 0"))
    }

    pub(super) fn minutes(&mut self, name: &str) -> Duration {
        let minutes: u64 = self.whole(name).try_into().expect("invariant: ranges of times start at 0");
        Duration::from_secs(minutes * 60)
    }

    /// Where -1 means never.
    pub(super) fn optional_millis(&mut self, name: &str) -> Option<Duration> {
        self.whole(name).try_into().ok().map(Duration::from_millis)
    }

    pub(super) fn switch(&mut self, name: &str) -> bool {
        self.read(name, |text| text.parse().map_err(|_| "it is neither true nor false".into()))
    }

    pub(super) fn shards(&mut self, name: &str) -> usize {
        self.read(name, |text| match text {
            "auto" => Ok(std::thread::available_parallelism().map_or(1, usize::from).min(MAX_SHARDS)),
            text => match text.parse() {
                Ok(count @ 1..=MAX_SHARDS) => Ok(count),
                _ => Err("it is out of range".into()),
            },
        })
    }

    /// An address that others connect to; empty means not set.
    pub(super) fn reachable(&mut self, name: &str) -> Option<HostPort> {
        self.read(name, |text| {
            if text.is_empty() {
                return Ok(None);
            }
            let address: HostPort = text.parse()?;
            match (address.host.parse::<IpAddr>(), address.port) {
                (Ok(host), _) if host.is_unspecified() => {
                    Err(format!("{host} is where to listen, and nobody can connect to it"))
                }
                (_, 0) => Err("nobody can connect to port 0".into()),
                (Ok(_) | Err(_), _) => Ok(Some(address)),
            }
        })
    }

    pub(super) fn log_filter(&mut self, name: &str) -> String {
        self.read(name, |text| {
            // A bare word would name a target, of which everything were logged and nothing else: a level, misspelt.
            let is_level = |word: &str| LEVELS.iter().any(|level| level.eq_ignore_ascii_case(word));
            let bare =
                text.split(',').map(str::trim).find(|part| !part.contains(['=', '[']) && !is_level(part));
            if let Some(bare) = bare {
                return Err(format!("{bare:?} is no level"));
            }
            let parsed = tracing_subscriber::EnvFilter::builder().parse(text);
            parsed.map(|_| text.to_owned()).map_err(|error| error.to_string())
        })
    }

    pub(super) fn topics(&mut self, name: &str) -> Vec<TopicSetting> {
        self.read(name, |text| {
            let mut topics: Vec<TopicSetting> = Vec::new();
            // A variable that is empty, a list without items.
            let parts = text.split(',').map(str::trim).filter(|_| !text.trim().is_empty());
            for part in parts {
                if part.is_empty() {
                    return Err("one of them is empty".into());
                }
                let topic: TopicSetting = part.parse()?;
                match topics.iter().find(|known| known.name == topic.name) {
                    Some(known) if known.partitions != topic.partitions => {
                        return Err(format!("it has both {known} and {topic}"));
                    }
                    Some(_) => {}
                    None if topics.len() == MAX_TOPICS => {
                        return Err(format!("more than {MAX_TOPICS} topics"));
                    }
                    None => topics.push(topic),
                }
            }
            Ok(topics)
        })
    }

    /// Notes a problem if the number `low` is above the number `high`.
    pub(super) fn not_above(&mut self, low: &str, high: &str) {
        let (low, high) = (table::known(low), table::known(high));
        let ((low_text, low_source), (high_text, high_source)) = (self.raw.get(low), self.raw.get(high));
        let (Ok(least), Ok(most)) = (low_text.parse::<i64>(), high_text.parse::<i64>()) else { return };
        if least > most {
            self.problems.push(format!(
                "{} = {least} ({low_source}) must not be above {} = {most} ({high_source})",
                low.name, high.name
            ));
        }
    }

    /// Notes a problem if nobody could ever move the clock.
    pub(super) fn moved_over_http(&mut self, settings: &Settings) {
        if settings.simulated_clock && settings.http.is_none() {
            let [(_, clock), (_, http)] =
                ["simulated.clock", "http"].map(|name| self.raw.get(table::known(name)));
            self.problems.push(format!(
                "simulated.clock = true ({clock}) needs http, which is off ({http}): commands that move the clock come \
                 there"
            ));
        }
    }

    fn whole(&mut self, name: &str) -> i64 {
        let Allowed::Whole(range) = &table::known(name).allowed else {
            unreachable!("numbers are read where the table says so: {name}")
        };
        self.read(name, |text| match text.trim().parse::<i64>() {
            Ok(number) if range.contains(&number) => Ok(number),
            Ok(_) => Err("it is out of range".into()),
            Err(_) => Err("it is not a whole number".into()),
        })
    }

    fn read<T>(&mut self, name: &str, parse: impl Fn(&str) -> Result<T, String>) -> T {
        let setting = table::known(name);
        let (text, source) = self.raw.get(setting);
        let is_forgotten = text.is_empty() && setting.flag.is_some_and(|flag| source == Source::Flag(flag));
        // As where a script's variable is not set: to go on as if nothing had been typed would hide it.
        let parsed = if is_forgotten { Err("it is empty".into()) } else { parse(text) };
        match parsed {
            Ok(value) => value,
            Err(why) => {
                let allowed = setting.allowed.describe();
                self.problems.push(format!("{name} = {text:?} (from {source}): {why}; it must be {allowed}"));
                default(setting, parse)
            }
        }
    }
}

fn default<T>(setting: &Setting, parse: impl Fn(&str) -> Result<T, String>) -> T {
    let value = parse(setting.default);
    value.unwrap_or_else(|why| panic!("invariant: the default of {} can be read: {why}", setting.name))
}
