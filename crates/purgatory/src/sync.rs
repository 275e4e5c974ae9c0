//! The locks and atomics of `shared`, in one place so that a model checker can stand in for them, and the faults that its
//! tests must find.
//!
//! Ordinarily `parking_lot` and the standard library; with `--cfg shuttle` or `--cfg loom` the same shapes over a scheduler
//! that explores interleavings. With `--cfg faults`, which only tests use, a [`Fault`] can be planted.

#[cfg(any(shuttle, loom))]
pub(crate) use explored::{AtomicU64, AtomicUsize, Condvar, Mutex, MutexGuard, Ordering};
#[cfg(not(any(shuttle, loom)))]
pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard};
#[cfg(not(any(shuttle, loom)))]
pub(crate) use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Unlocks. A thread that waits gets the lock before this one can come back for it.
pub(crate) fn hand_over<T>(guard: MutexGuard<'_, T>) {
    #[cfg(not(any(shuttle, loom)))]
    MutexGuard::unlock_fair(guard);
    #[cfg(any(shuttle, loom))]
    drop(guard);
}

#[cfg(faults)]
pub use planting::plant;
#[cfg(faults)]
pub(crate) use planting::planted;

/// A fault that can be put into the library, to show that its tests notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(faults), expect(unreachable_pub, reason = "exported only to tests that plant faults"))]
pub enum Fault {
    /// An operation stays where it is while a thread examines it, so that two can let it go.
    DoubleCompletion,
    /// A trigger that meets an operation in another thread's hands leaves no note.
    LostTrigger,
    /// The driver's lock is taken after the bound was read.
    LostWakeUp,
}

#[cfg(not(faults))]
pub(crate) const fn planted(_: Fault) -> bool {
    false
}

/// Where a planted fault does harm only to who is interrupted there: real threads seldom are.
pub(crate) fn be_interrupted() {
    #[cfg(all(faults, not(any(shuttle, loom))))]
    std::thread::yield_now();
}

#[cfg(all(faults, any(shuttle, loom)))]
mod planting {
    //! Explored threads share the test's own thread, so each test has its own fault.

    use super::Fault;

    std::thread_local! {
        static PLANTED: std::cell::Cell<Option<Fault>> = const { std::cell::Cell::new(None) };
    }

    /// Puts a fault into everything that this test does from now on, or takes it out.
    pub fn plant(fault: Option<Fault>) {
        PLANTED.set(fault);
    }

    pub(crate) fn planted(fault: Fault) -> bool {
        PLANTED.get() == Some(fault)
    }
}

#[cfg(all(faults, not(any(shuttle, loom))))]
mod planting {
    //! Real threads: the whole process has the fault.

    use std::sync::atomic::{AtomicU8, Ordering};

    use super::Fault;

    static PLANTED: AtomicU8 = AtomicU8::new(0);

    /// Puts a fault into the process, or takes it out.
    pub fn plant(fault: Option<Fault>) {
        PLANTED.store(fault.map_or(0, number), Ordering::SeqCst);
    }

    pub(crate) fn planted(fault: Fault) -> bool {
        PLANTED.load(Ordering::Relaxed) == number(fault)
    }

    fn number(fault: Fault) -> u8 {
        fault as u8 + 1
    }
}

#[cfg(any(shuttle, loom))]
mod explored {
    //! `parking_lot`'s shapes over a checker: no poisoning, and a condition variable that borrows its guard.

    use std::ops::{Deref, DerefMut};
    use std::sync::PoisonError;
    use std::time::Duration;

    #[cfg(loom)]
    use loom::sync as checker;
    #[cfg(shuttle)]
    use shuttle::sync as checker;

    pub(crate) use checker::atomic::{AtomicU64, AtomicUsize, Ordering};

    #[derive(Debug)]
    pub(crate) struct Mutex<T>(checker::Mutex<T>);

    #[derive(Debug)]
    pub(crate) struct MutexGuard<'a, T>(Option<checker::MutexGuard<'a, T>>);

    #[derive(Debug)]
    pub(crate) struct Condvar(checker::Condvar);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(checker::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            MutexGuard(Some(self.0.lock().unwrap_or_else(PoisonError::into_inner)))
        }

        pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            self.0.try_lock().ok().map(|guard| MutexGuard(Some(guard)))
        }
    }

    impl<T: Default> Default for Mutex<T> {
        fn default() -> Self {
            Self::new(T::default())
        }
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;
        fn deref(&self) -> &T {
            self.0.as_ref().expect("invariant: a guard is empty only inside a wait")
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.0.as_mut().expect("invariant: a guard is empty only inside a wait")
        }
    }

    impl Condvar {
        pub(crate) fn new() -> Self {
            Self(checker::Condvar::new())
        }

        pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            let inner = guard.0.take().expect("invariant: a guard is empty only inside a wait");
            guard.0 = Some(self.0.wait(inner).unwrap_or_else(PoisonError::into_inner));
        }

        /// Waits without a limit: explored time passes only when a thread says so.
        pub(crate) fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _limit: Duration) {
            self.wait(guard);
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }
    }
}
