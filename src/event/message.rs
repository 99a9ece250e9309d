//! Messages: what people, plugins, the model and tools say.
//!
//! Not here: where a message is pending or when it enters a step.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::catalog::{names, says};
use super::{CallId, Extra, MessageId};

/// A message of a producer, shared between the inbox, the log and the step that it enters.
pub type Message = Arc<UserMessage>;

/// What a person or a plugin says.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(tag = "role", rename = "user")]
#[schemars(rename = "UserMessage", transform = says("role", "user"))]
pub struct UserMessage {
    /// Addresses the message while it is pending.
    pub id: MessageId,
    /// What is said; may be empty.
    pub content: Vec<Block>,
    /// Who said it.
    pub source: Source,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

impl UserMessage {
    /// A message of one text block, from the user.
    #[must_use]
    pub fn text(id: impl Into<MessageId>, text: impl Into<String>) -> Message {
        Arc::new(Self {
            id: id.into(),
            content: vec![Block::text(text)],
            source: Source::User(Extra::NONE),
            extra: Extra::NONE,
        })
    }
}

/// What the model says in one step.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(tag = "role", rename = "assistant")]
#[schemars(rename = "AssistantMessage", transform = says("role", "assistant"))]
pub struct AssistantMessage {
    /// Identity, made by the loop.
    pub id: MessageId,
    /// Text, reasoning and tool calls in the order of the stream; may be empty.
    pub content: Vec<Block>,
    /// The route that answered.
    pub source: Source,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What a tool answers. Its role on the wire is `user` up to version 3 of the log; another role is
/// a member of `extra`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, JsonSchema)]
#[schemars(transform = names("role"))]
pub struct ToolMessage {
    /// Identity, made by the loop.
    pub id: MessageId,
    /// One `tool-result` block; from version 4 on the blocks of the answer itself.
    pub content: Vec<Block>,
    /// The call that it answers.
    pub source: Source,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A message as it is read: serde's own `tag` on a struct is not looked at in reading.
#[derive(Deserialize)]
struct Said<Role> {
    role: Role,
    id: MessageId,
    content: Vec<Block>,
    source: Source,
    #[serde(flatten)]
    extra: Extra,
}

/// The role of a [`UserMessage`].
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum UserRole {
    User,
}

/// The role of an [`AssistantMessage`].
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum AssistantRole {
    Assistant,
}

impl<'de> Deserialize<'de> for UserMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let said = Said::<UserRole>::deserialize(deserializer)?;
        let UserRole::User = said.role;
        Ok(Self {
            id: said.id,
            content: said.content,
            source: said.source,
            extra: said.extra,
        })
    }
}

impl<'de> Deserialize<'de> for AssistantMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let said = Said::<AssistantRole>::deserialize(deserializer)?;
        let AssistantRole::Assistant = said.role;
        Ok(Self {
            id: said.id,
            content: said.content,
            source: said.source,
            extra: said.extra,
        })
    }
}

impl<'de> Deserialize<'de> for ToolMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let said = Said::<Value>::deserialize(deserializer)?;
        let extra = match said.role.as_str() {
            Some("user") => said.extra,
            _ => said.extra.with("role", said.role),
        };
        Ok(Self {
            id: said.id,
            content: said.content,
            source: said.source,
            extra,
        })
    }
}

impl Serialize for ToolMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if self.extra.get("role").is_none() {
            map.serialize_entry("role", "user")?;
        }
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("content", &self.content)?;
        map.serialize_entry("source", &self.source)?;
        for (name, value) in self.extra.iter() {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// Who said a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Source {
    /// A person.
    User(Extra),
    /// A model.
    #[serde(rename_all = "camelCase")]
    Model {
        /// Who serves the model.
        provider: Arc<str>,
        /// Its name there.
        model: Arc<str>,
        /// Members not known here.
        #[serde(flatten)]
        extra: Extra,
    },
    /// A tool.
    #[serde(rename_all = "camelCase")]
    Tool {
        /// The call that is answered.
        call_id: CallId,
        /// Members not known here.
        #[serde(flatten)]
        extra: Extra,
    },
    /// Any other kind, whole.
    #[serde(untagged)]
    Other(Value),
}

/// One block of content.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Block {
    /// Plain text.
    Text {
        /// The text.
        text: Arc<str>,
        /// Members not known here.
        #[serde(flatten)]
        extra: Extra,
    },
    /// Reasoning that the model shows.
    Reasoning {
        /// The text.
        text: Arc<str>,
        /// Members not known here.
        #[serde(flatten)]
        extra: Extra,
    },
    /// The model asks for a tool.
    ToolCall {
        /// Identity of the call.
        id: CallId,
        /// Name of the tool.
        name: Arc<str>,
        /// The raw JSON text of the arguments; not necessarily valid JSON.
        arguments: Arc<str>,
        /// Members not known here.
        #[serde(flatten)]
        extra: Extra,
    },
    /// A tool's answer.
    #[serde(rename_all = "camelCase")]
    ToolResult {
        /// The call that is answered.
        tool_call_id: CallId,
        /// What the tool says.
        content: Vec<Self>,
        /// Whether the call failed.
        is_error: bool,
        /// Members not known here.
        #[serde(flatten)]
        extra: Extra,
    },
    /// Any other block, whole: images, attachments.
    #[serde(untagged)]
    Other(Value),
}

impl Block {
    /// A text block.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text {
            text: text.into().into(),
            extra: Extra::NONE,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(role: &str) -> Value {
        json!({ "id": "m", "role": role, "content": [], "source": { "kind": "user" } })
    }

    #[test]
    fn the_role_of_a_message_is_read_once() {
        let read = UserMessage::deserialize(&message("user")).unwrap();
        assert_eq!(read.extra, Extra::NONE);
    }

    #[test]
    fn a_message_of_another_role_is_refused() {
        assert!(UserMessage::deserialize(&message("assistant")).is_err());
        assert!(AssistantMessage::deserialize(&message("user")).is_err());
    }

    #[test]
    fn a_tool_message_says_user_unless_it_was_read_otherwise() {
        for role in ["user", "tool"] {
            let read = ToolMessage::deserialize(&message(role)).unwrap();
            assert_eq!(serde_json::to_value(&read).unwrap(), message(role));
        }
    }

    #[test]
    fn a_message_without_identity_is_refused() {
        let value = json!({ "role": "user", "content": [], "source": { "kind": "user" } });
        assert!(UserMessage::deserialize(&value).is_err());
    }

    #[test]
    fn an_unknown_block_is_kept_whole() {
        let image = json!({ "type": "image", "attachment": { "id": "a" } });
        let read = Block::deserialize(&image).unwrap();
        assert_eq!(read, Block::Other(image));
    }
}
