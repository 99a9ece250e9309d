//! Any sequence of inbox operations against a model of two plain lists.
//!
//! The model is written from the contract alone: it says what is logged, announced and answered.
//! Not here: what the loop does with what it claims (`machine`).

#![allow(clippy::panic, reason = "a property stops at the first difference")]

mod support;

use prestep::agent::inbox::Inbox;
use prestep::agent::machine::{
    Core, Decision, DuringDurable, EditError, End, Host, Limits, Machine, Overlap, ToolOutput,
};
use prestep::event::{
    Body, CallId, ChunkKind, Failure, Finish, InboxSpliced, Live, MessageId, Seq, Target,
};
use proptest::prelude::*;
use support::{call, fold, line, message, route};

/// Both lists by identity: next-turn, next-step.
type Lists = [Vec<String>; 2];

/// What an operation answers: the messages that it removed, or why it was refused.
type Answer = Result<Vec<String>, String>;

#[derive(Clone, Debug)]
enum Edit {
    Append(Target, String),
    Prepend(Target, String),
    Splice(Target, i64, i64, Vec<String>),
    Replace(String, String),
    Remove(String),
    Clear,
    /// A waking send: from idle it claims at a turn's first boundary.
    Wake(String),
    /// The open turn gets to its next boundary and claims there.
    Boundary,
    /// The open turn ends.
    Reject,
}

// The real inbox, inside a machine whose host refuses as it is told.

#[derive(Debug, Default)]
struct Shop {
    log: Vec<Body>,
    announced: Vec<String>,
    /// How many more splice batches are accepted before one is refused; `None` for all.
    accepts: Option<u8>,
}

impl Shop {
    fn splices(&self) -> Vec<&InboxSpliced> {
        splices(&self.log)
    }
}

fn splices(log: &[Body]) -> Vec<&InboxSpliced> {
    log.iter()
        .filter_map(|body| match body {
            Body::InboxSpliced(splice) => Some(splice),
            _ => None,
        })
        .collect()
}

impl Host for Shop {
    fn commit(&mut self, batch: &[Body]) -> Result<Seq, Failure> {
        if matches!(batch[0], Body::InboxSpliced(_))
            && let Some(left) = &mut self.accepts
        {
            let Some(fewer) = left.checked_sub(1) else {
                self.accepts = None;
                return Err(Failure::unknown("full"));
            };
            *left = fewer;
        }
        let first = self.log.len() as Seq;
        self.log.extend_from_slice(batch);
        Ok(first)
    }

    fn publish(&mut self, seq: Seq, body: &Body, agent: DuringDurable<'_>) {
        if matches!(body, Body::InboxSpliced(_)) {
            let before = splices(&self.log[..seq as usize]);
            assert_eq!(
                lists(agent.inbox()),
                fold(before),
                "an observer sees the lists before"
            );
        }
    }

    fn live(&mut self, live: &Live, _: &mut Core) {
        match live {
            Live::Inserted { message } => self.announced.push(format!("inserted {}", message.id)),
            Live::Discarded { message } => self.announced.push(format!("discarded {}", message.id)),
            Live::Claimed { message, .. } => self.announced.push(format!("claimed {}", message.id)),
            _ => {}
        }
    }

    fn fresh_id(&mut self) -> MessageId {
        format!("made-{}", self.log.len()).into()
    }

    fn classify(&mut self, _: &CallId, _: &str, _: &str) -> Overlap {
        Overlap::Parallel
    }
}

fn lists(inbox: &Inbox) -> Lists {
    [Target::NextTurn, Target::NextStep].map(|target| {
        let list = inbox.list(target).iter();
        list.map(|message| message.id.to_string()).collect()
    })
}

