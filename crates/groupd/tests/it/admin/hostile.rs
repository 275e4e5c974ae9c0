//! What stands at the address is nobody, silent, or no Kafka server; and what is typed is wrong.

use std::io::{Read, Write};
use std::net::TcpListener;

use super::groupd;

/// Something that reads a little, says `answer` and closes.
fn stranger(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("is bound").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut request = [0; 256];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(answer);
        }
    });
    address
}

#[test]
fn nobody_there_is_said_at_once() {
    let address = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().to_string()
    };
    let run = groupd(&address, "groups list").expect(3);
    assert!(run.err.contains(&address) && run.err.contains("--server"), "{run:?}");
    assert_eq!(run.out, "");
}

#[test]
fn strangers_are_told_from_kafka() {
    for answer in [
        &b""[..],
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        // A TLS alert.
        &[0x15, 3, 3, 0, 2, 2, 0x32],
        // Lengths: huge, negative, none.
        &[0x7f, 0xff, 0xff, 0xff, 0, 0],
        &[0xff, 0xff, 0xff, 0xff],
        &[0, 0, 0, 0],
        // The answer to another question.
        &[0, 0, 0, 10, 0, 0, 0, 99, 0, 0, 0, 0, 0, 0],
        // A count that cannot be.
        &[0, 0, 0, 10, 0, 0, 0, 1, 0, 0, 0x7f, 0xff, 0xff, 0xff],
    ] {
        let run = groupd(&stranger(answer), "groups list").expect(3);
        assert!(run.err.contains("is it a Kafka server, without TLS?"), "{answer:?}: {run:?}");
    }
}

#[test]
fn silence_ends() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let run = groupd(&address, "groups list --timeout 1").expect(3);
    assert!(run.err.contains("did not answer within 1 s"), "{run:?}");
}

#[test]
fn the_next_server_is_tried() {
    let (first, second) = (stranger(b""), stranger(b"HTTP/1.1"));
    let run = groupd(&format!("{first},{second}"), "groups list").expect(3);
    assert!(run.err.contains(&second), "{run:?}");
}

#[test]
fn wrong_usage_is_exit_code_2() {
    for typed in [
        "groups",
        "groups describe",
        "groups evict g",
        "groups evict g m --all",
        "offsets set g",
        "offsets set g t:1",
        "offsets set g t:1=-1",
        "offsets set g t:1=1 t:1=2",
        "offsets delete g",
        "offsets import /nowhere/offsets.jsonl",
        "topics create t",
        "topics create t:0",
        "groups list --server nowhere",
        "groups list --timeout 0",
    ] {
        groupd("127.0.0.1:1", typed).expect(2);
    }
}
