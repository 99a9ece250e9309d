//! The catalogue of events and types, generated from the types.
//!
//! Not here: how a catalogue is shown.
