//! stub
use crate::event::*;
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("refused")]
pub struct StorageError;
pub trait Storage {
    fn commit(&mut self, batch: &[Event]) -> Result<(), StorageError>;
    fn flush(&mut self) -> Result<(), StorageError>;
}
impl Storage for Box<dyn Storage> {
    fn commit(&mut self, batch: &[Event]) -> Result<(), StorageError> {
        (**self).commit(batch)
    }
    fn flush(&mut self) -> Result<(), StorageError> {
        (**self).flush()
    }
}
#[derive(Debug, Default)]
pub struct Memory;
impl Storage for Memory {
    fn commit(&mut self, _: &[Event]) -> Result<(), StorageError> {
        Ok(())
    }
    fn flush(&mut self) -> Result<(), StorageError> {
        Ok(())
    }
}
#[derive(Debug)]
pub struct SessionLog<S> {
    events: Vec<Event>,
    storage: S,
}
impl<S: Storage> SessionLog<S> {
    pub fn new(storage: S) -> Self {
        Self {
            events: vec![],
            storage,
        }
    }
    pub fn resume(storage: S, events: Vec<Event>) -> Result<Self, StorageError> {
        Ok(Self { events, storage })
    }
    pub fn events(&self) -> &[Event] {
        &self.events
    }
    pub fn next_seq(&self) -> Seq {
        self.events.len() as u64
    }
    pub fn flush(&mut self) -> Result<(), StorageError> {
        self.storage.flush()
    }
    pub fn commit(&mut self, time: Time, bodies: Vec<Body>) -> Result<Seq, StorageError> {
        let first = self.next_seq();
        let n = self.events.len();
        self.events
            .extend(
                bodies
                    .into_iter()
                    .zip(first..)
                    .map(|(body, seq)| Event { seq, time, body }),
            );
        if let Err(e) = self.storage.commit(&self.events[n..]) {
            self.events.truncate(n);
            return Err(e);
        }
        Ok(first)
    }
}
