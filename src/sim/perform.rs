//! Carrying an operation out, from a producer or by an observer inside a publication.
//!
//! Not here: when (`world`, `stage`), and what it leads to (the agent).

use std::rc::Rc;

use super::schedule::{Gate, Outcome};
use super::stage::Stage;
use crate::agent::inbox::{AlreadyPending, Inbox};
use crate::agent::machine::{Disposed, EditError, Keep, MaintenanceError};
use crate::agent::shell::{DurableScope, LiveScope};
use crate::event::{Message, MessageId, Op, Record, Refused, Returned, Target, UserMessage};

type Answer = Result<Option<Returned>, Refused>;

/// The message of that identity; its text is the identity.
pub(super) fn message(id: &MessageId) -> Message {
    UserMessage::text(id.clone(), id.as_str())
}

fn messages(ids: &[MessageId]) -> Vec<Message> {
    ids.iter().map(message).collect()
}

/// Performs as a producer, or as an observer of a live event.
pub(super) fn in_live(stage: &Rc<Stage>, scope: &mut LiveScope<'_>, op: &Op) {
    let answer = perform_live(stage, scope, op);
    record(stage, answer);
}

/// Performs as an observer of a durable event: whatever would append is refused.
pub(super) fn in_durable(stage: &Rc<Stage>, scope: &mut DurableScope<'_>, op: &Op) {
    let answer = perform_durable(stage, scope, op);
    record(stage, answer);
}

fn record(stage: &Rc<Stage>, answer: Answer) {
    match answer {
        Ok(None) => {}
        Ok(Some(returned)) => stage.record(Record::Returned(returned)),
        Err(refused) => stage.record(Record::Refused(refused)),
    }
}

fn perform_live(stage: &Rc<Stage>, scope: &mut LiveScope<'_>, op: &Op) -> Answer {
    let done = |result: Result<(), EditError>| result.map(|()| None).map_err(refused);
    match op {
        Op::Followup { id } => done(scope.send(message(id), Target::NextTurn, true)),
        Op::Steer { id } => done(scope.send(message(id), Target::NextStep, true)),
        Op::Inject { id } => done(scope.send(message(id), Target::NextStep, false)),
        Op::Send { id, target, wakeup } => done(scope.send(message(id), *target, *wakeup)),
        Op::Append { target, id } => done(scope.append(*target, message(id))),
        Op::Prepend { target, id } => done(scope.prepend(*target, message(id))),
        Op::Splice {
            target,
            start,
            delete,
            insert,
        } => {
            let removed = scope.splice(*target, *start, *delete, messages(insert));
            removed
                .map(|removed| Some(Returned::Removed(ids(&removed))))
                .map_err(refused)
        }
        Op::Replace { id, with } => pending(scope.replace(id, message(with)).map_err(refused)),
        Op::Remove { id } => pending(scope.remove(id).map_err(refused)),
        Op::Clear => done(scope.clear()),
        Op::Cancel { cause, keep_inbox } => done(scope.cancel(cause.clone(), keep(*keep_inbox))),
        Op::Maintenance => scope
            .run_maintenance(|_| job(stage))
            .map(|()| None)
            .map_err(not_maintained),
        Op::WhenIdle => wait_for_idle(stage),
        Op::Dispose => {
            stage.disposals.set(stage.disposals.get() + 1);
            scope.dispose();
            Ok(None)
        }
    }
}

fn perform_durable(stage: &Rc<Stage>, scope: &mut DurableScope<'_>, op: &Op) -> Answer {
    match op {
        Op::Cancel { cause, keep_inbox } => {
            let cancelled = scope.cancel(cause.clone(), keep(*keep_inbox));
            cancelled
                .map(|()| None)
                .map_err(|Disposed| Refused::Disposed)
        }
        Op::Maintenance => scope
            .run_maintenance(|_| job(stage))
            .map(|()| None)
            .map_err(not_maintained),
        Op::WhenIdle => wait_for_idle(stage),
        Op::Dispose => {
            stage.disposals.set(stage.disposals.get() + 1);
            scope.dispose();
            Ok(None)
        }
        _ => without_append(scope.inbox(), op),
    }
}

/// What an inbox operation comes to where nothing may be appended: what would change nothing is
/// answered, all else is refused.
fn without_append(inbox: &Inbox, op: &Op) -> Answer {
    let taken = |error: AlreadyPending| Refused::AlreadyPending(error.id);
    let append = |target: Target, id| {
        inbox.plan_append(target, message(id)).map_err(taken)?;
        Err(Refused::AppendReentered)
    };
    match op {
        Op::Followup { id } => append(Target::NextTurn, id),
        Op::Steer { id } | Op::Inject { id } => append(Target::NextStep, id),
        Op::Send { id, target, .. } | Op::Append { target, id } | Op::Prepend { target, id } => {
            append(*target, id)
        }
        Op::Splice {
            target,
            start,
            delete,
            insert,
        } => {
            match inbox
                .plan_splice(*target, *start, *delete, messages(insert))
                .map_err(taken)?
            {
                None => Ok(Some(Returned::Removed(Vec::new()))),
                Some(_) => Err(Refused::AppendReentered),
            }
        }
        Op::Replace { id, with } => match inbox.plan_replace(id, message(with)).map_err(taken)? {
            None => Ok(Some(Returned::Pending(false))),
            Some(_) => Err(Refused::AppendReentered),
        },
        Op::Remove { id } => match inbox.find(id) {
            None => Ok(Some(Returned::Pending(false))),
            Some(_) => Err(Refused::AppendReentered),
        },
        _ if inbox.is_empty() => Ok(None),
        _ => Err(Refused::AppendReentered),
    }
}

/// A maintenance job: it holds its gate at once, and settles as that is let go.
fn job(stage: &Rc<Stage>) -> impl Future<Output = ()> + use<> {
    let held = stage.hold_now(Gate::Maintenance);
    let stage = stage.clone();
    async move {
        stage.end_job(match held.await {
            Outcome::Throw(words) => Some(words),
            _ => None,
        });
    }
}

fn wait_for_idle(stage: &Rc<Stage>) -> Answer {
    stage.idle_waits.set(stage.idle_waits.get() + 1);
    Ok(None)
}

fn pending(answer: Result<bool, Refused>) -> Answer {
    answer.map(|was| Some(Returned::Pending(was)))
}

fn ids(messages: &[Message]) -> Vec<MessageId> {
    messages.iter().map(|message| message.id.clone()).collect()
}

fn keep(keep_inbox: bool) -> Keep {
    if keep_inbox {
        Keep::Inbox
    } else {
        Keep::Nothing
    }
}

fn refused(error: EditError) -> Refused {
    match error {
        EditError::AlreadyPending(error) => Refused::AlreadyPending(error.id),
        EditError::Refused(failure) => Refused::Log(failure.message),
        EditError::Disposed(Disposed) => Refused::Disposed,
    }
}

fn not_maintained(error: MaintenanceError) -> Refused {
    match error {
        MaintenanceError::Busy => Refused::Busy,
        MaintenanceError::Disposed(Disposed) => Refused::Disposed,
    }
}