fn perform(machine: &mut Machine, shop: &mut Shop, edit: &Edit) -> Answer {
    let nothing = |()| Vec::new();
    let words = |was: bool| vec![was.to_string()];
    let all = |ids: &[String]| ids.iter().map(|id| message(id)).collect();
    let answer = match edit {
        Edit::Append(target, id) => machine.append(shop, *target, message(id)).map(nothing),
        Edit::Prepend(target, id) => machine.prepend(shop, *target, message(id)).map(nothing),
        Edit::Splice(target, start, delete, ids) => machine
            .splice(shop, *target, *start, *delete, all(ids))
            .map(|removed| {
                removed
                    .iter()
                    .map(|message| message.id.to_string())
                    .collect()
            }),
        Edit::Replace(id, with) => machine
            .replace(shop, &id.as_str().into(), message(with))
            .map(words),
        Edit::Remove(id) => machine.remove(shop, &id.as_str().into()).map(words),
        Edit::Clear => machine.clear(shop).map(nothing),
        Edit::Wake(id) => machine.followup(shop, message(id)).map(nothing),
        Edit::Boundary => Ok(to_next_boundary(machine, shop)),
        Edit::Reject => Ok(decide(machine, shop, Decision::Reject)),
    };
    rest_if_closed(machine, shop);
    answer.map_err(|error| match error {
        EditError::AlreadyPending(error) => error.id.to_string(),
        EditError::Refused(_) => "log".into(),
        EditError::Disposed(_) => "disposed".into(),
    })
}

fn decide(machine: &mut Machine, shop: &mut Shop, decision: Decision) -> Vec<String> {
    if !machine.is_quiet() {
        end_all(
            machine,
            shop,
            [End::Assembled(Ok(None)), End::Decided(Ok(decision))],
        );
    }
    Vec::new()
}

/// One step with a tool call, so that the turn goes on to another boundary whatever is pending.
fn to_next_boundary(machine: &mut Machine, shop: &mut Shop) -> Vec<String> {
    if machine.is_quiet() {
        return Vec::new();
    }
    decide(machine, shop, Decision::Enter(vec![message("entered")]));
    let block = call("c1");
    let (index, reason) = (0, Finish::ToolCalls);
    let step = [
        End::Requested(Ok(route("mock", 1))),
        End::Chunk(ChunkKind::BlockEnd { index, block }.into()),
        End::Chunk(ChunkKind::Finish { reason }.into()),
        End::Streamed(Ok(())),
        End::Prepared(0, Ok(())),
        End::Ran(0, Ok(ToolOutput::default())),
    ];
    end_all(machine, shop, step);
    Vec::new()
}

fn end_all<const N: usize>(machine: &mut Machine, shop: &mut Shop, ends: [End; N]) {
    for end in ends {
        if let Err(error) = machine.end(shop, end) {
            panic!("{error}");
        }
    }
}

/// A turn that failed or was rejected goes idle; what is pending stays.
fn rest_if_closed(machine: &mut Machine, shop: &mut Shop) {
    if machine.awaits(prestep::agent::machine::Point::Continue) {
        end_all(machine, shop, [End::Continued]);
    }
}

// The model.

#[derive(Debug, Default)]
struct Model {
    lists: Lists,
    logged: Vec<String>,
    announced: Vec<String>,
    in_turn: bool,
    accepts: Option<u8>,
}

fn index(target: Target) -> usize {
    usize::from(target == Target::NextStep)
}

impl Model {
    fn perform(&mut self, edit: &Edit) -> Answer {
        let nothing = |_| Vec::new();
        let length = |target| self.lists[index(target)].len() as i64;
        match edit {
            Edit::Append(target, id) => {
                let end = length(*target);
                self.splice(*target, end, 0, &[id]).map(nothing)
            }
            Edit::Prepend(target, id) => self.splice(*target, 0, 0, &[id]).map(nothing),
            Edit::Splice(target, start, delete, ids) => {
                let ids: Vec<&String> = ids.iter().collect();
                self.splice(*target, *start, *delete, &ids)
            }
            Edit::Replace(id, with) => self.exchange(id, &[with]),
            Edit::Remove(id) => self.exchange(id, &[]),
            Edit::Clear => {
                self.splice(Target::NextStep, 0, i64::MAX, &[])?;
                self.splice(Target::NextTurn, 0, i64::MAX, &[]).map(nothing)
            }
            Edit::Wake(id) => {
                let end = length(Target::NextTurn);
                self.splice(Target::NextTurn, end, 0, &[id])?;
                if !self.in_turn {
                    self.in_turn = self.claim(1);
                }
                Ok(Vec::new())
            }
            Edit::Boundary => {
                self.in_turn = self.in_turn && self.claim(0);
                Ok(Vec::new())
            }
            Edit::Reject => {
                self.in_turn = false;
                Ok(Vec::new())
            }
        }
    }

