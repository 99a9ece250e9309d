//! What every rule may ask of the facts so far: the open turn and step, the lists, the activity.
//!
//! Folded once for all rules, leniently: a fact that breaks a rule is followed as well as it goes,
//! so that one fault is reported once. Its size is bounded by what is open and pending.

use std::ops::Range;
use std::sync::Arc;

use super::fact::{Fact, Ids, Kinds, Place, Seen, Spliced};
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
    /// What was claimed at the open boundary or for the open step, in the order of the log. A
    /// boundary begins with `turn/start` or `step/end`.
    pub batch: Vec<Pending>,
    /// How many durable events of an inherited prefix are still to come.
    pub inherited_left: u64,
    /// What an inherited prefix left pending. It is not pending here.
    pub inherited: Vec<Pending>,
    /// The last `session/end-seed`.
    pub end_seed: Option<Mark>,
    /// Whether operations are recorded: then every insertion of a producer follows one.
    pub has_operations: bool,
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
    /// Its tool calls without an answer: first those of its assistant message, in order.
    pub calls: Vec<OpenCall>,
}

/// A tool call without an answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OpenCall {
    /// Its identity; may be repeated.
    pub id: Arc<str>,
    /// Whether the step's assistant message asks for it.
    pub asked: bool,
    /// Its `tool/call`.
    pub called: Option<Mark>,
}

impl OpenStep {
    /// Which call a result answers: one that was called or, where repair answers what never
    /// started, one that was not. `None` when there is no such call.
    #[must_use]
    pub fn answered(&self, call: &str, error: Option<&str>) -> Option<usize> {
        let open = |called: bool| {
            let fits = move |open: &OpenCall| *open.id == *call && open.called.is_some() == called;
            self.calls.iter().position(fits)
        };
        match error {
            Some(NOT_STARTED) => open(false).or_else(|| open(true)),
            _ => open(true),
        }
    }

    fn ask(&mut self, calls: Ids<'_>) {
        self.calls.extend(calls.iter().map(|id| OpenCall {
            id: id.into(),
            asked: true,
            called: None,
        }));
    }

    fn call(&mut self, mark: Mark, id: &str) {
        let mut calls = self.calls.iter_mut();
        match calls.find(|call| *call.id == *id && call.called.is_none()) {
            Some(call) => call.called = Some(mark),
            None => self.calls.push(OpenCall {
                id: id.into(),
                asked: false,
                called: Some(mark),
            }),
        }
    }
}

/// The code of an answer to a call that never started.
const NOT_STARTED: &str = "TOOL_NOT_STARTED";

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
        &list[stretch(splice, list.len())]
    }

    /// What stays pending while a splice removes.
    pub fn kept_by(&self, splice: &Spliced<'_>) -> impl Iterator<Item = &Pending> {
        let list = self.list(splice.target);
        let removed = stretch(splice, list.len());
        let other = match splice.target {
            Target::NextTurn => &self.next_step,
            Target::NextStep => &self.next_turn,
        };
        let kept = list[..removed.start].iter().chain(&list[removed.end..]);
        kept.chain(other)
    }

    /// Whether a splice lies inside its list.
    #[must_use]
    pub fn fits(&self, splice: &Spliced<'_>) -> bool {
        let end = u64::from(splice.start) + u64::from(splice.removed);
        end <= self.list(splice.target).len() as u64
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
            Fact::TurnStart { turn } => self.open_turn(mark, turn),
            Fact::TurnEnd { .. } => {
                self.turn = None;
                self.close_step();
            }
            Fact::StepStart(place) => self.open_step(mark, place),
            Fact::StepEnd(_) => self.close_step(),
            Fact::EndSeed => self.end_seed = Some(mark),
            Fact::Live(Live::Status { status }) => self.status(*status),
            Fact::Observed(record) => self.observe(mark, record),
            fact => self.follow_model(mark, fact),
        }
        if self.inherited_left > 0 && Kinds::DURABLE.contains(seen.fact.kind()) {
            self.inherit(seen.fact.count());
        }
    }

    fn open_turn(&mut self, mark: Mark, turn: Turn) {
        self.turn = Some(OpenTurn {
            number: turn,
            opened: mark,
            last_step: 0,
        });
        self.last_turn = Some(turn);
        self.close_step();
    }

    fn open_step(&mut self, mark: Mark, place: Place) {
        self.step = Some(OpenStep {
            place,
            opened: mark,
            calls: Vec::new(),
        });
        if let Some(turn) = &mut self.turn {
            turn.last_step = place.step;
        }
    }

    fn close_step(&mut self) {
        self.step = None;
        self.batch.clear();
    }

    fn follow_model(&mut self, mark: Mark, fact: Fact<'_>) {
        let Some(step) = &mut self.step else { return };
        match fact {
            Fact::AssistantMessage(said) if !said.surface.replaces => step.ask(said.calls),
            Fact::ToolCall { call, .. } => step.call(mark, call),
            Fact::ToolResult {
                call,
                error,
                surface,
                ..
            } if !surface.replaces => {
                if let Some(answered) = step.answered(call, error) {
                    step.calls.remove(answered);
                }
            }
            _ => {}
        }
    }

    /// That many more events of the inherited prefix are over.
    fn inherit(&mut self, count: u32) {
        self.inherited_left = self.inherited_left.saturating_sub(count.into());
        if self.inherited_left == 0 {
            self.inherited = std::mem::take(&mut self.next_step);
            self.inherited.append(&mut self.next_turn);
        }
    }

    fn splice(&mut self, mark: Mark, splice: &Spliced<'_>) {
        self.has_inbox = true;
        let list = match splice.target {
            Target::NextTurn => &mut self.next_turn,
            Target::NextStep => &mut self.next_step,
        };
        let removed = stretch(splice, list.len());
        let inserted = splice.inserted.iter().map(|id| Pending {
            id: id.into(),
            inserted: mark,
        });
        let removed = list.splice(removed, inserted);
        if splice.is_claim() {
            self.batch.extend(removed);
        }
    }

    fn status(&mut self, status: Status) {
        self.running = status == Status::Running;
        self.aborted = None;
    }

    fn observe(&mut self, mark: Mark, record: &Record) {
        self.has_operations |= matches!(record, Record::Act { .. } | Record::React(_));
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

/// The part of a list of that length which a splice removes, as far as it exists.
fn stretch(splice: &Spliced<'_>, length: usize) -> Range<usize> {
    let start = (splice.start as usize).min(length);
    let end = start.saturating_add(splice.removed as usize).min(length);
    start..end
}
