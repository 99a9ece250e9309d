//! Which live inbox events are owed: each splice owes one for every message that it moved.
//!
//! Observers act in the midst of publications, so what a splice owes can be interrupted by other
//! splices with notices of their own; they are told apart by how many operations are going on. Not
//! here: what is wrong with a notice that is not owed; the rules say that.

use std::sync::Arc;

use super::fact::{Fact, Kind, Seen, Spliced};
use super::finding::Mark;
use crate::event::Live;

/// What is owed, by splice, the innermost last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Notices(Vec<Owing>);

/// What one splice, or one claim, owes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Owing {
    /// How many operations were going on.
    depth: usize,
    /// The splice; the first of a claim.
    pub cause: Mark,
    /// Whether it is a claim.
    pub is_claim: bool,
    /// What is still to be told, in order.
    pub owed: Vec<Notice>,
    /// What was told.
    pub told: Vec<Notice>,
}

/// One live inbox event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Notice {
    /// Which.
    pub kind: NoticeKind,
    /// Of which message.
    pub id: Arc<str>,
}

/// The kinds of live inbox events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names of the live events")]
pub enum NoticeKind {
    Inserted,
    Discarded,
    Claimed,
}

impl Owing {
    /// The first that is still to be told of a kind.
    #[must_use]
    pub fn next(&self, kind: NoticeKind) -> Option<&Notice> {
        self.owed.iter().find(|notice| notice.kind == kind)
    }

    /// Whether it owes that, or did.
    #[must_use]
    pub fn explains(&self, kind: NoticeKind, id: &str) -> bool {
        let mut all = self.owed.iter().chain(&self.told);
        all.any(|notice| notice.kind == kind && *notice.id == *id)
    }
}

impl Notices {
    /// What the last splice of the innermost operation owes, until that operation goes on.
    #[must_use]
    pub fn current(&self, depth: usize) -> Option<&Owing> {
        self.0.last().filter(|owing| owing.depth == depth)
    }

    /// Whether anything is still to be told.
    #[must_use]
    pub fn is_owed(&self) -> bool {
        self.0.iter().any(|owing| !owing.owed.is_empty())
    }

    /// What can not be told any more after this fact, `depth` being how many operations are going
    /// on.
    #[must_use]
    pub fn closed_by(&self, seen: &Seen<'_>, depth: usize) -> &[Owing] {
        if !self.closes(seen, depth) {
            return &[];
        }
        let open = self.0.partition_point(|owing| owing.depth < depth);
        &self.0[open..]
    }

    fn closes(&self, seen: &Seen<'_>, depth: usize) -> bool {
        if let Fact::Spliced(splice) = seen.fact {
            return !self.goes_on(&splice, depth);
        }
        !matches!(
            seen.fact.kind(),
            Kind::Inserted
                | Kind::Discarded
                | Kind::Claimed
                | Kind::Surplus
                | Kind::Lists
                | Kind::React
                | Kind::ObserverFailed
                | Kind::Crashed
        )
    }

    /// Whether a splice is the second of the claim that owes now.
    fn goes_on(&self, splice: &Spliced<'_>, depth: usize) -> bool {
        let claim = self.current(depth).filter(|owing| owing.is_claim);
        splice.is_claim() && claim.is_some_and(|owing| owing.told.is_empty())
    }

    /// Follows a fact; `removed` is what a splice removes.
    pub(super) fn follow<'a>(
        &mut self,
        seen: &Seen<'_>,
        depth: usize,
        removed: impl Iterator<Item = &'a Arc<str>>,
    ) {
        if self.closes(seen, depth) {
            self.0.retain(|owing| owing.depth < depth);
        }
        match seen.fact {
            Fact::Spliced(splice) => self.owe(seen.mark, &splice, depth, removed),
            Fact::Live(live) => self.tell(live, depth),
            _ if seen.fact.kind() == Kind::Crashed => self.0.clear(),
            _ => {}
        }
    }

    fn owe<'a>(
        &mut self,
        cause: Mark,
        splice: &Spliced<'_>,
        depth: usize,
        removed: impl Iterator<Item = &'a Arc<str>>,
    ) {
        let is_claim = splice.is_claim();
        let gone = if is_claim {
            NoticeKind::Claimed
        } else {
            NoticeKind::Discarded
        };
        let removed = removed.map(|id| Notice {
            kind: gone,
            id: id.clone(),
        });
        let inserted = splice.inserted.iter().map(|id| Notice {
            kind: NoticeKind::Inserted,
            id: id.into(),
        });
        let owed = removed.chain(inserted);
        if self.goes_on(splice, depth)
            && let Some(claim) = self.0.last_mut()
        {
            claim.owed.extend(owed);
            return;
        }
        self.0.push(Owing {
            depth,
            cause,
            is_claim,
            owed: owed.collect(),
            told: Vec::new(),
        });
    }

    fn tell(&mut self, live: &Live, depth: usize) {
        let Some((kind, id)) = notice_of(live) else {
            return;
        };
        let Some(owing) = self.0.last_mut().filter(|owing| owing.depth == depth) else {
            return;
        };
        let told = owing
            .owed
            .iter()
            .position(|notice| notice.kind == kind && *notice.id == *id);
        if let Some(place) = told {
            owing.told.push(owing.owed.remove(place));
        }
    }
}

/// Which live inbox event that is, if it is one.
#[must_use]
pub(super) fn notice_of(live: &Live) -> Option<(NoticeKind, &str)> {
    match live {
        Live::Inserted { message } => Some((NoticeKind::Inserted, message.id.as_str())),
        Live::Discarded { message } => Some((NoticeKind::Discarded, message.id.as_str())),
        Live::Claimed { message, .. } => Some((NoticeKind::Claimed, message.id.as_str())),
        _ => None,
    }
}
