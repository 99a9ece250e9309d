//! A model, tools and plugins that do what a schedule says: every awaited point is a gate.
//!
//! Like work that ignores an abort, none of them watches its signal. Not here: when a gate is let
//! go (`world`).

use std::collections::VecDeque;
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use serde_json::{Value, json};

use super::perform::message;
use super::schedule::{FinishKind, Gate, Mode, Outcome, ScriptedCall};
use super::stage::{Hold, Stage};
use crate::agent::machine::{Call, Decision, Overlap, Recovery, Route, ToolFailure, ToolOutput};
use crate::agent::shell::{
    ChunkStream, FailedRequest, LocalFuture, Model, ModelRequest, Next, Place, PreStep, Request,
    RequestError, RouteProposal, StepProposal, Tools, TurnStopping,
};
use crate::event::{
    Answer, Block, Chunk, ChunkKind, Extra, Failure, Finish, Message, MessageId, Record,
};

/// Stands outside all listeners and records the one decision. It never waits itself.
#[derive(Debug)]
pub(super) struct Witness(pub(super) Rc<Stage>);

impl PreStep for Witness {
    fn pre_step(
        self: Rc<Self>,
        proposal: Rc<StepProposal>,
        next: Next<StepProposal, Decision>,
    ) -> LocalFuture<Result<Decision, Failure>> {
        Box::pin(async move {
            self.0.dispatch("agent/pre-step");
            self.0.record(Record::Asked {
                messages: ids(&proposal.batch),
                turn: proposal.place.turn,
                step: proposal.place.step,
            });
            let decision = next.run().await;
            self.0.record(Record::Decided(answer(&decision)));
            decision
        })
    }
}

fn answer(decision: &Result<Decision, Failure>) -> Answer {
    match decision {
        Ok(Decision::Enter(messages)) => Answer::Enter(ids(messages)),
        Ok(Decision::Reject) => Answer::Reject,
        Err(failure) => Answer::Failed(failure.message.clone()),
    }
}

/// A pre-step listener of that name.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) stage: Rc<Stage>,
    pub(super) name: Arc<str>,
}

impl PreStep for Listener {
    fn pre_step(
        self: Rc<Self>,
        proposal: Rc<StepProposal>,
        next: Next<StepProposal, Decision>,
    ) -> LocalFuture<Result<Decision, Failure>> {
        Box::pin(async move {
            self.stage.record(Record::PreStep {
                listener: self.name.clone(),
                messages: ids(&proposal.batch),
                turn: proposal.place.turn,
                step: proposal.place.step,
            });
            let decision = self.decide(next).await;
            let answer = answer(&decision);
            self.stage.record(Record::Settled {
                listener: self.name.clone(),
                answer,
            });
            decision
        })
    }
}

impl Listener {
    async fn decide(&self, next: Next<StepProposal, Decision>) -> Result<Decision, Failure> {
        match self.stage.hold(Gate::In(self.name.clone())).await {
            Outcome::Throw(words) => Err(Failure::unknown(words)),
            Outcome::Reject => Ok(Decision::Reject),
            Outcome::Enter(ids) => Ok(Decision::Enter(messages(&ids))),
            Outcome::Wrap => self.wrap(next.run().await?).await,
            _ => next.run().await,
        }
    }

    /// The listener has its inner decision, and makes its own of it.
    async fn wrap(&self, inner: Decision) -> Result<Decision, Failure> {
        let entry = match &inner {
            Decision::Reject => None,
            Decision::Enter(messages) => Some(ids(messages)),
        };
        self.stage.record(Record::PreStepResult {
            listener: self.name.clone(),
            entry,
        });
        let outcome = self.stage.hold(Gate::Out(self.name.clone())).await;
        Ok(match (outcome, inner) {
            (Outcome::Throw(words), _) => return Err(Failure::unknown(words)),
            (Outcome::Reject, _) => Decision::Reject,
            (Outcome::Enter(ids), _) => Decision::Enter(messages(&ids)),
            (Outcome::Before(ids), Decision::Enter(inner)) => {
                Decision::Enter([messages(&ids), inner].concat())
            }
            (Outcome::After(ids), Decision::Enter(inner)) => {
                Decision::Enter([inner, messages(&ids)].concat())
            }
            // Nothing is added to a reject.
            (_, inner) => inner,
        })
    }
}

/// The model, the tools and the other listeners.
#[derive(Debug)]
pub(super) struct Scripted(pub(super) Rc<Stage>);

impl Model for Scripted {
    fn stream(&self, request: ModelRequest) -> ChunkStream {
        let Place { turn, step, .. } = request.place;
        self.0.record(Record::ModelAsked { turn, step });
        Box::pin(Script {
            stage: self.0.clone(),
            hold: None,
            ready: VecDeque::new(),
            next_index: 0,
            end: None,
        })
    }
}

/// One scripted stream.
struct Script {
    stage: Rc<Stage>,
    hold: Option<Hold>,
    /// Pieces that are said before the gate holds again.
    ready: VecDeque<Chunk>,
    next_index: u32,
    /// How the stream ends once nothing is ready.
    end: Option<Result<(), Failure>>,
}

impl Stream for Script {
    type Item = Result<Chunk, Failure>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(chunk) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(chunk)));
            }
            match self.end.take() {
                Some(Ok(())) => return Poll::Ready(None),
                Some(Err(failure)) => return Poll::Ready(Some(Err(failure))),
                None => {}
            }
            let stage = self.stage.clone();
            let hold = self.hold.get_or_insert_with(|| stage.hold(Gate::Model));
            let Poll::Ready(outcome) = pin!(hold).poll(cx) else {
                return Poll::Pending;
            };
            self.hold = None;
            self.say(outcome);
        }
    }
}

