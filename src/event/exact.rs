//! Reading that loses nothing: a type is used only where it prints back what was read.
//!
//! Not here: which types there are.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::Extra;

/// A type that can keep any JSON value whole.
pub(super) trait Whole {
    /// The value, whole.
    fn whole(value: Value) -> Self;
}

/// The typed form of `value`, if it prints back the same JSON value.
pub(super) fn exact<T: DeserializeOwned + Serialize>(value: &Value) -> Option<T> {
    let typed = T::deserialize(value).ok()?;
    prints_as(&typed, value).then_some(typed)
}

/// Whether that is what `typed` prints.
pub(super) fn prints_as(typed: &impl Serialize, value: &Value) -> bool {
    serde_json::to_value(typed).is_ok_and(|printed| printed == *value)
}

/// For `#[serde(deserialize_with)]`: the typed form where it is exact, else the value whole.
pub(super) fn exact_or_whole<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: DeserializeOwned + Serialize + Whole,
    D: Deserializer<'de>,
{
    let value = Value::deserialize(deserializer)?;
    Ok(exact(&value).unwrap_or_else(|| T::whole(value)))
}

/// Reads an object of which `T` knows a part; the rest is carried along. serde's own `flatten`
/// cannot: a tagged enum leaves in the rest what it has read itself.
pub(super) fn known_and_extra<'de, T, D>(deserializer: D) -> Result<(T, Extra), D::Error>
where
    T: DeserializeOwned + Serialize,
    D: Deserializer<'de>,
{
    let members = Value::deserialize(deserializer)?;
    let known = T::deserialize(&members).map_err(D::Error::custom)?;
    let printed = serde_json::to_value(&known).map_err(D::Error::custom)?;
    let Value::Object(mut rest) = members else {
        return Err(D::Error::custom("not an object"));
    };
    rest.retain(|name, _| printed.get(name).is_none());
    Ok((known, rest.into()))
}
