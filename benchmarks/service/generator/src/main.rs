//! Puts a server under load over connections that stay open, each with one request at a time.
//!
//! generator HOST:PORT TARGET BODIES CONNECTIONS SECONDS FIRST
//!
//! BODIES is a file with a body in each line, taken in turn. The digits of SLOT in a body are
//! replaced by a number, FIRST and up, so that no two requests are the same. What was seen is
//! printed as one JSON object. Linux alone: readiness comes from epoll, which std links anyway.

use std::env;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::process::exit;
use std::time::{Duration, Instant};

const SLOT: &[u8] = b"cand-000000000000";
const DIGITS: usize = 12;
const EPOLLIN: u32 = 1;
const EPOLL_CTL_ADD: i32 = 1;
const MAX_EVENTS: usize = 256;
/// After the time is over, the last replies are waited for this long.
const GRACE: Duration = Duration::from_secs(20);

#[cfg_attr(target_arch = "x86_64", repr(C, packed))]
#[cfg_attr(not(target_arch = "x86_64"), repr(C))]
#[derive(Clone, Copy)]
struct Event {
    events: u32,
    data: u64,
}

extern "C" {
    fn epoll_create1(flags: i32) -> i32;
    fn epoll_ctl(epoll: i32, operation: i32, descriptor: i32, event: *mut Event) -> i32;
    fn epoll_wait(epoll: i32, events: *mut Event, room: i32, milliseconds: i32) -> i32;
}

/// A whole request, head and body, and where its number stands.
struct Template {
    bytes: Vec<u8>,
    number_at: usize,
}

struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
    sent_at: Instant,
    waiting: bool,
}

#[derive(Default)]
struct Seen {
    nanoseconds: Vec<u64>,
    errors: u64,
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [address, target, bodies, connections, seconds, first] = arguments.as_slice() else {
        eprintln!("usage: generator HOST:PORT TARGET BODIES CONNECTIONS SECONDS FIRST");
        exit(2);
    };
    let mut templates = templates(address, target, bodies);
    let mut connections = connect(address, connections.parse().expect("a number of connections"));
    let seconds = seconds.parse().expect("a number of seconds");
    let mut number: u64 = first.parse().expect("a number");
    let (seen, took) = run(&mut connections, &mut templates, seconds, &mut number);
    report(seen, took, number);
}

fn templates(address: &str, target: &str, bodies: &str) -> Vec<Template> {
    let text = fs::read(bodies).expect("a file of bodies");
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|body| template(address, target, body)).collect()
}

fn template(address: &str, target: &str, body: &[u8]) -> Template {
    let mut bytes = format!(
        "POST {target} HTTP/1.1\r\nHost: {address}\r\nAccept: */*\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    let slot = find(&bytes, SLOT).expect("a body with a slot for the number");
    Template { bytes, number_at: slot + SLOT.len() - DIGITS }
}

fn connect(address: &str, count: usize) -> Vec<Connection> {
    let connected = (0..count).map(|_| {
        let stream = TcpStream::connect(address).expect("a server that listens");
        stream.set_nodelay(true).expect("a TCP socket");
        stream.set_nonblocking(true).expect("a TCP socket");
        Connection { stream, received: Vec::new(), sent_at: Instant::now(), waiting: false }
    });
    connected.collect()
}

fn run(
    connections: &mut [Connection],
    templates: &mut [Template],
    seconds: f64,
    number: &mut u64,
) -> (Seen, f64) {
    let epoll = register(connections);
    let mut seen = Seen::default();
    let begin = Instant::now();
    let end = begin + Duration::from_secs_f64(seconds);
    for connection in connections.iter_mut() {
        ask(connection, templates, number);
    }
    let mut waiting = connections.iter().filter(|connection| connection.waiting).count();
    seen.errors += (connections.len() - waiting) as u64;
    let mut events = [Event { events: 0, data: 0 }; MAX_EVENTS];
    while waiting > 0 && Instant::now() < end + GRACE {
        let ready = unsafe { epoll_wait(epoll, events.as_mut_ptr(), MAX_EVENTS as i32, 100) };
        for event in events.iter().take(ready.max(0) as usize) {
            let connection = &mut connections[event.data as usize];
            match answered(connection) {
                None => continue,
                Some(true) => seen.nanoseconds.push(connection.sent_at.elapsed().as_nanos() as u64),
                Some(false) => seen.errors += 1,
            }
            if connection.waiting && Instant::now() < end {
                ask(connection, templates, number);
            } else {
                connection.waiting = false;
            }
            waiting -= usize::from(!connection.waiting);
        }
    }
    seen.errors += waiting as u64;
    (seen, begin.elapsed().as_secs_f64())
}

fn register(connections: &[Connection]) -> i32 {
    let epoll = unsafe { epoll_create1(0) };
    for (index, connection) in connections.iter().enumerate() {
        let mut event = Event { events: EPOLLIN, data: index as u64 };
        let descriptor = connection.stream.as_raw_fd();
        let done = unsafe { epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &mut event) };
        assert_eq!(done, 0, "a socket that epoll takes");
    }
    epoll
}

/// Sends the next request; the connection is given up where it is not taken.
fn ask(connection: &mut Connection, templates: &mut [Template], number: &mut u64) {
    let turn = (*number % templates.len() as u64) as usize;
    let template = &mut templates[turn];
    let mut rest = *number;
    for digit in template.bytes[template.number_at..][..DIGITS].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    *number += 1;
    connection.received.clear();
    connection.sent_at = Instant::now();
    // A request is smaller than the buffer of a socket that has nothing to send.
    connection.waiting = matches!(connection.stream.write(&template.bytes),
                                  Ok(size) if size == template.bytes.len());
}

/// Whether a whole reply is there, and is what was wanted; a connection that ended waits no more.
fn answered(connection: &mut Connection) -> Option<bool> {
    let mut buffer = [0u8; 16384];
    match connection.stream.read(&mut buffer) {
        Ok(size) if size > 0 => connection.received.extend_from_slice(&buffer[..size]),
        Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
        _ => {
            connection.waiting = false;
            return Some(false);
        }
    }
    let reply = &connection.received;
    let head = find(reply, b"\r\n\r\n")? + 4;
    if reply.len() < head + length(&reply[..head]) {
        return None;
    }
    let passed = find(&reply[head..], b"\"passed\":true").is_some();
    Some(reply.starts_with(b"HTTP/1.1 200 ") && passed)
}

fn length(head: &[u8]) -> usize {
    let lower = head.to_ascii_lowercase();
    let Some(found) = find(&lower, b"content-length: ") else {
        return 0;
    };
    let digits = lower[found + 16..].iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |size, byte| size * 10 + usize::from(byte - b'0'))
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

fn report(mut seen: Seen, took: f64, next: u64) {
    seen.nanoseconds.sort_unstable();
    let at = |share: f64| {
        let index = (seen.nanoseconds.len() as f64 * share) as usize;
        seen.nanoseconds.get(index).map_or(0.0, |found| *found as f64 * 1e-9)
    };
    println!(
        "{{\"requests\":{},\"errors\":{},\"seconds\":{took},\"p50_s\":{},\"p99_s\":{},\"next\":{next}}}",
        seen.nanoseconds.len(),
        seen.errors,
        at(0.5),
        at(0.99),
    );
}
