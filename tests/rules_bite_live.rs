//! The rules of live events and schedules notice faults: one doctored run for each.
//!
//! A doctoring alters the records of a run of the unchanged agent at one place, as a fault of that
//! kind would. Not here: that the rules hold where nothing is wrong (`rules_on_runs`).

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::num::NonZeroU32;

use prestep::event::{
    Answer, Body, CallId, CancelCause, EndReason, Event, Live, MessageId, Op, Record, Resting,
    Returned, Status, Target,
};
use prestep::rules::example::{at_seq, cancel, insert, step_start, turn_start};
use prestep::rules::{Judge, RULES, Scope, Verdict};
use prestep::sim::chooser::{Random, Seed};
use prestep::sim::run::run;
use prestep::sim::scenario::Scenario;

/// What stands in the place of a record and those after it: how many go, and what comes.
type Doctored = Option<(usize, Vec<Record>)>;

/// Alters a run at a place, if there is something to alter.
type Doctor = fn(&[Record], usize) -> Doctored;

/// How many seeds are looked at for a run that can be doctored.
const SEEDS: u64 = 3_000;

const TABLE: [(&str, Doctor); 45] = [
    ("durable-before-live", |run, at| match &run[at..] {
        // The notice comes before its splice.
        [
            splice @ Record::Durable(_),
            lists @ Record::Lists(_),
            notice @ Record::Live(_),
            ..,
        ] => Some((3, vec![notice.clone(), splice.clone(), lists.clone()])),
        _ => None,
    }),
    ("observer-sees-the-list-before", |run, at| match &run[at] {
        // An observer sees a message that is not there yet.
        Record::Lists(lists) => {
            let mut lists = lists.clone();
            lists.next_turn.push("more".into());
            Some((1, vec![Record::Lists(lists)]))
        }
        _ => None,
    }),
    ("inserted-once-per-insertion", |run, at| {
        live(&run[at], |live| matches!(live, Live::Inserted { .. })).then(|| (1, Vec::new()))
    }),
    ("discarded-once-per-removal", |run, at| {
        live(&run[at], |live| matches!(live, Live::Discarded { .. })).then(|| (1, Vec::new()))
    }),
    ("discarded-before-inserted", |run, at| match &run[at..] {
        [
            old @ Record::Live(Live::Discarded { .. }),
            new @ Record::Live(Live::Inserted { .. }),
            ..,
        ] => Some((2, vec![new.clone(), old.clone()])),
        _ => None,
    }),
    ("claimed-once-per-message", |run, at| match &run[at] {
        // Told of another turn.
        Record::Live(Live::Claimed { message, turn }) => {
            let (message, turn) = (message.clone(), turn + 1);
            Some((1, vec![Record::Live(Live::Claimed { message, turn })]))
        }
        _ => None,
    }),
    ("live-payloads-are-minimal", |run, at| {
        let surplus = Record::Surplus {
            live: "agent/inbox/claimed".into(),
            member: "outcome".into(),
        };
        live(&run[at], |live| matches!(live, Live::Claimed { .. }))
            .then(|| (1, vec![run[at].clone(), surplus]))
    }),
    ("blocked-or-empty-opens-no-step", |run, at| {
        // A step opens all the same.
        (run[at] == Record::Decided(Answer::Reject))
            .then(|| (1, vec![run[at].clone(), at_seq(0, step_start(1, 1))]))
    }),
    ("claimed-enters-or-ends", drop_user_message),
    ("every-message-has-one-fate", |run, at| {
        live(&run[at], |live| matches!(live, Live::Claimed { .. })).then(|| (1, Vec::new()))
    }),
    ("one-decision-per-claim", |run, at| {
        twice(run, at, |record| matches!(record, Record::Asked { .. }))
    }),
    ("decision-sees-the-claimed-batch", |run, at| {
        match &run[at] {
            Record::Asked {
                messages,
                turn,
                step,
            } if messages.len() > 1 => {
                let messages = messages.iter().rev().cloned().collect();
                let (turn, step) = (*turn, *step);
                Some((
                    1,
                    vec![Record::Asked {
                        messages,
                        turn,
                        step,
                    }],
                ))
            }
            _ => None,
        }
    }),
    ("proposal-names-the-next-step", |run, at| match &run[at] {
        Record::Asked {
            messages,
            turn,
            step,
        } => {
            let (messages, turn, step) = (messages.clone(), *turn, step + 1);
            Some((
                1,
                vec![Record::Asked {
                    messages,
                    turn,
                    step,
                }],
            ))
        }
        _ => None,
    }),
    ("claimed-is-exclusive", |run, at| {
        (run[at] == Record::Returned(Returned::Pending(false)))
            .then(|| (1, vec![Record::Returned(Returned::Pending(true))]))
    }),
    ("decision-after-abort-is-ignored", |run, at| {
        ends_otherwise(&run[at], "aborted", EndReason::Blocked)
    }),
    ("later-empty-entry", |run, at| {
        ends_otherwise(&run[at], "completed", EndReason::Blocked)
    }),
    ("waterfall-nests", |run, at| match &run[at] {
        // Not the outermost.
        Record::PreStep {
            messages,
            turn,
            step,
            ..
        } => Some((
            1,
            vec![Record::PreStep {
                listener: "another".into(),
                messages: messages.clone(),
                turn: *turn,
                step: *step,
            }],
        )),
        _ => None,
    }),
    ("entered-is-the-final-decision", |run, at| {
        twice(run, at, |record| {
            body(record, |body| matches!(body, Body::UserMessage(_)))
        })
    }),
    ("no-retired-extension-point", |run, at| match &run[at] {
        Record::Dispatched { .. } => Some((
            1,
            vec![Record::Dispatched {
                point: "agent/prompt-submit".into(),
            }],
        )),
        _ => None,
    }),
    ("status-alternates", |run, at| {
        twice(run, at, |record| {
            live(record, |live| matches!(live, Live::Status { .. }))
        })
    }),
    ("error-before-turn-end", |run, at| {
        live(&run[at], |live| matches!(live, Live::Error { .. })).then(|| (1, Vec::new()))
    }),
    ("aborted-is-silent", |run, at| {
        twice(run, at, |record| {
            live(record, |live| matches!(live, Live::Error { .. }))
        })
    }),
    ("turn-stopping-only-at-rest", |run, at| {
        twice(run, at, |record| {
            matches!(record, Record::TurnStopping { .. })
        })
    }),
    ("drains-without-idle", |run, at| match &run[at..] {
        [end, start, ..]
            if body(end, |body| matches!(body, Body::TurnEnd(_)))
                && body(start, |body| matches!(body, Body::TurnStart(_))) =>
        {
            Some((1, vec![end.clone(), status(Status::Idle)]))
        }
        _ => None,
    }),
    ("no-turn-after-a-stop", |run, at| {
        // The driver goes on instead of going idle.
        (run[at] == status(Status::Idle)).then(|| (1, vec![at_seq(0, turn_start(99))]))
    }),
    ("nothing-new-after-abort", |run, at| {
        let asked = Record::ModelAsked { turn: 1, step: 1 };
        ends_as(&run[at], "aborted").then(|| (1, vec![asked, run[at].clone()]))
    }),
    ("tool-pool-respected", |run, at| match &run[at] {
        Record::ToolBegun { .. } => {
            let another = Record::ToolBegun {
                call: CallId::from("another"),
                exclusive: true,
            };
            Some((1, vec![run[at].clone(), another]))
        }
        _ => None,
    }),
    ("listener-failure-is-contained", |run, at| {
        // Nobody else sees the publication.
        (at > 0 && run[at - 1] == Record::ObserverFailed).then(|| (1, Vec::new()))
    }),
    ("insert-after-claim-stays-pending", |run, at| {
        match &run[at] {
            // Shown is what came after the claim.
            Record::PreStep {
                listener,
                turn,
                step,
                ..
            } => {
                let inserted = run[..at].iter().rev().find_map(|record| match record {
                    Record::Live(Live::Inserted { message }) => Some(message.id.clone()),
                    _ => None,
                });
                Some((
                    1,
                    vec![Record::PreStep {
                        listener: listener.clone(),
                        messages: vec![inserted?],
                        turn: *turn,
                        step: *step,
                    }],
                ))
            }
            _ => None,
        }
    }),
    ("send-goes-to-the-end", |run, at| {
        alter_splice(&run[at], |splice| {
            let appends = splice.start > 0 && splice.removed_count.is_none();
            appends.then(|| splice.start = 0)
        })
    }),
    ("wake-opens-a-turn", |run, at| {
        (run[at] == status(Status::Running)).then(|| (1, Vec::new()))
    }),
    ("late-wake-goes-to-next-turn", |run, at| {
        alter_splice(&run[at], |splice| {
            let queues = splice.target == Target::NextTurn && !splice.inserted.is_empty();
            queues.then(|| splice.target = Target::NextStep)
        })
    }),
    ("classified-before-insertion", |run, at| {
        alter_splice(&run[at], |splice| {
            let steers = splice.target == Target::NextStep && !splice.inserted.is_empty();
            steers.then(|| splice.target = Target::NextTurn)
        })
    }),
    ("reject-leaves-the-batch-removed", |run, at| {
        // The batch is put back.
        let back = at_seq(0, insert(Target::NextTurn, 0, &["back"]));
        (run[at] == Record::Decided(Answer::Reject)).then(|| (1, vec![run[at].clone(), back]))
    }),
    ("cancel-closes-balanced", |run, at| {
        ends_otherwise(&run[at], "aborted", EndReason::aborted(CancelCause::Legacy))
    }),
    ("cancel-keeps-or-clears", |run, at| match &run[at] {
        // A cancel that keeps clears.
        Record::Act {
            op: Op::Cancel {
                keep_inbox: true, ..
            },
            ..
        } => Some((
            1,
            vec![run[at].clone(), at_seq(0, cancel(Target::NextTurn, 0, 1))],
        )),
        _ => None,
    }),
    ("idle-cancel-is-harmless", |run, at| {
        ends_otherwise(&run[at], "completed", EndReason::aborted(CancelCause::User))
    }),
    ("wake-is-never-lost-in-convergence", |run, at| {
        let restarts =
            at > 0 && run[at - 1] == status(Status::Idle) && run[at] == status(Status::Running);
        // The latch is lost: the agent rests.
        restarts.then(|| (run.len() - at, vec![resting()]))
    }),
    ("no-wake-without-asking", |run, at| {
        let parked = |resting: &Resting| resting.quiet && !resting.lists.next_step.is_empty();
        let rests = matches!(&run[at], Record::Rest(resting) if parked(resting));
        rests.then(|| (1, vec![run[at].clone(), status(Status::Running)]))
    }),
    ("at-most-one-driver", |run, at| {
        twice(run, at, |record| {
            body(record, |body| matches!(body, Body::TurnStart(_)))
        })
    }),
    ("idle-when-quiet", |run, at| {
        matches!(run[at], Record::Idle(_)).then(|| (1, Vec::new()))
    }),
    ("failed-append-changes-nothing", |run, at| {
        // What was refused is told of.
        let splices = body(&run[at], |body| matches!(body, Body::InboxSpliced(_)));
        splices.then(|| (2, vec![Record::AppendRefused]))
    }),
    ("replay-equals-live", rest_with_one_more),
    ("resume-equals-never-crashed", |run, at| {
        // The process dies, and the next one knows nothing.
        let resumed = Record::Resumed {
            lists: prestep::event::Lists::default(),
            last_turn: 0,
        };
        body(&run[at], |body| matches!(body, Body::TurnEnd(_))).then(|| {
            (
                run.len() - at,
                vec![run[at].clone(), Record::Crashed, resumed],
            )
        })
    }),
    ("late-subscriber-sees-the-same", rest_with_one_more),
];