impl Script {
    fn say(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Throw(words) => self.end = Some(Err(Failure::unknown(words))),
            Outcome::Chunk(text) => {
                let delta = |index| ChunkKind::TextDelta {
                    index,
                    text: text.clone(),
                };
                let block = Block::Text {
                    text: text.clone(),
                    extra: Extra::NONE,
                };
                self.block("text", delta, block);
            }
            Outcome::Calls(calls) => {
                calls.iter().for_each(|call| self.call(call));
                self.finish(Finish::ToolCalls);
            }
            Outcome::Finish(FinishKind::MaxTokens) => self.finish(Finish::MaxTokens),
            Outcome::Finish(FinishKind::Aborted) => {
                self.finish(Finish::Aborted {
                    failure: scripted_failure(),
                });
            }
            Outcome::Finish(FinishKind::Error) => {
                self.finish(Finish::Error {
                    failure: scripted_failure(),
                });
            }
            _ => self.finish(Finish::Stop),
        }
    }

    fn call(&mut self, call: &ScriptedCall) {
        let name: Arc<str> = match call.mode {
            Mode::Exclusive => "alone".into(),
            Mode::Parallel => "shared".into(),
        };
        let arguments: Arc<str> = format!(
            r#"{{"mode":"{}","call":{}}}"#,
            call.mode.as_str(),
            json!(call.id)
        )
        .into();
        let id = call.id.as_ref();
        let delta = |index| ChunkKind::ToolCallDelta {
            index,
            id: id.into(),
            name: name.clone(),
            arguments_delta: arguments.clone(),
        };
        let block = Block::ToolCall {
            id: id.into(),
            name: name.clone(),
            arguments: arguments.clone(),
            extra: Extra::NONE,
        };
        self.block("tool-call", delta, block);
    }

    /// A whole block: start, one delta, end.
    fn block(&mut self, block_type: &str, delta: impl FnOnce(u32) -> ChunkKind, block: Block) {
        let index = self.next_index;
        self.next_index += 1;
        let start = ChunkKind::BlockStart {
            index,
            block_type: block_type.into(),
        };
        let end = ChunkKind::BlockEnd { index, block };
        self.ready
            .extend([start, delta(index), end].map(Chunk::from));
    }

    fn finish(&mut self, reason: Finish) {
        self.ready.push_back(ChunkKind::Finish { reason }.into());
        self.end = Some(Ok(()));
    }
}

fn scripted_failure() -> Failure {
    Failure::coded("scripted failure", "SCRIPTED")
}

impl Tools for Scripted {
    fn classify(&self, call: &Call) -> Overlap {
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or(Value::Null);
        match arguments["mode"].as_str() {
            Some("parallel") => Overlap::Parallel,
            _ => Overlap::Exclusive,
        }
    }

    fn run(&self, call: &Call, _: &Place) -> LocalFuture<Result<ToolOutput, ToolFailure>> {
        let stage = self.0.clone();
        let exclusive = self.classify(call) == Overlap::Exclusive;
        let call = call.id.clone();
        Box::pin(async move {
            let content = vec![Block::text(format!("result {call}"))];
            stage.record(Record::ToolBegun {
                call: call.clone(),
                exclusive,
            });
            let outcome = stage.hold(Gate::Tool(call.as_str().into())).await;
            let concludes = matches!(
                outcome,
                Outcome::Gives {
                    concludes: true,
                    ..
                }
            );
            stage.record(Record::ToolEnded { call, concludes });
            match outcome {
                Outcome::Throw(words) => Err(ToolFailure::text(words.as_ref())),
                Outcome::Gives {
                    contexts,
                    concludes,
                } => {
                    let contexts = messages(&contexts);
                    Ok(ToolOutput {
                        content,
                        contexts,
                        concludes,
                        extra: Extra::NONE,
                    })
                }
                _ => Ok(ToolOutput {
                    content,
                    ..ToolOutput::default()
                }),
            }
        })
    }
}

impl Request for Scripted {
    fn request(
        self: Rc<Self>,
        _: Rc<RouteProposal>,
        next: Next<RouteProposal, Route>,
    ) -> LocalFuture<Result<Route, Failure>> {
        self.0.dispatch("agent/request");
        next.run()
    }
}

impl RequestError for Scripted {
    fn request_error(
        self: Rc<Self>,
        _: Rc<FailedRequest>,
        next: Next<FailedRequest, Recovery>,
    ) -> LocalFuture<Result<Recovery, Failure>> {
        Box::pin(async move {
            self.0.dispatch("agent/request-error");
            match self.0.hold(Gate::RequestError).await {
                Outcome::Throw(words) => Err(Failure::unknown(words)),
                Outcome::Retry => Ok(Recovery::Retry),
                _ => next.run().await,
            }
        })
    }
}

impl TurnStopping for Scripted {
    fn turn_stopping(self: Rc<Self>, place: Place) -> LocalFuture<Result<(), Failure>> {
        Box::pin(async move {
            self.0.dispatch("agent/turn-stopping");
            self.0.record(Record::TurnStopping { turn: place.turn });
            match self.0.hold(Gate::TurnStopping).await {
                Outcome::Throw(words) => Err(Failure::unknown(words)),
                _ => Ok(()),
            }
        })
    }
}

fn ids(messages: &[Message]) -> Vec<MessageId> {
    messages.iter().map(|message| message.id.clone()).collect()
}

fn messages(ids: &[MessageId]) -> Vec<Message> {
    ids.iter().map(message).collect()
}
