//! What every rule may ask of the facts so far: the open turn and step, the lists, the activity,
//! the operations that are going on.
//!
//! Folded once for all rules, leniently: a fact that breaks a rule is followed as well as it goes,
//! so that one fault is reported once. Its size is bounded by what is open and pending.

use std::ops::Range;
use std::sync::Arc;

use super::boundary::Boundary;
use super::fact::{Fact, Ids, Kind, Kinds, Place, Seen, Spliced};
use super::finding::Mark;
use super::notices::{Notices, Owing};
use crate::event::{CancelCause, Live, Op, Record, Refused, Status, Step, Target, Turn};

/// See the file's head.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Situation {
    /// Whether anything but a log was seen.
    pub is_run: bool,
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
    /// Operations that are going on, one inside another: a producer's, and what observers do.
    pub operations: Vec<Doing>,
    /// A wake that is to be replayed when the current activity is over.
    pub latched: Option<Mark>,
    /// How far disposal has come.
    pub life: Life,
    /// The last refusal of the log since the turn began, or since the last rest outside of turns.
    pub append_refused: Option<Mark>,
    /// The current step boundary, the step that it leads to included. None outside of turns.
    pub boundary: Option<Boundary>,
    /// The live inbox events that are owed.
    pub notices: Notices,
    /// What is being published, if something is.
    pub published: Option<Publication>,
}

/// An operation that is going on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Doing {
    /// What is asked.
    pub op: Op,
    /// Its beginning.
    pub began: Mark,
    /// What was published when an observer began it; none for a producer.
    pub during: Option<Publication>,
    /// Whether the activity was aborted when it began.
    pub late: bool,
    /// Whether nothing was active when it began.
    pub from_idle: bool,
    /// Whether it is a disposal after the first, which does nothing.
    pub repeated: bool,
    /// Why it was refused, if it was.
    pub refused: Option<Refused>,
}

impl Doing {
    /// Whether it is a send that may start the driver.
    #[must_use]
    pub fn is_waking(&self) -> bool {
        matches!(
            self.op,
            Op::Followup { .. } | Op::Steer { .. } | Op::Send { wakeup: true, .. }
        )
    }

    /// Whether it cancels and clears.
    #[must_use]
    pub fn cancels_broadly(&self) -> bool {
        let clears = matches!(
            self.op,
            Op::Dispose
                | Op::Cancel {
                    keep_inbox: false,
                    ..
                }
        );
        clears && !self.repeated
    }
}

/// What is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Publication {
    /// A durable event: nothing can be appended meanwhile.
    Durable,
    /// A live event.
    Live,
}

