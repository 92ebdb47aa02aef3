//! What all workers of an engine know of the open load.

use volley_plan::OpenLoad;
use volley_plan::shape::{Arrivals, Cursor, Schedule, ShapeError, StripeSet, Stripes};

/// What all workers of an engine know of the open load.
#[derive(Clone, Debug)]
pub(crate) struct OpenPlan {
    schedule: Schedule,
    /// No arrival reaches this number.
    pub(crate) end_number: u64,
    /// Where the plan's number of iterations ends the run, and not its time: when the last of them is due, whoever's it is.
    pub(crate) ends_at_ns: Option<u64>,
}

impl OpenPlan {
    /// # Errors
    /// None for a plan that was parsed.
    pub(crate) fn new(load: &OpenLoad, seed: u64) -> Result<Self, ShapeError> {
        let schedule = load.schedule(seed)?;
        let measured = load.measured(&schedule, load.shape.total_ns());
        let end_number = load.end_number(measured.start);
        let ends_by_count = load.ends_by_count(&measured);
        let last = end_number.checked_sub(1).filter(|_| ends_by_count);
        let ends_at_ns = last.and_then(|last| due_ns(&schedule, load.arrivals, last));
        Ok(Self { schedule, end_number, ends_at_ns })
    }

    /// Whether a number of iterations ends the run, and not its time.
    pub(crate) fn ends_by_count(&self) -> bool {
        self.ends_at_ns.is_some()
    }

    /// The arrivals of these stripes that are due from then on.
    pub(crate) fn cursor(&self, stripes: &StripeSet, from_ns: u64) -> Cursor {
        self.schedule.cursor(stripes, from_ns)
    }
}

/// When arrival `n` is due. Of Poisson arrivals the earlier ones are drawn for it, block by block.
fn due_ns(schedule: &Schedule, arrivals: Arrivals, n: u64) -> Option<u64> {
    match arrivals {
        Arrivals::Uniform => schedule.shape().due_ns(n),
        Arrivals::Poisson => {
            let stripes = Stripes::default();
            let own = StripeSet::new(stripes, vec![stripes.of(n)]).ok()?;
            schedule.cursor(&own, 0).find(|arrival| arrival.n == n).map(|arrival| arrival.due_ns)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_plan::Model;

    /// When the last arrival is due where their number ends the run, in milliseconds.
    fn check(plan: &str, expected_ms: Option<u64>) {
        let text = format!("target: http://h/\n{}", plan.replace(", ", "\n"));
        let plan = volley_plan::parse(&text).unwrap();
        let Model::Open(load) = &plan.load.model else { panic!("not open") };
        let open = OpenPlan::new(load, 1).unwrap();
        assert_eq!(open.ends_at_ns.map(|ns| ns / 1_000_000), expected_ms, "{text}");
        let last = open
            .cursor(&Stripes::default().all(), 0)
            .take_while(|arrival| arrival.n < open.end_number)
            .last();
        assert!(open.ends_at_ns.is_none_or(|ends_at_ns| last.is_some_and(|last| last.due_ns == ends_at_ns)));
    }

    #[test]
    fn a_number_of_iterations_ends_a_run_when_the_last_is_due() {
        check("rate: 10/s, duration: 2s", None);
        check("rate: 10/s, duration: 2s, iterations: 7", Some(600));
        check("rate: 10/s, duration: 2s, iterations: 20", Some(1900));
        check("rate: 10/s, duration: 2s, iterations: 21", None);
        check("rate: 10/s, duration: 2s, iterations: 7, warmup: 1s", Some(1600));
        check("rate: 1000/s, duration: 20s, iterations: 9000, arrivals: poisson", Some(8939));
    }
}