    fn exchange(&mut self, id: &str, with: &[&String]) -> Answer {
        for target in [Target::NextTurn, Target::NextStep] {
            let list = &self.lists[index(target)];
            if let Some(place) = list.iter().position(|pending| pending == id) {
                self.splice(target, place as i64, 1, with)?;
                return Ok(vec!["true".into()]);
            }
        }
        Ok(vec!["false".into()])
    }

    /// A splice in the coordinates of a standard array.
    fn splice(&mut self, target: Target, start: i64, delete: i64, ids: &[&String]) -> Answer {
        let length = self.lists[index(target)].len() as i128;
        let start = i128::from(start);
        let start = if start < 0 {
            (length + start).max(0)
        } else {
            start.min(length)
        };
        let count = i128::from(delete).clamp(0, length - start);
        if count == 0 && ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut after = self.lists.clone();
        let range = start as usize..(start + count) as usize;
        let removed: Vec<String> = after[index(target)].drain(range.clone()).collect();
        let inserted = ids.iter().map(|id| (*id).clone());
        after[index(target)].splice(start as usize..start as usize, inserted);
        // The lists as they would be name the first identity that comes a second time.
        let all = after.concat();
        let twice = (0..all.len()).find(|place| all[..*place].contains(&all[*place]));
        if let Some(place) = twice {
            return Err(all[place].clone());
        }
        self.accept()?;
        self.lists = after;
        self.log(target, start as usize, removed.len(), ids);
        self.announce("discarded", removed.iter());
        self.announce("inserted", ids.iter().copied());
        Ok(removed)
    }

    /// All of next-step, then so many of next-turn, in one; whether it was accepted.
    fn claim(&mut self, of_turn: usize) -> bool {
        let of_turn = of_turn.min(self.lists[0].len());
        let of_step = self.lists[1].len();
        if of_step + of_turn == 0 {
            return true;
        }
        if self.accept().is_err() {
            return false;
        }
        let mut batch: Vec<String> = self.lists[1].drain(..).collect();
        batch.extend(self.lists[0].drain(..of_turn));
        for (target, count) in [("next-step", of_step), ("next-turn", of_turn)] {
            if count > 0 {
                self.logged.push(format!("{target}[0]-{count}"));
            }
        }
        self.announce("claimed", batch.iter());
        true
    }