fn live(record: &Record, is_meant: impl Fn(&Live) -> bool) -> bool {
    matches!(record, Record::Live(live) if is_meant(live))
}

fn body(record: &Record, is_meant: impl Fn(&Body) -> bool) -> bool {
    matches!(record, Record::Durable(event) if is_meant(&event.body))
}

fn status(status: Status) -> Record {
    Record::Live(Live::Status { status })
}

fn resting() -> Record {
    Record::Rest(Resting {
        lists: prestep::event::Lists::default(),
        status: Status::Idle,
        quiet: true,
        held: Vec::new(),
    })
}

fn twice(run: &[Record], at: usize, is_meant: impl Fn(&Record) -> bool) -> Doctored {
    is_meant(&run[at]).then(|| (1, vec![run[at].clone(), run[at].clone()]))
}

fn drop_user_message(run: &[Record], at: usize) -> Doctored {
    body(&run[at], |body| matches!(body, Body::UserMessage(_))).then(|| (1, Vec::new()))
}

fn rest_with_one_more(run: &[Record], at: usize) -> Doctored {
    let Record::Rest(resting) = &run[at] else {
        return None;
    };
    let mut resting = resting.clone();
    resting.lists.next_turn.push(MessageId::from("more"));
    Some((1, vec![Record::Rest(resting)]))
}

