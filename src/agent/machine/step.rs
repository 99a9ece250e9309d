//! Inside a step: the request, the model's stream, and what to do when it fails.
//!
//! Not here: the step's bracket (`turn`), the pieces (`stream`), its tools (`tools`).

use std::sync::Arc;

use crate::event::{
    AssistantMessage, AssistantSaid, Block, Body, Chunk, ChunkKind, Chunked, Extra, Failure,
    Finish, RequestHeader, RequestReason, Source, Surface,
};

use super::stream::{self, Attempt};
use super::tools::ToolRun;
use super::turn::{At, Ended};
use super::{Core, Host, Recovery, Route};

impl Core {
    /// Asks for the route of a request.
    pub(super) fn request<H: Host + ?Sized>(&mut self, host: &mut H) {
        if self.is_aborted() {
            return self.close_step(host, Ok(None));
        }
        self.at = At::Requesting;
    }

    pub(super) fn requested<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        result: Result<Route, Failure>,
    ) {
        let logged = match result {
            _ if self.is_aborted() => return self.close_step(host, Ok(None)),
            Ok(route) => self.log_route(host, &route).map(|()| route),
            Err(failure) => Err(failure),
        };
        match logged {
            _ if self.is_aborted() => self.close_step(host, Ok(None)),
            Ok(route) => self.at = At::Streaming(Attempt::new(route)),
            Err(failure) => self.close_step(host, Err(failure)),
        }
    }

    /// Logs header and context of a request where the log does not say the same already.
    fn log_route<H: Host + ?Sized>(&mut self, host: &mut H, route: &Route) -> Result<(), Failure> {
        let reason = match &self.route.header {
            None => Some(RequestReason::Initial),
            Some(_) if !self.route.own => Some(RequestReason::Resume),
            Some(last) if *last != route.header => Some(RequestReason::Change),
            Some(_) => None,
        };
        if let Some(reason) = reason {
            let header = route.header.as_ref().clone();
            self.log(
                host,
                &Body::RequestHeader(RequestHeader {
                    header,
                    reason,
                    extra: Extra::NONE,
                }),
            )?;
            self.route.header = Some(route.header.clone());
            self.route.own = true;
        }
        if self.route.context.as_ref() != Some(&route.context) {
            self.log(host, &Body::RequestContext(route.context.clone()))?;
            self.route.context = Some(route.context.clone());
        }
        Ok(())
    }

    pub(super) fn chunk<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        mut attempt: Attempt,
        chunk: Chunk,
    ) {
        if self.is_aborted() {
            return self.cut_off(host, &attempt);
        }
        match self.log_chunk(host, &mut attempt, chunk) {
            Ok(()) => self.at = At::Streaming(attempt),
            Err(failure) => self.close_step(host, Err(failure)),
        }
    }

    fn log_chunk<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        attempt: &mut Attempt,
        chunk: Chunk,
    ) -> Result<(), Failure> {
        let (turn, step) = (self.last_turn, self.step);
        let body = Body::AssistantChunk(Chunked {
            turn,
            step,
            chunk,
            extra: Extra::NONE,
        });
        let seq = self.log(host, &body)?;
        if let Body::AssistantChunk(logged) = body {
            attempt.add(seq, logged.chunk);
        }
        Ok(())
    }

    pub(super) fn streamed<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        mut attempt: Attempt,
        result: Result<(), Failure>,
    ) {
        if self.is_aborted() {
            return self.cut_off(host, &attempt);
        }
        if let Err(failure) = result {
            // A stream that breaks is logged as one that finished with an error.
            let chunk = ChunkKind::Finish {
                reason: Finish::Error { failure },
            }
            .into();
            if let Err(failure) = self.log_chunk(host, &mut attempt, chunk) {
                return self.close_step(host, Err(failure));
            }
        }
        match &attempt.finish {
            _ if self.is_aborted() => self.cut_off(host, &attempt),
            Some(Finish::Error { failure } | Finish::Aborted { failure }) => {
                self.at = At::Recovering(failure.clone());
            }
            _ => self.answer(host, &attempt),
        }
    }

    /// The model has answered: its message, then its tools.
    fn answer<H: Host + ?Sized>(&mut self, host: &mut H, attempt: &Attempt) {
        let mut content = attempt.content();
        let is_cut = attempt.finish == Some(Finish::MaxTokens);
        if is_cut {
            // What the ceiling cut off is not run, so nothing would ever answer it.
            content.retain(|block| !matches!(block, Block::ToolCall { .. }));
        }
        let calls = stream::calls(&content);
        match self.say(host, attempt, content, false) {
            Err(failure) => self.close_step(host, Err(failure)),
            Ok(()) if is_cut => self.close_step(host, Ok(Some(Ended::MaxTokens))),
            Ok(()) if calls.is_empty() => self.close_step(host, Ok(Some(Ended::Completed))),
            Ok(()) => self.schedule(host, ToolRun::new(calls)),
        }
    }

    /// A cancel cut the stream off: what was visible of it stays, marked interrupted.
    fn cut_off<H: Host + ?Sized>(&mut self, host: &mut H, attempt: &Attempt) {
        let visible = attempt.visible();
        let said = if visible.is_empty() {
            Ok(())
        } else {
            self.say(host, attempt, visible, true)
        };
        self.close_step(host, said.map(|()| None));
    }

    fn say<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        attempt: &Attempt,
        content: Vec<Block>,
        interrupted: bool,
    ) -> Result<(), Failure> {
        let context = &attempt.route.context;
        let source = Source::Model {
            provider: context.provider.clone(),
            model: context.model.clone(),
            extra: Extra::NONE,
        };
        let id = host.fresh_id();
        let said = AssistantSaid {
            turn: self.last_turn,
            step: self.step,
            message: Arc::new(AssistantMessage {
                id,
                content,
                source,
                extra: Extra::NONE,
            }),
            usage: attempt.usage.clone(),
            interrupted,
            extra: Extra::NONE,
            surface: Surface::append_from(attempt.chunks.clone()),
        };
        self.log(host, &Body::AssistantMessage(said)).map(drop)
    }

    pub(super) fn recovered<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        failure: Failure,
        result: Result<Recovery, Failure>,
    ) {
        match result {
            _ if self.is_aborted() => self.close_step(host, Ok(None)),
            Ok(Recovery::Retry) => self.request(host),
            Ok(Recovery::Fail) => self.close_step(host, Err(failure)),
            Err(thrown) => self.close_step(host, Err(thrown)),
        }
    }
}