    fn accept(&mut self) -> Result<(), String> {
        match self.accepts {
            Some(0) => {
                self.accepts = None;
                Err("log".into())
            }
            Some(left) => {
                self.accepts = Some(left - 1);
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn log(&mut self, target: Target, start: usize, removed: usize, ids: &[&String]) {
        let mut line = format!("{}[{start}]", target.as_str());
        if removed > 0 {
            line += &format!("-{removed}");
        }
        ids.iter().for_each(|id| line += &format!("+{id}"));
        if removed > 0 {
            line += " canceled";
        }
        self.logged.push(line);
    }

    fn announce<'a>(&mut self, what: &str, ids: impl Iterator<Item = &'a String>) {
        self.announced.extend(ids.map(|id| format!("{what} {id}")));
    }
}

// The properties.

fn id() -> impl Strategy<Value = String> {
    "[a-f]"
}

fn target() -> impl Strategy<Value = Target> {
    prop_oneof![Just(Target::NextTurn), Just(Target::NextStep)]
}

/// Mostly near the lists, and sometimes anywhere.
fn coordinate() -> impl Strategy<Value = i64> {
    prop_oneof![
        8 => -4..6_i64,
        1 => any::<i64>(),
        1 => prop_oneof![Just(i64::MIN), Just(i64::MAX)],
    ]
}

fn edit() -> impl Strategy<Value = Edit> {
    let ids = prop::collection::vec(id(), 0..4);
    prop_oneof![
        3 => (target(), id()).prop_map(|(target, id)| Edit::Append(target, id)),
        2 => (target(), id()).prop_map(|(target, id)| Edit::Prepend(target, id)),
        4 => (target(), coordinate(), coordinate(), ids)
            .prop_map(|(target, start, delete, ids)| Edit::Splice(target, start, delete, ids)),
        2 => (id(), id()).prop_map(|(id, with)| Edit::Replace(id, with)),
        2 => id().prop_map(Edit::Remove),
        1 => Just(Edit::Clear),
        2 => id().prop_map(Edit::Wake),
        2 => Just(Edit::Boundary),
        1 => Just(Edit::Reject),
    ]
}

/// The contract's form of a logged splice, given the length of its list before.
fn is_normalised(splice: &InboxSpliced, length: usize) -> bool {
    let removed = splice.removed_count.map_or(0, |count| count.get() as usize);
    let in_range = splice.start as usize + removed <= length;
    let changes = removed > 0 || !splice.inserted.is_empty();
    let is_claim = removed > 0 && splice.outcome.is_none();
    in_range
        && changes
        && (splice.outcome.is_none() || removed > 0)
        && (!is_claim || splice.inserted.is_empty())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_edit_logs_announces_and_answers_as_two_plain_lists_would(
        edits in prop::collection::vec((edit(), prop::option::weighted(0.2, 0..2_u8)), 0..40),
    ) {
        let (mut machine, mut shop) = (Machine::new(Limits::default()), Shop::default());
        let mut model = Model::default();
        for (edit, accepts) in edits {
            (shop.accepts, model.accepts) = (accepts, accepts);
            let answer = perform(&mut machine, &mut shop, &edit);
            prop_assert_eq!(answer, model.perform(&edit), "{:?}", edit);
            prop_assert_eq!(lists(machine.inbox()), model.lists.clone());
            prop_assert_eq!(!machine.is_quiet(), model.in_turn);
        }
        let logged: Vec<String> = splices(&shop.log)
            .into_iter()
            .map(|splice| line(&Body::InboxSpliced(splice.clone())))
            .collect();
        prop_assert_eq!(logged, model.logged);
        prop_assert_eq!(shop.announced, model.announced);
    }

    #[test]
    fn folding_the_log_rebuilds_both_lists_at_every_point(
        edits in prop::collection::vec(edit(), 0..40),
    ) {
        let (mut machine, mut shop) = (Machine::new(Limits::default()), Shop::default());
        let mut folded = Inbox::default();
        let mut done = 0;
        for edit in edits {
            drop(perform(&mut machine, &mut shop, &edit));
            for splice in &shop.splices()[done..] {
                prop_assert!(is_normalised(splice, folded.list(splice.target).len()));
                prop_assert!(folded.apply(splice).is_ok());
                done += 1;
            }
            prop_assert_eq!(&folded, machine.inbox());
            prop_assert_eq!(fold(shop.splices()), lists(machine.inbox()));
        }
    }

    #[test]
    fn a_refused_edit_changes_nothing(
        edits in prop::collection::vec(edit(), 0..20),
        refused in edit(),
    ) {
        let (mut machine, mut shop) = (Machine::new(Limits::default()), Shop::default());
        for edit in edits {
            drop(perform(&mut machine, &mut shop, &edit));
        }
        let before = (lists(machine.inbox()), shop.splices().len(), shop.announced.clone());
        shop.accepts = Some(0);
        drop(perform(&mut machine, &mut shop, &refused));
        prop_assert_eq!((lists(machine.inbox()), shop.splices().len(), shop.announced), before);
    }
}
