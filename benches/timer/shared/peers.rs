//! Structures of other crates that several threads may use at once.

use std::future::Future as _;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use crossbeam_skiplist::SkipSet;
use tokio::runtime::Runtime;
use tokio::time::{Instant, Sleep};

use super::structures::SharedTimers;

/// crossbeam-skiplist: a sorted set of deadlines and values.
pub(crate) struct SharedSkipList(SkipSet<(u64, u32)>);

impl SharedTimers for SharedSkipList {
    const NAME: &'static str = "crossbeam-skiplist";
    const CRATE: &'static str = "crossbeam-skiplist";
    const ABOUT: &'static str =
        "a sorted set of deadline and value without locks; re-arming is a removal and an insertion";
    type Id = (u64, u32);

    fn new(_count: u32) -> Self {
        Self(SkipSet::new())
    }

    fn insert(&self, deadline: u64, value: u32) -> Self::Id {
        self.0.insert((deadline, value));
        (deadline, value)
    }

    fn remove(&self, id: Self::Id) {
        self.0.remove(&id);
    }

    fn rearm(&self, id: &mut Self::Id, deadline: u64, value: u32) {
        self.0.remove(id);
        *id = self.insert(deadline, value);
    }

    fn expire(&self, now: u64, due: &mut Vec<u32>) {
        while let Some(first) = self.0.front()
            && first.value().0 <= now
        {
            if first.remove() {
                due.push(first.value().1);
            }
        }
    }
}

/// What a waker tells.
#[derive(Default)]
struct Woken {
    count: AtomicU32,
    values: Mutex<Vec<u32>>,
}

struct Waking {
    value: u32,
    woken: Arc<Woken>,
}

impl Wake for Waking {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.values.lock().unwrap_or_else(PoisonError::into_inner).push(self.value);
        self.woken.count.fetch_add(1, Ordering::Release);
    }
}

/// tokio's sleeps in a runtime of several threads, on the real clock: there is no other for it.
pub(crate) struct SharedSleeps {
    runtime: Runtime,
    start: Instant,
    woken: Arc<Woken>,
    wakers: Vec<Waker>,
}

impl SharedTimers for SharedSleeps {
    const NAME: &'static str = "tokio sleeps";
    const CRATE: &'static str = "tokio";
    const ABOUT: &'static str = "a runtime of several threads, one worker, on the real clock; what expires is collected by \
         wakers made beforehand";
    const MOVES_CLOCK: bool = false;
    type Id = Pin<Box<Sleep>>;

    fn new(count: u32) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build();
        let runtime = runtime.expect("a runtime");
        let woken = Arc::new(Woken::default());
        let waker = |value| Arc::new(Waking { value, woken: Arc::clone(&woken) }).into();
        let wakers = (0..count).map(waker).collect();
        Self { runtime, start: Instant::now(), woken, wakers }
    }

    fn insert(&self, deadline: u64, value: u32) -> Self::Id {
        let mut sleep = Box::pin(tokio::time::sleep_until(self.start + Duration::from_millis(deadline)));
        let polled = sleep.as_mut().poll(&mut Context::from_waker(&self.wakers[value as usize]));
        assert!(polled.is_pending(), "a deadline ahead");
        sleep
    }

    fn remove(&self, id: Self::Id) {
        drop(id);
    }

    fn rearm(&self, id: &mut Self::Id, deadline: u64, _value: u32) {
        id.as_mut().reset(self.start + Duration::from_millis(deadline));
    }

    fn expire(&self, now: u64, due: &mut Vec<u32>) {
        let all = u32::try_from(self.wakers.len()).expect("a count") - 1;
        self.wait_until(now);
        while self.woken.count.load(Ordering::Acquire) < all {
            pause(Duration::from_micros(50));
        }
        due.append(&mut self.woken.values.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn inside<R>(&self, work: impl FnOnce() -> R) -> R {
        let _inside = self.runtime.enter();
        work()
    }

    fn wait_until(&self, now: u64) -> bool {
        let left = (self.start + Duration::from_millis(now)).checked_duration_since(Instant::now());
        pause(left.unwrap_or_default());
        left.is_some()
    }

    fn deadline(&self, id: &Self::Id) -> u64 {
        u64::try_from((id.deadline() - self.start).as_millis()).expect("an hour and a minute")
    }
}

#[expect(clippy::disallowed_methods, reason = "this runtime has no clock but the real one")]
fn pause(duration: Duration) {
    thread::sleep(duration);
}
