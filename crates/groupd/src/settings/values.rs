//! The types of settings that are not numbers, and how each reads its text.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// The most partitions one topic may have: one answer about a topic stays well under a megabyte.
pub const MAX_PARTITIONS_PER_TOPIC: i32 = 10_000;

/// The longest topic name, as in Kafka, bytes.
const MAX_TOPIC_NAME: usize = 249;

/// A host, by name or address, and a port. `[::1]:9092` for IPv6.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostPort {
    /// A name, an IPv4 address, or an IPv6 address without brackets. Never empty.
    pub host: String,
    /// The port; 0 where any free port will do.
    pub port: u16,
}

impl HostPort {
    /// `host` and `port` as a pair, as `tokio` and `std` look addresses up.
    pub fn pair(&self) -> (&str, u16) {
        (&self.host, self.port)
    }

    /// Whether only this machine gets there. A name other than `localhost` may lead anywhere.
    pub fn is_loopback(&self) -> bool {
        self.host == "localhost" || self.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl FromStr for HostPort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (host, port) = text.rsplit_once(':').ok_or("it has no port")?;
        let bracketed = host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
        let host = match bracketed {
            Some(inner) => {
                inner.parse::<std::net::Ipv6Addr>().map(|_| inner).map_err(|_| "not an IPv6 address")?
            }
            None if host.contains(':') => return Err("an IPv6 address needs brackets".into()),
            None => host,
        };
        if host.is_empty() || host.chars().any(|c| c.is_whitespace() || c == '/' || c == ',') {
            return Err("it has no host".into());
        }
        let port = port.parse().map_err(|_| format!("{port:?} is not a port (0 to 65535)"))?;
        Ok(Self { host: host.into(), port })
    }
}

/// Where metrics and health are served, before `auto` is resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpListen {
    /// On the loopback address, a thousand ports above the one Kafka clients use (below, near the top).
    Auto,
    /// Nowhere.
    Off,
    /// There.
    At(HostPort),
}

impl HttpListen {
    /// The port that goes with the one Kafka clients use.
    pub(crate) fn auto_port(listen: u16) -> u16 {
        match listen {
            0 => 0,
            port => port.checked_add(1000).unwrap_or_else(|| port - 1000),
        }
    }

    /// The address, given where Kafka clients connect.
    pub(super) fn resolve(self, listen: &HostPort) -> Option<HostPort> {
        match self {
            Self::Off => None,
            Self::At(address) => Some(address),
            Self::Auto => {
                let port = Self::auto_port(listen.port);
                Some(HostPort { host: "127.0.0.1".into(), port })
            }
        }
    }
}

impl FromStr for HttpListen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "off" => Ok(Self::Off),
            text => text.parse().map(Self::At),
        }
    }
}

/// Where group state is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    /// On disk, in the data directory.
    Embedded,
    /// In memory; gone when the process ends.
    Memory,
}

impl FromStr for StoreKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "embedded" => Ok(Self::Embedded),
            "memory" => Ok(Self::Memory),
            text => Err(format!("there is no store called {text:?}")),
        }
    }
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

impl FromStr for LogFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            text => Err(format!("there is no format called {text:?}")),
        }
    }
}

/// A topic that exists from the start: `orders:12`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicSetting {
    /// Its name: 1 to 249 of `a-z A-Z 0-9 . _ -`, not `.` or `..`.
    pub name: String,
    /// How many partitions, 1 to [`MAX_PARTITIONS_PER_TOPIC`].
    pub partitions: i32,
}

impl fmt::Display for TopicSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.partitions)
    }
}

impl FromStr for TopicSetting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, count) = text.rsplit_once(':').ok_or("it has no partition count")?;
        let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if name.is_empty()
            || name.len() > MAX_TOPIC_NAME
            || !name.chars().all(letter)
            || matches!(name, "." | "..")
        {
            return Err(format!("{name:?} is not a topic name (1 to {MAX_TOPIC_NAME} of a-z A-Z 0-9 . _ -)"));
        }
        match count.parse() {
            Ok(partitions @ 1..=MAX_PARTITIONS_PER_TOPIC) => Ok(Self { name: name.into(), partitions }),
            _ => Err(format!("{count:?} is not a partition count (1 to {MAX_PARTITIONS_PER_TOPIC})")),
        }
    }
}
