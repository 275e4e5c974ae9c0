//! Commands that cannot be, servers that take none, and who is told that this one is for tests.

use groupd::settings::{HostPort, Settings};

use super::{ask, call, now_ms, run, standing, start, start_standing};
use crate::admin::groupd;
use crate::serve::groups::stable;
use crate::serve::settings;

#[test]
fn jumps_that_cannot_be_are_refused_and_move_nothing() {
    let server = start_standing();
    let at = now_ms(&server);
    for (typed, why) in [
        ("-45s", "time does not go back"),
        ("soon", "is no time"),
        ("45", "is no time"),
        ("1us", "not a whole number of milliseconds"),
        ("99999999999999999999s", "is no time"),
        ("18446744073709551615ms", "is no time"),
    ] {
        let told = run(&server, &format!("clock advance {typed}")).expect(2);
        assert!(told.err.contains(why), "{typed}: {told:?}");
        let (status, told) = call(&server, "POST", &format!("/clock/advance?by={typed}"));
        assert_eq!(status, 400, "{told}");
        assert!(told["error"].as_str().unwrap().contains(why), "{told}");
    }
    let told = run(&server, "clock advance 9000y").expect(1);
    assert!(told.err.contains("beyond the year 9999"), "{told:?}");
    assert_eq!(now_ms(&server), at);
}

#[test]
fn requests_that_cannot_be_are_refused_and_move_nothing() {
    let server = start_standing();
    let at = now_ms(&server);
    for (method, target, status) in [
        ("GET", "/clock/advance?by=45s", 405),
        ("DELETE", "/clock", 405),
        ("POST", "/clock/advance", 400),
        ("POST", "/clock/advance?by=1s&by=2s", 400),
        ("POST", "/clock/advance?by=1s&faster=yes", 400),
        ("POST", "/clock/advance?by=%zz", 400),
        ("GET", "/clock?x", 400),
        ("POST", "/clock/back", 405),
        ("GET", "/clock/back", 404),
    ] {
        assert_eq!(call(&server, method, target).0, status, "{method} {target}");
    }
    let page = "POST /clock/advance?by=45s HTTP/1.1\r\nHost: x\r\noRiGin: http://evil.example\r\n\r\n";
    assert_eq!(ask(&server, page).0, 403);
    let long = format!("POST /clock/advance?by={} HTTP/1.1\r\n\r\n", "9".repeat(9_000));
    assert_eq!(ask(&server, &long).0, 431);
    assert_eq!(now_ms(&server), at);
}

#[test]
fn an_ordinary_server_takes_no_commands() {
    let http = Some(HostPort { host: "127.0.0.1".into(), port: 0 });
    let server = start(&Settings { http, ..settings() });
    for typed in
        ["clock now", "clock advance 45s", "clock run", "fault list", "fault fail Heartbeat NOT_COORDINATOR"]
    {
        let told = run(&server, typed).expect(1);
        assert!(told.err.contains("is not for tests"), "{told:?}");
    }
    assert_eq!((call(&server, "GET", "/clock").0, call(&server, "GET", "/faults").0), (404, 404));
    assert_eq!(server.simulated_clock(), None);
    let (_, metrics) = ask(&server, "GET /metrics HTTP/1.1\r\n\r\n");
    assert!(!metrics.contains("groupd_simulated_clock"));
    let member = stable(&server);
    let described = groupd(&server.address().to_string(), "groups describe orders-app").expect(0).out;
    assert!(!described.contains("CLOCK"), "{described}");
    drop(member);
    // Nobody listens there.
    let nowhere = groupd("127.0.0.1:1", "clock now --http 127.0.0.1:1").expect(3);
    assert!(nowhere.err.contains("--simulated-clock"), "{nowhere:?}");
}

#[test]
fn everybody_is_told_that_the_clock_is_simulated() {
    let server = start(&standing());
    let _member = stable(&server);
    let now = run(&server, "clock now").expect(0).out;
    assert_eq!(Some(now.trim()), server.simulated_clock().as_deref());
    let address = server.address().to_string();
    let described = groupd(&address, "groups describe orders-app").expect(0).out;
    assert!(described.contains(&format!("CLOCK: simulated, for tests; it stands at {now}")), "{described}");
    let json = groupd(&address, "groups describe orders-app --json").expect(0).json();
    assert_eq!(json["simulated_clock"], now.trim());
    let (_, metrics) = ask(&server, "GET /metrics HTTP/1.1\r\n\r\n");
    assert!(metrics.contains("\ngroupd_simulated_clock 1\n"), "{metrics}");
    let seconds = format!("\ngroupd_simulated_clock_timestamp_seconds {}\n", now_ms(&server) / 1_000);
    assert!(metrics.contains(&seconds), "{metrics}");
}

#[test]
fn what_is_typed_wrong_is_told_with_how_it_is_typed() {
    for (typed, shown) in [
        ("clock", "advance"),
        ("clock advance", "<TIME>"),
        ("clock advance 1s --silent x --silent-all", "cannot be used with"),
        ("clock run --for soon", "is no time"),
        ("fault", "lose-answer"),
        ("fault fail Heartbeat", "<ERROR>"),
        ("fault clear", "<NUMBER>"),
        ("fault clear x", "invalid value"),
        ("fault move", "<GROUP>"),
    ] {
        let told = groupd("127.0.0.1:1", typed).expect(2);
        assert!(told.err.contains(shown), "{typed}: {told:?}");
    }
    for (typed, shown) in [
        ("clock --help", "--simulated-clock"),
        ("clock advance --help", "--silent-all"),
        ("fault --help", "store-slow"),
        ("fault delay --help", "--client-id"),
        ("--help", "--simulated-clock"),
    ] {
        let told = groupd("127.0.0.1:1", typed).expect(0);
        assert!(told.out.contains(shown), "{typed}: {told:?}");
    }
    let refused = groupd("127.0.0.1:1", "serve --simulated-clock --http off").expect(2);
    assert!(refused.err.contains("needs http"), "{refused:?}");
}
