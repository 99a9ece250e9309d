//! Members that a type does not know, carried along.
//!
//! Not here: any meaning. They are printed back where they were read, and compared as JSON.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// The unknown members of an object, for `#[serde(flatten)]`. Empty for what this program writes,
/// and then a null pointer wide.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Extra(Option<Box<Map<String, Value>>>);

impl Extra {
    /// No member.
    pub const NONE: Self = Self(None);

    /// Whether there is no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The member of that name, if it is there.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.as_ref().and_then(|map| map.get(name))
    }

    /// The members, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        let members = self.0.iter().flat_map(|map| map.iter());
        members.map(|(name, value)| (name.as_str(), value))
    }

    /// These members and one more; one of the same name is replaced.
    #[must_use]
    pub fn with(self, name: &str, value: Value) -> Self {
        let mut map = self.0.unwrap_or_default();
        map.insert(name.into(), value);
        Self(Some(map))
    }
}

impl From<Map<String, Value>> for Extra {
    fn from(map: Map<String, Value>) -> Self {
        Self((!map.is_empty()).then(|| Box::new(map)))
    }
}

impl Serialize for Extra {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Extra {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Map::deserialize(deserializer)?.into())
    }
}

impl JsonSchema for Extra {
    fn schema_name() -> Cow<'static, str> {
        "Extra".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_members_are_none_however_they_came() {
        assert_eq!(Extra::from(Map::new()), Extra::NONE);
    }

    #[test]
    fn a_member_of_the_same_name_is_replaced() {
        let extra = Extra::NONE.with("a", 1.into()).with("a", 2.into());
        let members: Vec<_> = extra.iter().collect();
        assert_eq!(members, [("a", &Value::from(2))]);
    }
}