fn ends_as(record: &Record, kind: &str) -> bool {
    body(record, |body| match body {
        Body::TurnEnd(ended) => serde_json::to_value(&ended.reason).unwrap()["kind"] == kind,
        _ => false,
    })
}

/// A turn that ends so ends in another way.
fn ends_otherwise(record: &Record, kind: &str, reason: EndReason) -> Doctored {
    if !ends_as(record, kind) {
        return None;
    }
    let mut record = record.clone();
    if let Record::Durable(Event {
        body: Body::TurnEnd(ended),
        ..
    }) = &mut record
    {
        ended.reason = reason;
    }
    Some((1, vec![record]))
}

fn alter_splice(
    record: &Record,
    alter: impl Fn(&mut prestep::event::InboxSpliced) -> Option<()>,
) -> Doctored {
    let mut record = record.clone();
    match &mut record {
        Record::Durable(Event {
            body: Body::InboxSpliced(splice),
            ..
        }) => alter(splice)?,
        _ => return None,
    }
    Some((1, vec![record]))
}

fn broken(records: &[Record]) -> Vec<&'static str> {
    let mut judge = Judge::default();
    let mut verdict = Verdict::new(RULES.len());
    for record in records {
        judge.feed_record(record, &mut verdict);
    }
    judge.end(&mut verdict);
    let found = verdict.violations.iter();
    found.map(|found| found.rule.about().name).collect()
}

