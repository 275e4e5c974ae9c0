//! What can go wrong, and how often: the fault mix of a scenario.

use std::fmt;

use crate::agenda::{MINUTE, SECOND};
use crate::random::Random;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A message takes up to seconds.
    Latency,
    /// A connection ends, with what is on it in either direction.
    Cut,
    /// A connection falls silent for a while: what was sent on it arrives late, or after its client has gone elsewhere.
    Stall,
    /// A broker's process ends and starts again: its coordinator forgets all but what is stored.
    Crash,
    /// A broker's process stands still: its clock jumps, and its inbox fills meanwhile.
    Suspend,
    /// A partition gets another owner. The old one hears of it late: until then two believe that they own it.
    Move,
    /// A commit of the store takes up to seconds.
    StoreSlow,
    /// The store reports a write as failed: it may have been written all the same.
    StoreFail,
    /// The store's report of a write comes late, or twice.
    StoreTwice,
    /// The power of the store goes, in the middle of a write too: what was not synced is anyone's guess.
    StoreCrash,
    /// The disk fails or is full: the store stops until it is started again.
    DiskError,
    /// A client's process dies and starts again.
    ClientCrash,
    /// A client leaves, or closes as its kind does, and starts again.
    ClientLeave,
    /// A client's application does not poll for a while, longer than the poll interval too.
    ClientBusy,
    /// A client sends a request twice.
    Duplicate,
    /// A client subscribes to something else.
    Resubscribe,
    /// A static member is started a second time while the first one lives.
    Twin,
    /// Clients that send any request with any ids, stolen ones too.
    Hostile,
    /// Clients that are no members: transactions, plain commits, OffsetDelete, DeleteGroups.
    Outsiders,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 19] = [
        Self::Latency,
        Self::Cut,
        Self::Stall,
        Self::Crash,
        Self::Suspend,
        Self::Move,
        Self::StoreSlow,
        Self::StoreFail,
        Self::StoreTwice,
        Self::StoreCrash,
        Self::DiskError,
        Self::ClientCrash,
        Self::ClientLeave,
        Self::ClientBusy,
        Self::Duplicate,
        Self::Resubscribe,
        Self::Twin,
        Self::Hostile,
        Self::Outsiders,
    ];

    /// As it is named on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Cut => "cut",
            Self::Stall => "stall",
            Self::Crash => "crash",
            Self::Suspend => "suspend",
            Self::Move => "move",
            Self::StoreSlow => "store-slow",
            Self::StoreFail => "store-fail",
            Self::StoreTwice => "store-twice",
            Self::StoreCrash => "store-crash",
            Self::DiskError => "disk-error",
            Self::ClientCrash => "client-crash",
            Self::ClientLeave => "client-leave",
            Self::ClientBusy => "client-busy",
            Self::Duplicate => "duplicate",
            Self::Resubscribe => "resubscribe",
            Self::Twin => "twin",
            Self::Hostile => "hostile",
            Self::Outsiders => "outsiders",
        }
    }

    /// The fault of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fault| fault.name() == name)
    }

    /// Whether it strikes now and then; the others strike messages, writes or requests.
    pub fn strikes(self) -> bool {
        !matches!(
            self,
            Self::Latency | Self::StoreSlow | Self::StoreFail | Self::StoreTwice | Self::Duplicate
        )
    }

    /// The mean time between two of them at the lowest level, for those that strike now and then.
    fn rarely(self) -> u64 {
        match self {
            Self::Suspend | Self::Crash | Self::StoreCrash | Self::Move => 4 * MINUTE,
            Self::DiskError => 8 * MINUTE,
            Self::Cut | Self::Stall | Self::ClientBusy | Self::Resubscribe | Self::Twin => 2 * MINUTE,
            Self::ClientCrash | Self::ClientLeave => MINUTE,
            Self::Hostile | Self::Outsiders => 10 * SECOND,
            Self::Latency | Self::StoreSlow | Self::StoreFail | Self::StoreTwice | Self::Duplicate => {
                30 * SECOND
            }
        }
    }
}

/// How often each fault strikes: from 0, never, to 3.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultMix {
    levels: [u8; Fault::ALL.len()],
}

impl FaultMix {
    /// Nothing goes wrong.
    pub fn none() -> Self {
        Self::default()
    }

    /// A mix of a seed: one of eight has no faults, others have about half of them.
    pub fn drawn(random: &mut Random) -> Self {
        let mut mix = Self::none();
        let width = random.below(8);
        for fault in Fault::ALL {
            let level = u8::try_from(random.between(1, 3)).unwrap_or(1);
            if random.below(8) < width {
                mix.set(fault, level);
            }
        }
        mix
    }

    /// The level of a fault.
    pub fn level(&self, fault: Fault) -> u8 {
        self.levels[fault as usize]
    }

    /// Sets the level of a fault, at most 3.
    pub fn set(&mut self, fault: Fault, level: u8) {
        self.levels[fault as usize] = level.min(3);
    }

    /// The faults that strike.
    pub fn active(&self) -> impl Iterator<Item = Fault> + '_ {
        Fault::ALL.into_iter().filter(|fault| self.level(*fault) > 0)
    }

    /// The mean time between two strikes, if it strikes.
    pub fn mean_wait(&self, fault: Fault) -> Option<u64> {
        let level = self.level(fault);
        (level > 0).then(|| fault.rarely() >> (2 * (level - 1)))
    }

    /// How many in a million messages, writes or requests it strikes.
    pub fn in_a_million(&self, fault: Fault) -> u64 {
        [0, 500, 5_000, 50_000][usize::from(self.level(fault))]
    }
}

impl fmt::Display for FaultMix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut none = true;
        for fault in self.active() {
            let space = if none { "" } else { " " };
            write!(f, "{space}{}:{}", fault.name(), self.level(fault))?;
            none = false;
        }
        if none { f.write_str("none") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_has_a_name_and_a_place() {
        for (place, fault) in Fault::ALL.into_iter().enumerate() {
            assert_eq!(fault as usize, place);
            assert_eq!(Fault::named(fault.name()), Some(fault));
        }
    }

    #[test]
    fn a_mix_says_what_is_in_it() {
        let mut mix = FaultMix::none();
        assert_eq!(mix.to_string(), "none");
        mix.set(Fault::Cut, 2);
        mix.set(Fault::Move, 1);
        assert_eq!(mix.to_string(), "cut:2 move:1");
        assert_eq!(mix.mean_wait(Fault::Cut), Some(30 * SECOND));
        assert_eq!(mix.mean_wait(Fault::Crash), None);
    }
}
