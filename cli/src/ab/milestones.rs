//! The lines that tell how many requests are done, where there are many: ten of them, at a tenth of the requests each.

/// From so many requests on there are milestones.
const FEW: u64 = 150;
/// The least that they lie apart.
const STEP_MIN: u64 = 100;

/// How far a run is told to be.
#[derive(Debug)]
pub(super) struct Milestones {
    /// How far they lie apart; none where there are none.
    step: Option<u64>,
    next: u64,
}

impl Milestones {
    /// Those of so many requests.
    pub(super) fn new(requests: u64, is_quiet: bool) -> Self {
        let step = (requests > FEW && !is_quiet).then(|| (requests / 10).max(STEP_MIN));
        Self { step, next: step.unwrap_or(0) }
    }

    /// Whether there are any.
    pub(super) fn are_told(&self) -> bool {
        self.step.is_some()
    }

    /// Tells of those that are passed when so many requests are done.
    pub(super) fn pass(&mut self, done: usize, mut tell: impl FnMut(&str)) {
        let Some(step) = self.step else { return };
        while self.next <= done as u64 {
            tell(&format!("Completed {} requests", self.next));
            self.next += step;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(requests: u64, is_quiet: bool, done: &[usize], expected: &[u64]) {
        let mut milestones = Milestones::new(requests, is_quiet);
        let mut told = Vec::new();
        for &done in done {
            milestones.pass(done, |line| told.push(line.to_owned()));
        }
        let expected: Vec<_> = expected.iter().map(|done| format!("Completed {done} requests")).collect();
        assert_eq!(told, expected, "{requests} {done:?}");
        assert_eq!(milestones.are_told(), !is_quiet && requests > 150);
    }

    #[test]
    fn each_tenth_is_told_once() {
        check(150, false, &[150], &[]);
        check(151, false, &[99, 100, 100, 151], &[100]);
        check(200, false, &[250], &[100, 200]);
        check(
            2_503,
            false,
            &[0, 600, 2_503],
            &[250, 500, 750, 1_000, 1_250, 1_500, 1_750, 2_000, 2_250, 2_500],
        );
        check(50_000, false, &[4_999, 10_000], &[5_000, 10_000]);
        check(50_000, true, &[10_000], &[]);
    }
}
