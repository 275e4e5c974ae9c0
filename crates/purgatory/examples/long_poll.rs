//! A long-poll HTTP server: a request for what is not there yet is parked, with its socket and without a thread.
//!
//! ```text
//! cargo run -p purgatory --example long_poll            # shows itself: two clients wait, one is served, one times out
//! cargo run -p purgatory --example long_poll -- 8080    # serves until stopped
//! curl -d hello localhost:8080/news                     # append a message to a topic
//! curl 'localhost:8080/news?after=1&wait=30000'         # the message behind the first, or 204 after 30 s
//! ```
#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "a server has sockets and threads")]

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use purgatory::{
    Cause, DelayedOperation, Driver, Exits, Options, Refused, SharedPurgatory, Submission, SystemClock,
};

/// A body longer than this is refused.
const MAX_BODY: usize = 1 << 20;

type Topics = Arc<Mutex<HashMap<String, Vec<String>>>>;

/// A client that waits for message number `after` (from 0) of a topic. It owns the socket: whoever gets the operation
/// when it leaves answers, and nobody else can.
struct Poll {
    topics: Topics,
    topic: String,
    after: usize,
    socket: TcpStream,
}

impl Poll {
    fn message(&self) -> Option<String> {
        let topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        topics.get(&self.topic)?.get(self.after).cloned()
    }

    fn answer(mut self) -> io::Result<()> {
        match self.message() {
            Some(message) => respond(&mut self.socket, "200 OK", &message),
            None => respond(&mut self.socket, "204 No Content", ""),
        }
    }
}

impl DelayedOperation for Poll {
    fn is_ready(&mut self) -> bool {
        self.message().is_some()
    }
}

struct Server {
    topics: Topics,
    waiting: SharedPurgatory<String, Poll>,
    clock: SystemClock,
}

impl Server {
    /// Reads one request and answers it, or parks it.
    fn serve(&self, mut socket: TcpStream) -> io::Result<()> {
        let (method, target, body) = read_request(&socket)?;
        let (topic, query) = target.split_once('?').unwrap_or((&target, ""));
        let topic = topic.trim_start_matches('/').to_owned();
        let number = |name: &str| {
            let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs
                .filter(|(key, _)| *key == name)
                .find_map(|(_, value)| value.parse::<u32>().ok())
                .unwrap_or(0)
        };
        match method.as_str() {
            "POST" => {
                self.publish(&topic, body);
                respond(&mut socket, "200 OK", "")
            }
            "GET" => {
                let after = number("after") as usize;
                let deadline = self.clock.deadline_after(Duration::from_millis(number("wait").into()));
                let poll = Poll { topics: Arc::clone(&self.topics), topic: topic.clone(), after, socket };
                match self.waiting.try_complete_else_watch(poll, [topic], deadline) {
                    Ok(Submission::Completed(poll)) => poll.answer(),
                    Ok(Submission::Watched(_)) => Ok(()),
                    Err(Refused::Full(mut poll) | Refused::ShutDown(mut poll)) => {
                        respond(&mut poll.socket, "503 Service Unavailable", "")
                    }
                }
            }
            _ => respond(&mut socket, "405 Method Not Allowed", ""),
        }
    }

    /// First the event, then the trigger: who registers in between finds the event by itself.
    fn publish(&self, topic: &str, message: String) {
        let mut topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        topics.entry(topic.to_owned()).or_default().push(message);
        drop(topics);
        self.waiting.complete(topic);
    }
}

fn read_request(socket: &TcpStream) -> io::Result<(String, String, String)> {
    let mut reader = BufReader::new(socket.take(MAX_BODY as u64));
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut length = 0;
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header)? == 0 || header.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = String::new();
    reader.take(length).read_to_string(&mut body)?;
    Ok((method, target, body))
}

fn respond(socket: &mut TcpStream, status: &str, body: &str) -> io::Result<()> {
    let length = body.len();
    write!(socket, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

/// Answers whoever leaves: with a message, or with none because time ran out.
fn answer_all(exits: Exits<Poll>) {
    for exit in exits {
        let (topic, cause) = (exit.operation.topic.clone(), exit.cause);
        if exit.operation.answer().is_ok() && cause == Cause::Expired {
            println!("a client of {topic} waited in vain");
        }
    }
}

fn main() -> io::Result<()> {
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok());
    let listener = TcpListener::bind(("127.0.0.1", port.unwrap_or(0)))?;
    let address = listener.local_addr()?;
    let clock = SystemClock::new();
    let driver = Driver::spawn(clock);
    let options = Options { name: "long-poll".to_owned(), max_pending: 10_000, ..Options::default() };
    let (waiting, exits) = SharedPurgatory::with_channel(&driver, &options);
    thread::spawn(move || answer_all(exits));
    let server = Arc::new(Server { topics: Topics::default(), waiting, clock });
    println!("listening on http://{address}");
    let serving = Arc::clone(&server);
    let accepting = thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let server = Arc::clone(&serving);
            // A slow sender costs its own thread; a parked client costs none.
            thread::spawn(move || server.serve(socket));
        }
    });
    if port.is_some() {
        accepting.join().expect("the accepting thread does not panic");
        return Ok(());
    }

    // Shows itself: two clients wait for different topics, and only one of them has news.
    let ask = |target: &'static str| {
        thread::spawn(move || request(address, &format!("GET {target} HTTP/1.1\r\n\r\n")))
    };
    let (lucky, in_vain) = (ask("/news?wait=30000"), ask("/gossip?wait=200"));
    while server.waiting.pending() < 2 {
        thread::yield_now();
    }
    println!("{} clients wait, without a thread each", server.waiting.pending());
    request(address, "POST /news HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello")?;
    for (name, client, status, news) in
        [("news", lucky, "200 OK", "hello"), ("gossip", in_vain, "204 No Content", "")]
    {
        let answer = client.join().expect("a client does not panic")?;
        let (head, body) = answer.split_once("\r\n\r\n").expect("an answer has a head");
        println!("{name}: {status}, {body:?}");
        assert_eq!((head.lines().next(), body), (Some(&*format!("HTTP/1.1 {status}")), news));
    }
    assert_eq!(server.waiting.pending(), 0);
    Ok(())
}

fn request(address: std::net::SocketAddr, text: &str) -> io::Result<String> {
    let mut socket = TcpStream::connect(address)?;
    socket.write_all(text.as_bytes())?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer)?;
    Ok(answer)
}
