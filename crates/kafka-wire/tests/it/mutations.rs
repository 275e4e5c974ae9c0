//! Frames that are almost messages: good ones with a few bytes changed, in any number, from seeds.
//!
//! `WIRE_FUZZ_FRAMES` says how many (200,000 by default), `WIRE_FUZZ_SEED` where to start. No frame may
//! panic or take more memory than its bound, and what is read from one is written to a body that is read as
//! the same.

use std::thread;

use crate::catalogue::{Entry, catalogue};
use crate::golden::{corpus, hex};
use crate::memory::{bound, peak_of};
use crate::sample::{Numbers, Style, sample};

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().expect(name))
}

/// Tells which frame it was, if the decoder panics.
struct Witness<'a> {
    name: &'static str,
    version: i16,
    seed: u64,
    frame: &'a [u8],
}

impl Drop for Witness<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{} v{} seed {}: {}", self.name, self.version, self.seed, hex(self.frame));
        }
    }
}

/// Numbers that mean something somewhere.
const TELLING: [u32; 12] =
    [0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe];

fn mutate(numbers: &mut Numbers, frame: &mut Vec<u8>, other: &[u8]) {
    let at = numbers.below(frame.len() + 1);
    let to = (at + numbers.below(9)).min(frame.len());
    let telling = TELLING[numbers.below(TELLING.len())].to_be_bytes();
    match numbers.below(9) {
        0 if at < frame.len() => frame[at] ^= 1 << numbers.below(8),
        1 if at < frame.len() => frame[at] = telling[3],
        2 => drop(frame.splice(at..to, telling)),
        3 => drop(frame.splice(at..to, telling[2..].iter().copied())),
        4 => drop(frame.splice(at..to, [0xff, 0xff, 0xff, 0xff, 0x0f])),
        5 => drop(frame.drain(at..to)),
        6 => frame.truncate(at),
        7 => {
            let again = frame[at..to].repeat(1 + numbers.below(40));
            drop(frame.splice(at..at, again));
        }
        _ => {
            let from = numbers.below(other.len() + 1);
            drop(frame.splice(at.., other[from..].iter().copied()));
        }
    }
}

fn check(entry: &Entry, version: i16, seed: u64, frame: &[u8]) -> bool {
    let _witness = Witness { name: entry.name, version, seed, frame };
    let (result, peak) = peak_of(|| (entry.decode)(version, frame));
    assert!(peak <= bound(frame.len()), "{peak} bytes for a frame of {}", frame.len());
    if result.is_err() {
        return false;
    }
    let written = (entry.rewrite)(version, frame).expect("what was read can be written");
    assert_eq!((entry.rewrite)(version, &written).as_ref(), Ok(&written), "and is then read as the same");
    true
}

#[test]
fn almost_messages_do_no_harm() {
    let frames = setting("WIRE_FUZZ_FRAMES", 200_000);
    let first = setting("WIRE_FUZZ_SEED", 1);
    let entries = catalogue();
    let corpora = entries.iter().map(|entry| corpus(entry.name)).collect::<Vec<_>>();
    let mut accepted = 0_u64;
    for seed in first..first + frames {
        let mut numbers = Numbers(seed);
        // Requests come from anyone, responses from a server of one's own choice.
        let mut at = numbers.below(entries.len());
        if !entries[at].is_request && numbers.below(4) > 0 {
            at = numbers.below(entries.len());
        }
        let (entry, bodies) = (&entries[at], &corpora[at]);
        let (version, body) = &bodies[numbers.below(bodies.len())];
        let mut frame = match numbers.below(2) {
            0 => body.clone(),
            _ => sample(entry, *version, Style::Random, numbers.next()).bytes,
        };
        let other = &bodies[numbers.below(bodies.len())].1;
        for _ in 0..=numbers.below(4) {
            mutate(&mut numbers, &mut frame, other);
        }
        accepted += u64::from(check(entry, *version, seed, &frame));
    }
    println!("{frames} frames from seed {first}: {accepted} were messages");
    assert!(accepted > frames / 50, "the mutations are too wild: {accepted} of {frames} were messages");
}

/// Nothing but noise: mostly refused at once, but of any length.
#[test]
fn noise_does_no_harm() {
    let mut numbers = Numbers(99);
    for entry in catalogue() {
        for version in entry.versions.clone() {
            for seed in 0..40 {
                let mut noise = vec![0; numbers.below(200)];
                let mask = [0x83, 0xff][numbers.below(2)];
                noise.fill_with(|| numbers.next().to_be_bytes()[0] & mask);
                check(&entry, version, seed, &noise);
            }
        }
    }
}
