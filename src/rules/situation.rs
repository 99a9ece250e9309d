//! What every rule may ask of the facts so far: the open turn and step, the lists, the activity.
//!
//! Folded once for all rules, leniently: a fact that breaks a rule is followed as well as it goes,
//! so that one fault is reported once. Its size is bounded by what is open and pending.

use std::sync::Arc;

use super::fact::{Fact, Place, Seen, Spliced};
use super::finding::Mark;
use crate::event::{CancelCause, Live, Op, Record, Status, Step, Target, Turn};

/// See the file's head.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Situation {
    /// The open turn.
    pub turn: Option<OpenTurn>,
    /// Number of the last turn that was opened.
    pub last_turn: Option<Turn>,
    /// The open step.
    pub step: Option<OpenStep>,
    /// What is pending for a turn of its own.
    pub next_turn: Vec<Pending>,
    /// What is pending for the next step.
    pub next_step: Vec<Pending>,
    /// Whether any inbox event was seen; older logs have none.
    pub has_inbox: bool,
    /// The last public status that was announced; idle at first.
    pub running: bool,
    /// Whether a maintenance job is active.
    pub maintaining: bool,
    /// The first cause of the cancel that the current activity is under. Known only where
    /// operations are seen.
    pub aborted: Option<(Mark, CancelCause)>,
    /// Operations of observers that are going on, one inside another.
    pub reactions: Vec<Op>,
}

/// A turn that is open.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OpenTurn {
    /// Its number.
    pub number: Turn,
    /// Its `turn/start`.
    pub opened: Mark,
    /// The last step that was opened in it; 0 before the first.
    pub last_step: Step,
}

/// A step that is open.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OpenStep {
    /// Its place.
    pub place: Place,
    /// Its `step/start`.
    pub opened: Mark,
}

/// A pending message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pending {
    /// Its identity.
    pub id: Arc<str>,
    /// The splice that inserted it.
    pub inserted: Mark,
}

impl Situation {
    /// One list, oldest first.
    #[must_use]
    pub fn list(&self, target: Target) -> &[Pending] {
        match target {
            Target::NextTurn => &self.next_turn,
            Target::NextStep => &self.next_step,
        }
    }

    /// Whether that message is pending in either list.
    #[must_use]
    pub fn is_pending(&self, id: &str) -> bool {
        self.next_turn
            .iter()
            .chain(&self.next_step)
            .any(|pending| *pending.id == *id)
    }

    /// What a splice removes: the part of its list that it names, as far as that exists.
    #[must_use]
    pub fn removed_by(&self, splice: &Spliced<'_>) -> &[Pending] {
        let list = self.list(splice.target);
        let start = (splice.start as usize).min(list.len());
        let end = start
            .saturating_add(splice.removed as usize)
            .min(list.len());
        &list[start..end]
    }

    /// Whether a driver or a maintenance job is active, as far as was announced.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.running || self.maintaining
    }

    /// Follows a fact. Rules see the situation as it was before the fact.
    pub(super) fn follow(&mut self, seen: &Seen<'_>) {
        let mark = seen.mark;
        match seen.fact {
            Fact::Spliced(splice) => self.splice(mark, &splice),
            Fact::TurnStart { turn } => {
                self.turn = Some(OpenTurn {
                    number: turn,
                    opened: mark,
                    last_step: 0,
                });
                self.last_turn = Some(turn);
                self.step = None;
            }
            Fact::TurnEnd { .. } => {
                self.turn = None;
                self.step = None;
            }
            Fact::StepStart(place) => {
                self.step = Some(OpenStep {
                    place,
                    opened: mark,
                });
                if let Some(turn) = &mut self.turn {
                    turn.last_step = place.step;
                }
            }
            Fact::StepEnd(_) => self.step = None,
            Fact::Live(Live::Status { status }) => self.status(*status),
            Fact::Observed(record) => self.observe(mark, record),
            _ => {}
        }
    }

    fn splice(&mut self, mark: Mark, splice: &Spliced<'_>) {
        self.has_inbox = true;
        let list = match splice.target {
            Target::NextTurn => &mut self.next_turn,
            Target::NextStep => &mut self.next_step,
        };
        let start = (splice.start as usize).min(list.len());
        let end = start
            .saturating_add(splice.removed as usize)
            .min(list.len());
        let inserted = splice.inserted.iter().map(|id| Pending {
            id: id.into(),
            inserted: mark,
        });
        drop(list.splice(start..end, inserted));
    }

    fn status(&mut self, status: Status) {
        self.running = status == Status::Running;
        self.aborted = None;
    }

    fn observe(&mut self, mark: Mark, record: &Record) {
        match record {
            Record::React(op) => {
                self.reactions.push(op.clone());
                self.operate(mark, op);
            }
            Record::ReactEnd(_) => drop(self.reactions.pop()),
            Record::Act { op, .. } => self.operate(mark, op),
            Record::Maintenance(_) => {
                self.maintaining = false;
                self.aborted = None;
            }
            Record::Gate { gate } if **gate == *"maintenance" => self.maintaining = true,
            _ => {}
        }
    }

    fn operate(&mut self, mark: Mark, op: &Op) {
        let cause = match op {
            Op::Cancel { cause, .. } => cause.clone(),
            Op::Dispose => CancelCause::Disposed,
            _ => return,
        };
        if self.is_active() {
            self.aborted.get_or_insert((mark, cause));
        }
    }
}
