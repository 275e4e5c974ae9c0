//! Whether a structure is right, before it is timed: random steps beside a sorted set.

use std::collections::BTreeSet;

use benches::measure::Numbers;

use crate::timers::Timers;

const COUNT: u32 = 200;
const STEPS: u32 = 20_000;

/// What is asked of a structure.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Question {
    /// What expires at each step is what a sorted set says, in any order.
    Expiry,
    /// The next deadline it announces is never later than the true one.
    Next,
}

/// Inserts, removals, re-arms to earlier and to later, steps and jumps of time.
///
/// # Errors
///
/// What went wrong first.
pub(crate) fn check<T: Timers>(question: Question) -> Result<(), String> {
    match std::panic::catch_unwind(|| try_out::<T>(question)) {
        Ok(result) => result,
        Err(panic) => {
            let said = panic.downcast_ref::<String>().map(String::as_str);
            let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(format!("it panics: {}", said.unwrap_or("it does not say why")))
        }
    }
}

fn try_out<T: Timers>(question: Question) -> Result<(), String> {
    let mut trial = Trial::<T>::new();
    for step in 0..STEPS {
        match trial.numbers.below(8) {
            // Everything may come due, now and then; seldom, for the sake of those who go tick by tick.
            _ if step % 5_000 == 4_999 => trial.pass_below(T::REACH.min(90_000_000)),
            0..=4 => trial.touch(),
            5 | 6 => trial.pass_below(20),
            _ => trial.pass_below(5_000),
        }
        trial.compare(question)?;
    }
    trial.pass(T::REACH.min(90_000_000));
    trial.compare(question)?;
    if trial.expected.is_empty() { Ok(()) } else { Err("some never expired".to_owned()) }
}

struct Trial<T: Timers> {
    timers: T,
    numbers: Numbers,
    ids: Vec<Option<(u64, T::Id)>>,
    expected: BTreeSet<(u64, u32)>,
    now: u64,
    due: Vec<u32>,
}

impl<T: Timers> Trial<T> {
    fn new() -> Self {
        let ids = std::iter::repeat_with(|| None).take(COUNT as usize).collect();
        let (numbers, expected) = (Numbers::new(7), BTreeSet::new());
        Self { timers: T::new(COUNT), numbers, ids, expected, now: 0, due: Vec::new() }
    }

    /// Most are near, some are at the far end of what workloads ask for.
    fn deadline(&mut self) -> u64 {
        let longest = match self.numbers.below(10) {
            0..=3 => 100,
            4..=7 => 60_000,
            _ => T::REACH.min(86_400_000),
        };
        self.now + 1 + self.numbers.below(longest)
    }

    fn touch(&mut self) {
        let value = u32::try_from(self.numbers.below(COUNT.into())).expect("an index");
        let deadline = self.deadline();
        let slot = &mut self.ids[value as usize];
        match slot.take() {
            None => {
                *slot = Some((deadline, self.timers.insert(deadline, value)));
                self.expected.insert((deadline, value));
            }
            Some((before, id)) if self.numbers.below(3) == 0 => {
                self.timers.remove(id);
                self.expected.remove(&(before, value));
            }
            Some((before, mut id)) => {
                self.timers.rearm(&mut id, deadline, value);
                *slot = Some((deadline, id));
                self.expected.remove(&(before, value));
                self.expected.insert((deadline, value));
            }
        }
    }

    fn pass_below(&mut self, bound: u64) {
        let ticks = 1 + self.numbers.below(bound);
        self.pass(ticks);
    }

    fn pass(&mut self, ticks: u64) {
        self.now += ticks;
        self.timers.expire(self.now, &mut self.due);
    }

    fn compare(&mut self, question: Question) -> Result<(), String> {
        let mut expected = Vec::new();
        while let Some(&(deadline, value)) = self.expected.first()
            && deadline <= self.now
        {
            self.expected.pop_first();
            expected.push(value);
        }
        expected.sort_unstable();
        self.due.sort_unstable();
        if self.due != expected {
            let (missing, extra) = (difference(&expected, &self.due), difference(&self.due, &expected));
            return Err(format!("at {} it left out {missing:?} and expired {extra:?} untimely", self.now));
        }
        for value in self.due.drain(..) {
            if let Some((_, id)) = self.ids[value as usize].take() {
                self.timers.expired(id);
            }
        }
        if question == Question::Expiry {
            return Ok(());
        }
        let (said, due) = (self.timers.next_deadline(), self.expected.first().map(|first| first.0));
        match (said, due) {
            (None, Some(due)) => Err(format!("at {} it says that nothing waits, but {due} does", self.now)),
            (Some(said), Some(due)) if said > due => {
                Err(format!("at {} it says that the next is {said}, but it is {due}", self.now))
            }
            _ => Ok(()),
        }
    }
}

fn difference(some: &[u32], others: &[u32]) -> Vec<u32> {
    some.iter().filter(|value| !others.contains(value)).copied().collect()
}
