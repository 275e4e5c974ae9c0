//! What a crash leaves of what was not synced.

use rand::{Rng, RngExt};

use groupd::store::SECTOR;

use super::{Change, FileState, put};

/// Which of the changes since a file's last sync are there after a crash. Sectors are written wholly or not at all, in
/// any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Survival {
    /// None.
    Nothing,
    /// All of them: only the answer to the sync is missing.
    Everything,
    /// The last one and none before it.
    OnlyTheLast,
    /// All before the last one.
    AllButTheLast,
    /// The first half of each write.
    FirstHalves,
    /// The second half of each write, and nothing but writes.
    SecondHalves,
    /// Every second sector.
    EverySecondSector,
    /// Whatever a seed says.
    Any,
}

impl Survival {
    /// Those that leave no choice.
    pub(in super::super) const DECIDED: [Self; 7] = [
        Self::Nothing,
        Self::Everything,
        Self::OnlyTheLast,
        Self::AllButTheLast,
        Self::FirstHalves,
        Self::SecondHalves,
        Self::EverySecondSector,
    ];

    /// Whether a change survives that is not made of sectors: the `number`-th from the end.
    pub(super) fn keeps(self, from_end: usize, rng: &mut impl Rng) -> bool {
        match self {
            Self::Nothing | Self::SecondHalves => false,
            Self::Everything | Self::FirstHalves | Self::EverySecondSector => true,
            Self::OnlyTheLast => from_end == 0,
            Self::AllButTheLast => from_end > 0,
            Self::Any => rng.random(),
        }
    }

    /// Which of a write's sectors survive.
    fn sectors(self, count: usize, from_end: usize, rng: &mut impl Rng) -> Vec<bool> {
        let sector = |number: usize| match self {
            Self::FirstHalves => number < count / 2,
            Self::SecondHalves => number >= count / 2,
            Self::EverySecondSector => number % 2 == 1,
            _ => true,
        };
        match self {
            Self::FirstHalves | Self::SecondHalves | Self::EverySecondSector => {
                (0..count).map(sector).collect()
            }
            // All or nothing too, not only a random part: those are the common cases.
            Self::Any => match rng.random_range(0..4) {
                0 => vec![true; count],
                1 => vec![false; count],
                _ => (0..count).map(|_| rng.random()).collect(),
            },
            Self::Nothing | Self::Everything | Self::OnlyTheLast | Self::AllButTheLast => {
                vec![self.keeps(from_end, rng); count]
            }
        }
    }
}

impl FileState {
    pub(super) fn survivor(&self, survival: Survival, rng: &mut impl Rng) -> Self {
        let mut bytes = self.durable.clone();
        let sector = usize::try_from(SECTOR).unwrap();
        for (from_end, change) in (0..self.unsynced.len()).rev().zip(&self.unsynced) {
            match change {
                Change::Length(length) => {
                    if survival.keeps(from_end, rng) {
                        bytes.resize(usize::try_from(*length).unwrap(), 0);
                    }
                }
                Change::Write(at, data) => {
                    let at = usize::try_from(*at).unwrap();
                    let pieces = data.chunks(sector);
                    let kept = survival.sectors(pieces.len(), from_end, rng);
                    for (number, piece) in pieces.enumerate().filter(|(number, _)| kept[*number]) {
                        put(&mut bytes, at + number * sector, piece);
                    }
                }
            }
        }
        Self { seen: bytes.clone(), durable: bytes, unsynced: Vec::new() }
    }
}
