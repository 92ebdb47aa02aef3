//! Who sends what when: the arrivals of some stripes in the order in which they are due.

use super::piece::{ARRIVAL, Piece};
use super::poisson::Poisson;
use super::{Shape, ShapeError, StripeSet};
use std::iter::FusedIterator;
use std::ops::Range;
use std::sync::Arc;

/// Most expected arrivals of a Poisson schedule. Whoever makes a plan or a run of it, or begins late, counts all earlier
/// ones, which takes a tenth of a second for so many and a millisecond for ten million.
pub const MAX_POISSON_ARRIVALS: u64 = 1_000_000_000;

/// How arrivals follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Arrivals {
    /// Evenly: each as soon as one more is expected.
    #[default]
    Uniform,
    /// By chance and independently of each other, at the same rate: the way in which many people come.
    Poisson,
}

/// One iteration of the open model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrival {
    /// Its number in the run.
    pub n: u64,
    /// The run time at which it is due, in nanoseconds.
    pub due_ns: u64,
}

/// All arrivals of a run: a pure function of the shape, the kind of arrivals and the seed.
#[derive(Debug, Clone)]
pub struct Schedule {
    shape: Arc<Shape>,
    arrivals: Arrivals,
    seed: u64,
}

impl Schedule {
    /// The arrivals of `shape`. The `seed` decides over Poisson arrivals only; all of a run's agents have the same.
    ///
    /// # Errors
    /// [`ShapeError::TooManyPoisson`] for more than [`MAX_POISSON_ARRIVALS`].
    pub fn new(shape: Shape, arrivals: Arrivals, seed: u64) -> Result<Self, ShapeError> {
        if arrivals == Arrivals::Poisson && shape.total > ARRIVAL * u128::from(MAX_POISSON_ARRIVALS) {
            return Err(ShapeError::TooManyPoisson);
        }
        Ok(Self { shape: Arc::new(shape), arrivals, seed })
    }

    /// The shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The arrivals of `stripes` that are due at `from_ns` or later.
    ///
    /// It takes memory in the size of `stripes` here, and none with the steps. For Poisson arrivals, all that are due
    /// before `from_ns` cost one draw in about a thousand of them.
    pub fn cursor(&self, stripes: &StripeSet, from_ns: u64) -> Cursor {
        let mut times = self.times();
        let first = times.arrivals_before(from_ns);
        Cursor { numbers: Numbers::new(stripes.clone(), first), times }
    }

    /// The counts of arrivals over time.
    pub fn counter(&self) -> Counter {
        Counter { times: self.times() }
    }

    fn times(&self) -> Times {
        match self.arrivals {
            Arrivals::Uniform => Times::Uniform(Uniform::new(Arc::clone(&self.shape))),
            Arrivals::Poisson => Times::Poisson(Poisson::new(Arc::clone(&self.shape), self.seed)),
        }
    }
}

/// How many arrivals are due until when. Cheap as long as the times that are asked for don't fall: of Poisson arrivals
/// all earlier ones have to be counted.
#[derive(Debug, Clone)]
pub struct Counter {
    times: Times,
}

impl Counter {
    /// How many arrivals are due before `time_ns`; equally, the first that isn't. Of some stripes it is
    /// [`StripeSet::count_in`] of these numbers.
    pub fn arrivals_before(&mut self, time_ns: u64) -> u64 {
        self.times.arrivals_before(time_ns)
    }

    /// The numbers of the arrivals that are due within `times_ns`, the end not included.
    pub fn numbers_in(&mut self, times_ns: Range<u64>) -> Range<u64> {
        self.arrivals_before(times_ns.start)..self.arrivals_before(times_ns.end)
    }
}

/// The arrivals of some stripes, in the order of their numbers, which is the order in which they are due.
#[derive(Debug, Clone)]
pub struct Cursor {
    numbers: Numbers,
    times: Times,
}

impl Iterator for Cursor {
    type Item = Arrival;

    #[inline]
    fn next(&mut self) -> Option<Arrival> {
        let n = self.numbers.current()?;
        let due_ns = self.times.due_ns(n)?;
        self.numbers.advance();
        Some(Arrival { n, due_ns })
    }
}

// Where the load has ended, the number stays where it is and none is due for it.
impl FusedIterator for Cursor {}

/// The numbers of some stripes' arrivals, rising.
#[derive(Debug, Clone)]
struct Numbers {
    stripes: StripeSet,
    /// The number of arrivals in all rounds over all stripes before this one.
    round: u64,
    /// The place of the current stripe among those held.
    place: usize,
}

impl Numbers {
    /// The numbers from `first` on.
    fn new(stripes: StripeSet, first: u64) -> Self {
        let (round, place) = (first - u64::from(stripes.stripes().of(first)), stripes.rank_of(first));
        let mut numbers = Self { stripes, round, place };
        numbers.turn();
        numbers
    }

