//! The signal that an activity is cancelled, for plugins, models and tools.
//!
//! Not here: cancelling; the agent's operations do.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use crate::event::CancelCause;

/// Says once, and then for good, that its activity is cancelled. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Signal(Rc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    cause: RefCell<Option<CancelCause>>,
    waiting: RefCell<Vec<Waker>>,
}

impl Signal {
    /// The cause, once there is one.
    #[must_use]
    pub fn cause(&self) -> Option<CancelCause> {
        self.0.cause.borrow().clone()
    }

    /// Whether the activity is cancelled.
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        self.0.cause.borrow().is_some()
    }

    /// Resolves when the activity is cancelled; never, when it ends otherwise.
    #[must_use]
    pub fn aborted(&self) -> Aborted {
        Aborted(self.clone())
    }

    pub(super) fn abort(&self, cause: &CancelCause) {
        self.0
            .cause
            .borrow_mut()
            .get_or_insert_with(|| cause.clone());
        let waiting = std::mem::take(&mut *self.0.waiting.borrow_mut());
        waiting.into_iter().for_each(Waker::wake);
    }
}

/// See [`Signal::aborted`].
#[derive(Debug)]
pub struct Aborted(Signal);

impl Future for Aborted {
    type Output = CancelCause;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<CancelCause> {
        let inner = &self.0.0;
        match &*inner.cause.borrow() {
            Some(cause) => Poll::Ready(cause.clone()),
            None => {
                remember(&mut inner.waiting.borrow_mut(), cx.waker());
                Poll::Pending
            }
        }
    }
}

/// Adds a waker unless one of the same task waits already.
pub(super) fn remember(waiting: &mut Vec<Waker>, waker: &Waker) {
    if !waiting.iter().any(|other| other.will_wake(waker)) {
        waiting.push(waker.clone());
    }
}
