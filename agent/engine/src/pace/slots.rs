//! What the slots of a worker are at in the open model: who is free, who is coming, and who is one too many.

/// What the slots are at.
#[derive(Debug, Default)]
pub(super) struct Slots {
    states: Vec<State>,
    /// Slots that have nothing to do. The last to become idle is the first to get work, so that no more connections are in
    /// use than are needed. None while there are too many.
    idle: Vec<usize>,
    /// Places of slots that have left.
    free: Vec<usize>,
    /// How many are coming.
    pub(super) coming: usize,
    /// How many there are.
    pub(super) live: usize,
    /// How many there may be.
    max: usize,
}

/// ```text
///   made ─> Coming ─asks─> Busy ─asks in vain─> Idle ─is wanted─> Coming
///                            └────────── one too many ──────────────┴─> Gone
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It will ask for a turn: it was woken, or it connects.
    Coming,
    Busy,
    Idle,
    /// It has left; its place is free.
    Gone,
}

impl Slots {
    /// How many there may be from now on; gives those that are idle and one too many, which are to ask and will be told to
    /// leave.
    pub(super) fn bound(&mut self, max: usize) -> Vec<usize> {
        self.max = max;
        let surplus = self.live.saturating_sub(max).min(self.idle.len());
        let leaving = self.idle.split_off(self.idle.len() - surplus);
        for &slot in &leaving {
            self.states[slot] = State::Coming;
            self.coming += 1;
        }
        leaving
    }

    /// Whether one more may be made for turns that wait. Without any share it takes one to do what was taken up before.
    #[inline]
    pub(super) fn may_grow(&self) -> bool {
        self.live < self.max.max(1)
    }

    /// Whether one that asks is to leave, where so many turns wait for one.
    #[inline]
    pub(super) fn is_too_many(&self, waiting: usize) -> bool {
        self.live > self.max && (waiting == 0 || self.live > 1)
    }

    /// Makes one.
    pub(super) fn add(&mut self) -> usize {
        self.coming += 1;
        self.live += 1;
        if let Some(slot) = self.free.pop() {
            self.states[slot] = State::Coming;
            return slot;
        }
        self.states.push(State::Coming);
        self.states.len() - 1
    }

    #[inline]
    pub(super) fn wake_one(&mut self) -> Option<usize> {
        let slot = self.idle.pop()?;
        self.states[slot] = State::Coming;
        self.coming += 1;
        Some(slot)
    }

    /// A slot that has asked is busy, idle or gone now.
    #[inline]
    pub(super) fn enter(&mut self, slot: usize, state: State) {
        match std::mem::replace(&mut self.states[slot], state) {
            State::Coming => self.coming -= 1,
            State::Idle if state == State::Idle => return,
            State::Idle => self.idle.retain(|&idle| idle != slot),
            State::Busy | State::Gone => {}
        }
        match state {
            State::Idle => self.idle.push(slot),
            State::Gone => {
                self.live -= 1;
                self.free.push(slot);
            }
            State::Busy | State::Coming => {}
        }
    }
}