/// How far disposal has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Life {
    /// It was not asked for.
    #[default]
    Alive,
    /// It waits for what is active.
    Disposing,
    /// It is complete.
    Disposed,
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
        self.pending().any(|pending| *pending.id == *id)
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

    /// The innermost operation that is going on.
    #[must_use]
    pub fn doing(&self) -> Option<&Doing> {
        self.operations.last()
    }

    /// What the last splice owes to the live stream, until its operation goes on.
    #[must_use]
    pub fn owing(&self) -> Option<&Owing> {
        self.notices.current(self.operations.len())
    }

    /// What can not be told any more after this fact.
    #[must_use]
    pub fn closed_by(&self, seen: &Seen<'_>) -> &[Owing] {
        if !self.is_run {
            // A log has no live events.
            return &[];
        }
        self.notices.closed_by(seen, self.operations.len())
    }

    /// Whether a driver that starts now was woken: by the send that goes on, or a latched one.
    #[must_use]
    pub fn is_woken(&self) -> bool {
        self.latched.is_some() || self.doing().is_some_and(Doing::is_waking)
    }

    /// Both lists, next-turn first.
    pub fn pending(&self) -> impl Iterator<Item = &Pending> {
        self.next_turn.iter().chain(&self.next_step)
    }

    /// Follows a fact. Rules see the situation as it was before the fact.
    pub(super) fn follow(&mut self, seen: &Seen<'_>) {
        self.follow_notices(seen);
        self.publish(seen.fact.kind());
        self.is_run |= matches!(seen.fact, Fact::Live(_) | Fact::Observed(_));
        let mark = seen.mark;
        match seen.fact {
            Fact::Spliced(splice) => self.splice(mark, &splice),
            Fact::TurnStart { turn } => self.open_turn(mark, turn),
            Fact::TurnEnd { .. } => {
                self.turn = None;
                self.close_step();
                self.boundary = None;
            }
            Fact::StepStart(place) => self.open_step(mark, place),
            Fact::StepEnd(_) => {
                self.close_step();
                self.boundary = self.turn.is_some().then(Boundary::default);
            }
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
        self.boundary = Some(Boundary::default());
        self.latched = None;
        self.append_refused = None;
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

    fn follow_notices(&mut self, seen: &Seen<'_>) {
        let removed = match seen.fact {
            Fact::Spliced(splice) => self
                .removed_by(&splice)
                .iter()
                .map(|p| p.id.clone())
                .collect(),
            _ => Vec::new(),
        };
        self.notices
            .follow(seen, self.operations.len(), removed.iter());
    }

    fn publish(&mut self, kind: Kind) {
        self.published = match kind {
            Kind::Lists => Some(Publication::Durable),
            Kind::ReactEnd => self.doing().and_then(|doing| doing.during),
            Kind::Inserted
            | Kind::Claimed
            | Kind::Discarded
            | Kind::Status
            | Kind::Error
            | Kind::OtherLive => Some(Publication::Live),
            // Read by what begins now.
            Kind::React => self.published,
            _ if Kinds::DURABLE.contains(kind) => Some(Publication::Durable),
            _ => None,
        };
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
        let removed: Vec<_> = list.splice(removed, inserted).collect();
        if splice.is_claim() {
            if let Some(boundary) = &mut self.boundary {
                boundary.claim(mark, splice.target, removed.iter().map(|gone| &gone.id));
            }
            self.batch.extend(removed);
        }
    }

    fn status(&mut self, status: Status) {
        self.running = status == Status::Running;
        if self.running {
            self.latched = None;
        }
        self.rest();
    }

    /// An activity is over, or begins.
    fn rest(&mut self) {
        self.aborted = None;
    }

    fn observe(&mut self, mark: Mark, record: &Record) {
        self.has_operations |= matches!(record, Record::Act { .. } | Record::React(_));
        match record {
            Record::React(op) | Record::Act { op, .. } => self.begin(mark, record, op),
            Record::ReactEnd(_) | Record::ActEnd => {
                if let Some(doing) = self.operations.pop() {
                    self.done(mark, &doing);
                }
            }
            Record::Refused(refused) => {
                if let Some(doing) = self.operations.last_mut() {
                    doing.refused = Some(refused.clone());
                }
            }
            Record::Asked { turn, step, .. } => {
                let place = Place {
                    turn: *turn,
                    step: *step,
                };
                if let Some(boundary) = &mut self.boundary {
                    boundary.asked = Some((mark, place));
                }
            }
            Record::Decided(answer) => {
                if let Some(boundary) = &mut self.boundary {
                    boundary.decided = Some((mark, answer.clone()));
                }
            }
            Record::Maintenance(_) => {
                self.maintaining = false;
                self.rest();
            }
            Record::Gate { gate } if **gate == *"maintenance" => self.maintaining = true,
            Record::AppendRefused => self.append_refused = Some(mark),
            Record::Rest(resting) if resting.quiet => {
                self.latched = None;
                // A closing that was refused is still owed.
                self.append_refused = self.append_refused.filter(|_| self.turn.is_some());
            }
            Record::Crashed => self.crash(),
            Record::Disposed => self.life = Life::Disposed,
            _ => {}
        }
    }

    /// Whether disposal was asked for, also by an operation that still goes on.
    fn is_disposing(&self) -> bool {
        self.life != Life::Alive || self.operations.iter().any(|doing| doing.op == Op::Dispose)
    }

    fn begin(&mut self, mark: Mark, record: &Record, op: &Op) {
        let during = match record {
            Record::React(_) => self.published,
            _ => None,
        };
        self.operations.push(Doing {
            op: op.clone(),
            began: mark,
            during,
            late: self.aborted.is_some(),
            from_idle: !self.is_active(),
            repeated: *op == Op::Dispose && self.is_disposing(),
            refused: None,
        });
    }

    /// An operation is over. A cancel takes effect here, after its clearing; a wake, too.
    fn done(&mut self, mark: Mark, doing: &Doing) {
        match &doing.op {
            _ if matches!(doing.refused, Some(Refused::Disposed)) || doing.repeated => {}
            Op::Cancel { cause, .. } => self.abort(mark, cause.clone(), doing),
            Op::Dispose => {
                self.abort(mark, CancelCause::Disposed, doing);
                self.life = Life::Disposing;
            }
            _ if doing.is_waking() && doing.refused.is_none() => self.wake(mark, doing),
            _ => {}
        }
    }

    fn abort(&mut self, mark: Mark, cause: CancelCause, doing: &Doing) {
        if !self.is_active() {
            return;
        }
        if doing.cancels_broadly() {
            self.latched = None;
        }
        self.aborted.get_or_insert((mark, cause));
    }

    /// An accepted waking send is latched where the current activity will not see its message.
    fn wake(&mut self, mark: Mark, doing: &Doing) {
        let disposed = matches!(self.aborted, Some((_, CancelCause::Disposed)));
        let unseen = self.maintaining || (doing.late && self.running);
        if unseen && !disposed && self.life == Life::Alive {
            self.latched = Some(mark);
        }
    }

    /// What was not on the log is gone.
    fn crash(&mut self) {
        self.running = false;
        self.maintaining = false;
        self.aborted = None;
        self.operations.clear();
        self.latched = None;
        self.append_refused = None;
        self.published = None;
    }
}

/// The part of a list of that length which a splice removes, as far as it exists.
fn stretch(splice: &Spliced<'_>, length: usize) -> Range<usize> {
    let start = (splice.start as usize).min(length);
    let end = start.saturating_add(splice.removed as usize).min(length);
    start..end
}