    /// The number that is next; `None` where no stripe is held.
    fn current(&self) -> Option<u64> {
        self.stripes.held().get(self.place).map(|stripe| self.round + u64::from(*stripe))
    }

    fn advance(&mut self) {
        self.place += 1;
        self.turn();
    }

    /// Begins the next round where this one is over.
    fn turn(&mut self) {
        if self.place >= self.stripes.held().len() {
            self.place = 0;
            self.round += u64::from(self.stripes.stripes().count());
        }
    }
}

/// Due times by number, asked for in rising order.
#[derive(Debug, Clone)]
enum Times {
    Uniform(Uniform),
    Poisson(Poisson),
}

impl Times {
    #[inline]
    fn due_ns(&mut self, n: u64) -> Option<u64> {
        match self {
            Self::Uniform(uniform) => uniform.due_ns(n),
            Self::Poisson(poisson) => poisson.due_ns(n),
        }
    }

    fn arrivals_before(&mut self, time_ns: u64) -> u64 {
        match self {
            Self::Uniform(uniform) => uniform.shape.arrivals_before(time_ns),
            Self::Poisson(poisson) => poisson.arrivals_before(time_ns),
        }
    }
}

/// Evenly spaced arrivals. They are [`Shape::due_ns`], which is exact and takes a division of 128 bits; where the rate
/// stays the same, each is had from the one before by additions, just as exactly.
#[derive(Debug, Clone)]
struct Uniform {
    shape: Arc<Shape>,
    /// The arrivals of the piece that `steps` belongs to.
    numbers: Range<u64>,
    /// How to go on; `None` on a ramp.
    steps: Option<Steps>,
}

impl Uniform {
    fn new(shape: Arc<Shape>) -> Self {
        Self { shape, numbers: 0..0, steps: None }
    }

    #[inline]
    fn due_ns(&mut self, n: u64) -> Option<u64> {
        if !self.numbers.contains(&n) {
            self.enter(n)?;
        }
        match &mut self.steps {
            Some(steps) => Some(steps.go_to(n)).filter(|due_ns| *due_ns < self.shape.total_ns),
            None => self.shape.due_ns(n),
        }
    }

    /// Finds the piece in which arrival `n` is due; `None` where the shape ends before it.
    fn enter(&mut self, n: u64) -> Option<()> {
        let grain = u128::from(n) * ARRIVAL;
        if grain >= self.shape.total {
            return None;
        }
        let piece = &self.shape.pieces[self.shape.piece_of(grain)];
        self.numbers = piece.arrivals();
        self.steps = piece.steady_grains_per_ns().map(|per_ns| Steps::new(piece, per_ns, n));
        Some(())
    }
}

/// Due times at a constant rate: those of the piece's start plus ⌈grains / grains per nanosecond⌉, kept as a quotient
/// and its rest.
#[derive(Debug, Clone)]
struct Steps {
    n: u64,
    due_ns: u64,
    rest: u64,
    /// Grains a nanosecond, the divisor.
    per_ns: u64,
    /// Quotient and rest of one arrival.
    arrival_ns: u64,
    arrival_rest: u64,
}

impl Steps {
    /// Steps that begin at arrival `n`, which is due in `piece`. The rate isn't zero, since an arrival is due there.
    fn new(piece: &Piece, per_ns: u64, n: u64) -> Self {
        let divisor = u128::from(per_ns);
        // Adding the divisor less one makes the quotient the one that is rounded up.
        let grains = u128::from(n) * ARRIVAL - piece.base + (divisor - 1);
        Self {
            n,
            due_ns: piece.start_ns + (grains / divisor) as u64,
            rest: (grains % divisor) as u64,
            per_ns,
            arrival_ns: (ARRIVAL / divisor) as u64,
            arrival_rest: (ARRIVAL % divisor) as u64,
        }
    }

    /// When arrival `n` is due, which is in the same piece and not before the last one asked for.
    #[inline]
    fn go_to(&mut self, n: u64) -> u64 {
        let steps = n - self.n;
        self.n = n;
        self.due_ns += steps * self.arrival_ns;
        let rest = u128::from(self.rest) + u128::from(steps) * u128::from(self.arrival_rest);
        match u64::try_from(rest) {
            Ok(rest) if rest < self.per_ns => self.rest = rest,
            Ok(rest) => {
                self.due_ns += rest / self.per_ns;
                self.rest = rest % self.per_ns;
            }
            Err(_) => {
                self.due_ns += (rest / u128::from(self.per_ns)) as u64;
                self.rest = (rest % u128::from(self.per_ns)) as u64;
            }
        }
        self.due_ns
    }
}

#[cfg(test)]
mod tests;