/// The first run and place where the doctoring breaks the rule.
fn first_bite(rule: &str, doctor: Doctor) -> Option<(u64, usize)> {
    (0..SEEDS).find_map(|seed| {
        let records = run(Random::new(Seed(seed)), &Scenario::default()).records;
        if broken(&records).contains(&rule) {
            return None;
        }
        let bites = |at: &usize| {
            let Some((count, comes)) = doctor(&records, *at) else {
                return false;
            };
            let doctored = [&records[..*at], &comes, &records[at + count..]].concat();
            broken(&doctored).contains(&rule)
        };
        (0..records.len()).find(bites).map(|at| (seed, at))
    })
}

#[test]
fn every_rule_breaks_on_its_doctored_run() {
    let toothless: Vec<_> = TABLE
        .iter()
        .filter(|(rule, doctor)| first_bite(rule, *doctor).is_none())
        .map(|(rule, _)| *rule)
        .collect();
    assert_eq!(toothless, [""; 0]);
}

#[test]
fn every_rule_that_needs_a_run_has_a_doctoring_but_the_advice() {
    let named: Vec<_> = TABLE.iter().map(|(rule, _)| *rule).collect();
    let needed: Vec<_> = RULES
        .iter()
        .filter(|about| about.scope != Scope::Log && !about.advice)
        .map(|about| about.name)
        .collect();
    assert_eq!(named, needed);
}

/// The advice needs no fault: it speaks of what the contract allows.
#[test]
fn the_advice_comes_up_on_a_run_that_nobody_doctored() {
    let advises = |seed| {
        let records = run(Random::new(Seed(seed)), &Scenario::default()).records;
        broken(&records).contains(&"stranded-wake")
    };
    assert!((0..SEEDS).any(advises));
}

/// What a doctoring that removes a whole list's claim looks like to the rules of the live stream.
#[test]
fn a_claim_that_says_canceled_owes_other_notices() {
    let doctor: Doctor = |run, at| {
        alter_splice(&run[at], |splice| {
            let claims = splice.removed_count == NonZeroU32::new(1) && splice.outcome.is_none();
            claims.then(|| splice.outcome = Some(prestep::event::Outcome::Canceled))
        })
    };
    assert!(first_bite("claimed-once-per-message", doctor).is_some());
    assert!(first_bite("discarded-once-per-removal", doctor).is_some());
}
