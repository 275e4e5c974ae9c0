//! A server for tests of applications: its clock moves by command, and by nothing else; faults happen by command.

mod clock;
mod commands;
mod faults;
mod kept;

use std::io::{Read, Write};
use std::net::TcpStream;

use groupd::server::Server;
use groupd::settings::{HostPort, Settings};
use serde_json::Value;

use super::{Client, settings, start};
use crate::admin::{Run, groupd};

/// Settings for a server for tests that takes commands on any port.
fn standing() -> Settings {
    let http = Some(HostPort { host: "127.0.0.1".into(), port: 0 });
    Settings { http, simulated_clock: true, ..settings() }
}

/// A server whose time stands still.
fn start_standing() -> Server {
    start(&standing())
}

/// Runs `groupd TYPED` against `server`.
fn run(server: &Server, typed: &str) -> Run {
    let http = server.http_address().unwrap();
    groupd(&server.address().to_string(), &format!("{typed} --http {http}"))
}

/// Asks `METHOD TARGET` over HTTP: the status and the answer's body.
fn ask(server: &Server, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(server.http_address().unwrap()).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

fn call(server: &Server, method: &str, target: &str) -> (u16, Value) {
    let (status, body) = ask(server, &format!("{method} {target} HTTP/1.1\r\nHost: x\r\n\r\n"));
    (status, serde_json::from_str(&body).unwrap_or(Value::String(body)))
}

/// Moves the clock; what that brought.
#[track_caller]
fn advance(server: &Server, parameters: &str) -> Value {
    let (status, told) = call(server, "POST", &format!("/clock/advance?{parameters}"));
    assert_eq!(status, 200, "{told}");
    assert_eq!(told["left_ms"], 0, "{told}");
    told
}

fn now_ms(server: &Server) -> u64 {
    call(server, "GET", "/clock").1["now_ms"].as_u64().unwrap()
}

/// Asks until these members are the connected ones: how a test knows that a connection has ended.
fn until_connected(server: &Server, members: &[&str]) {
    while call(server, "GET", "/clock").1["members_connected"] != serde_json::json!(members) {}
}
