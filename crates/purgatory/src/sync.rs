//! The locks and atomics of `shared`, in one place so that a model checker can stand in for them.
//!
//! Ordinarily `parking_lot`; with `--cfg shuttle` the same shapes over a scheduler that explores interleavings.

#[cfg(not(shuttle))]
pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard};
#[cfg(not(shuttle))]
pub(crate) use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A fault that can be put into the library, to show that its tests notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(shuttle), expect(unreachable_pub, reason = "exported only where schedules are explored"))]
pub enum Fault {
    /// An operation stays where it is while a thread examines it, so that two can let it go.
    DoubleCompletion,
    /// A trigger that meets an operation in another thread's hands leaves no note.
    LostTrigger,
    /// The driver's lock is taken after the bound was read.
    LostWakeUp,
}

#[cfg(shuttle)]
thread_local! {
    static PLANTED: std::cell::Cell<Option<Fault>> = const { std::cell::Cell::new(None) };
}

/// Puts a fault into everything that this test does: explored threads share the test's own thread.
#[cfg(shuttle)]
pub fn plant(fault: Fault) {
    PLANTED.set(Some(fault));
}

#[cfg(shuttle)]
pub(crate) fn planted(fault: Fault) -> bool {
    PLANTED.get() == Some(fault)
}

#[cfg(not(shuttle))]
pub(crate) const fn planted(_: Fault) -> bool {
    false
}

#[cfg(shuttle)]
pub(crate) use explored::{AtomicU64, AtomicUsize, Condvar, Mutex, MutexGuard, Ordering};

#[cfg(shuttle)]
mod explored {
    //! `parking_lot`'s shapes over `shuttle`: no poisoning, and a condition variable that borrows its guard.

    use std::ops::{Deref, DerefMut};
    use std::time::Duration;

    pub(crate) use shuttle::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

    #[derive(Debug)]
    pub(crate) struct MutexGuard<'a, T>(Option<shuttle::sync::MutexGuard<'a, T>>);

    #[derive(Debug, Default)]
    pub(crate) struct Condvar(shuttle::sync::Condvar);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(shuttle::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            MutexGuard(Some(self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)))
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
            Self(shuttle::sync::Condvar::new())
        }

        pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            let inner = guard.0.take().expect("invariant: a guard is empty only inside a wait");
            guard.0 = Some(self.0.wait(inner).unwrap_or_else(std::sync::PoisonError::into_inner));
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
