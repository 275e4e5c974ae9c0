//! Commands to a server for tests: one short HTTP request each, to the address of its `--http`.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use clap::Args;
use serde_json::Value;

use super::Target;
use super::error::AdminError;
use crate::settings::{HostPort, HttpListen};

/// The largest answer that is read, bytes.
const MAX_ANSWER: u64 = 8 << 20;

/// Where commands go.
#[derive(Debug, Clone, Args)]
pub(super) struct ControlTarget {
    #[command(flatten)]
    pub(super) target: Target,
    /// The server's --http address [default: on the host of --server, a thousand ports above]
    #[arg(id = "commands", long = "http", global = true, value_name = "HOST:PORT")]
    http: Option<HostPort>,
}

/// A server for tests.
#[derive(Debug)]
pub(super) struct Control {
    http: HostPort,
    patience: Duration,
}

impl ControlTarget {
    pub(super) fn control(&self) -> Control {
        let first = self.target.server.first();
        let beside =
            |kafka: &HostPort| HostPort { host: kafka.host.clone(), port: HttpListen::auto_port(kafka.port) };
        let default = || HostPort { host: "127.0.0.1".into(), port: HttpListen::auto_port(9092) };
        let http = self.http.clone().or_else(|| first.map(beside)).unwrap_or_else(default);
        Control { http, patience: Duration::from_secs(self.target.timeout.into()) }
    }
}

impl Control {
    /// Asks `method` of `path` with `parameters`; the JSON that the server answers.
    pub(super) fn ask(
        &self,
        method: &str,
        path: &str,
        parameters: &[(&str, &str)],
    ) -> Result<Value, AdminError> {
        let target = target(path, parameters);
        let answer = self.exchange(method, &target).map_err(|cause| match cause.kind() {
            std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => {
                AdminError::TimedOut { server: self.http.clone(), patience: self.patience }
            }
            _ => AdminError::NoCommands { http: self.http.clone(), cause },
        })?;
        let garbled = |why: &str| AdminError::Garbled { server: self.http.clone(), why: why.to_owned() };
        let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(|| garbled("no HTTP"))?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse::<u16>().ok());
        let body: Option<Value> = serde_json::from_str(body).ok();
        match (status, body) {
            (Some(200), Some(body)) => Ok(body),
            (Some(_), Some(body)) if body["error"].is_string() => {
                Err(AdminError::Said(body["error"].as_str().unwrap_or_default().to_owned()))
            }
            (Some(404 | 405), _) => Err(AdminError::NotForTests { http: self.http.clone() }),
            (Some(503), _) => Err(AdminError::Said(format!("{} is still starting", self.http))),
            _ => Err(garbled("not what a groupd says")),
        }
    }

    fn exchange(&self, method: &str, target: &str) -> std::io::Result<String> {
        let mut stream = connect(&self.http, self.patience)?;
        stream.set_read_timeout(Some(self.patience))?;
        stream.set_write_timeout(Some(self.patience))?;
        write!(stream, "{method} {target} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.http)?;
        let mut answer = Vec::new();
        stream.take(MAX_ANSWER).read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }
}

fn connect(server: &HostPort, patience: Duration) -> std::io::Result<TcpStream> {
    let mut failed = std::io::Error::new(std::io::ErrorKind::NotFound, "the name has no address");
    for address in server.pair().to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, patience) {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

fn target(path: &str, parameters: &[(&str, &str)]) -> String {
    let pairs: Vec<_> =
        parameters.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
    if pairs.is_empty() { path.to_owned() } else { format!("{path}?{}", pairs.join("&")) }
}

/// Percent-encoded, but for what every URL may have.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let digits =
                [byte >> 4, byte & 15].map(|digit| char::from(b"0123456789ABCDEF"[usize::from(digit)]));
            encoded.push('%');
            encoded.extend(digits);
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_plain_is_encoded() {
        assert_eq!(target("/clock", &[]), "/clock");
        assert_eq!(target("/x", &[("a", "1h 30m"), ("b", "é&=\n")]), "/x?a=1h%2030m&b=%C3%A9%26%3D%0A");
    }
}
