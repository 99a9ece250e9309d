//! The catalogue of events, generated from their types.
//!
//! Not here: how a catalogue is shown.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::wire::TypeRow;
use super::{Body, Header, Live, PackedCall, PackedTexts, Plugin, SurfaceOp};

/// What is known of one type of event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Its name, such as `turn/start`.
    pub name: String,
    /// Whether a log holds it or it is only published.
    pub lasting: Lasting,
    /// Who says it.
    pub owner: Owner,
    /// What it says, in a sentence.
    pub meaning: String,
    /// What it carries, by name.
    pub members: Vec<Member>,
}

/// Whether an event is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lasting {
    /// A session log holds it.
    Durable,
    /// It is published and gone.
    Live,
}

/// Who says an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Owner {
    /// The loop, the inbox or the session.
    Core,
    /// A plugin, or another version of the log.
    Plugin,
}

/// One member of an event's data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its type in words: `integer`, `string`, `[Block]`, `next-turn | next-step`.
    pub form: String,
    /// Whether it is always there.
    pub required: bool,
    /// What it says; empty where its type says it all.
    pub meaning: String,
}

/// Every event that has a type here: the durable ones of the core, those of plugins, then the live
/// ones; each group in the order of its enum. Members come by name; data that is spelled out
/// nowhere has none.
#[must_use]
pub fn catalog() -> Vec<Entry> {
    let document = schema();
    let definitions = &document["$defs"];
    let lines = list(&definitions["Line"]["anyOf"]).iter();
    let durable = lines.filter_map(|line| durable_entry(line, definitions));
    let live = list(&definitions["Live"]["oneOf"]).iter();
    durable
        .chain(live.map(|variant| live_entry(variant, definitions)))
        .collect()
}

/// One JSON Schema (draft 2020-12) for a line of a session file or a live event. An event of an
/// unknown type fits it, whatever its data.
#[must_use]
pub fn schema() -> Value {
    let mut generator = generator();
    let mut lines = vec![generator.subschema_for::<Header>().to_value()];
    for kind in ["text-chunks", "reasoning-chunks"] {
        lines.push(packed(kind, &generator.subschema_for::<PackedTexts>()));
    }
    let call = generator.subschema_for::<PackedCall>();
    lines.push(packed("tool-call-chunks", &call));
    lines.extend(types().map(|row| event(row, &mut generator)));
    lines.push(unknown_event());
    let live = generator.subschema_for::<Live>();
    let mut definitions = generator.take_definitions(true);
    definitions.insert("Line".into(), json!({ "anyOf": lines }));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "prestep events",
        "description": "A line of a session file, or a live event.",
        "anyOf": [{ "$ref": "#/$defs/Line" }, live],
        "$defs": definitions,
    })
}

/// For `#[schemars(transform)]`: that member has that one value, and is always there.
pub(super) fn says(member: &'static str, value: &'static str) -> impl FnMut(&mut Schema) {
    move |schema| insert_member(schema, member, json!({ "type": "string", "const": value }))
}

/// For `#[schemars(transform)]`: that member is a text, and is always there.
pub(super) fn names(member: &'static str) -> impl FnMut(&mut Schema) {
    move |schema| insert_member(schema, member, json!({ "type": "string" }))
}

fn insert_member(schema: &mut Schema, name: &str, form: Value) {
    if let Some(Value::Object(members)) = schema.get_mut("properties") {
        members.insert(name.into(), form);
    }
    let required = schema.get("required").map_or(&[][..], list);
    let others = required.iter().filter(|required| *required != name);
    let required: Vec<_> = others.cloned().chain([name.into()]).collect();
    schema.insert("required".into(), required.into());
}

fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(RecursiveTransform(never_null))
        .into_generator()
}

/// In a schema: what may be left out is left out, never null.
fn never_null(schema: &mut Schema) {
    let required = schema.get("required").cloned().unwrap_or_default();
    let Some(members) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    for (name, member) in members {
        if !list(&required).iter().any(|required| required == name) {
            drop_null(member);
        }
    }
}

fn drop_null(schema: &mut Value) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            schema["type"] = only.clone();
        }
    }
    if let Some(Value::Array(forms)) = schema.get_mut("anyOf") {
        forms.retain(|form| form["type"] != "null");
    }
}

/// Every durable event that has a type here.
fn types() -> impl Iterator<Item = &'static TypeRow> {
    Body::TYPES.iter().chain(Plugin::TYPES)
}

fn whole_number() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

/// The schema of an event's line.
fn event(row: &TypeRow, generator: &mut SchemaGenerator) -> Value {
    let mut members = Map::from_iter([
        ("type".to_owned(), json!({ "const": row.name })),
        ("seq".to_owned(), whole_number()),
        ("time".to_owned(), whole_number()),
        ("data".to_owned(), (row.data)(generator).to_value()),
        ("ignorable".to_owned(), json!({ "const": true })),
    ]);
    let mut required = vec!["type", "data"];
    if Body::makes_message(row.name) {
        let op = generator.subschema_for::<SurfaceOp>().to_value();
        let sources = json!({ "type": "array", "items": whole_number() });
        members.insert("surfaceOp".into(), op);
        members.insert("sourceEventSeqs".into(), sources);
        required.push("surfaceOp");
    }
    json!({
        "type": "object",
        "description": row.meaning.concat().trim(),
        "properties": members,
        "required": required,
    })
}

/// The schema of a packed row's line.
fn packed(kind: &str, data: &Schema) -> Value {
    json!({
        "type": "object",
        "description": "Several pieces of the model's stream in one line.",
        "properties": {
            "type": { "const": kind },
            "seq0": whole_number(),
            "time0": whole_number(),
            "data": data,
        },
        "required": ["type", "data"],
    })
}

/// The schema of an event's line that has no type here.
fn unknown_event() -> Value {
    let own = [
        "session",
        "text-chunks",
        "reasoning-chunks",
        "tool-call-chunks",
    ];
    let names: Vec<_> = own.into_iter().chain(types().map(|row| row.name)).collect();
    json!({
        "type": "object",
        "description": "An event of an unknown type.",
        "properties": { "type": { "type": "string", "not": { "enum": names } } },
        "required": ["type"],
    })
}

/// The entry of one kind of line, if it is that of a type of event.
fn durable_entry(line: &Value, definitions: &Value) -> Option<Entry> {
    let members_of_line = &line["properties"];
    let name = text(&members_of_line["type"]["const"]);
    let is = |row: &TypeRow| row.name == name;
    let core = Body::TYPES.iter().any(is);
    let plugin = Plugin::TYPES.iter().any(is);
    (core || plugin).then(|| Entry {
        name,
        lasting: Lasting::Durable,
        owner: if core { Owner::Core } else { Owner::Plugin },
        meaning: text(&line["description"]),
        members: members(&members_of_line["data"], definitions),
    })
}

/// The entry of one variant of [`Live`]: its member `type` is the name.
fn live_entry(variant: &Value, definitions: &Value) -> Entry {
    let mut members = members(variant, definitions);
    members.retain(|member| member.name != "type");
    Entry {
        name: text(&variant["properties"]["type"]["const"]),
        lasting: Lasting::Live,
        owner: Owner::Core,
        meaning: text(&variant["description"]),
        members,
    }
}

fn members(data: &Value, definitions: &Value) -> Vec<Member> {
    let data = resolve(data, definitions);
    let members = data["properties"].as_object();
    let member = |(name, schema): (&String, &Value)| Member {
        name: name.clone(),
        form: form(schema, definitions),
        required: list(&data["required"])
            .iter()
            .any(|required| required == name),
        meaning: text(&schema["description"]),
    };
    members.into_iter().flatten().map(member).collect()
}

/// A type in words.
fn form(schema: &Value, definitions: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str() {
        let words = words(resolve(schema, definitions));
        return words.unwrap_or_else(|| name.rsplit('/').next().unwrap_or(name).to_owned());
    }
    if let Value::Array(forms) = &schema["anyOf"] {
        return either(forms.iter().map(|one| form(one, definitions)));
    }
    match &schema["type"] {
        Value::String(name) if name == "array" => {
            format!("[{}]", form(&schema["items"], definitions))
        }
        Value::String(name) => name.clone(),
        Value::Array(names) => either(names.iter().map(text)),
        _ => "any".to_owned(),
    }
}

/// The words of a type that has nothing else.
fn words(schema: &Value) -> Option<String> {
    let words = list(&schema["oneOf"]).iter();
    let words: Option<Vec<_>> = words.map(|word| word["const"].as_str()).collect();
    let words = words.filter(|words| !words.is_empty())?;
    Some(words.join(" | "))
}

fn either(forms: impl Iterator<Item = String>) -> String {
    forms.collect::<Vec<_>>().join(" | ")
}

/// What a schema refers to, in the end.
fn resolve<'a>(schema: &'a Value, definitions: &'a Value) -> &'a Value {
    let name = schema["$ref"]
        .as_str()
        .and_then(|path| path.rsplit('/').next());
    match name {
        Some(name) => resolve(&definitions[name], definitions),
        None => schema,
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::event::{Failure, Status, UserMessage};

    fn entry(name: &str) -> Entry {
        catalog()
            .into_iter()
            .find(|entry| entry.name == name)
            .unwrap()
    }

    /// One of each variant; the match makes the compiler ask for a new one.
    fn one_of_each_live() -> Vec<Live> {
        let message = UserMessage::text("m", "hello");
        let all = vec![
            Live::Inserted {
                message: message.clone(),
            },
            Live::Claimed {
                message: message.clone(),
                turn: 1,
            },
            Live::Discarded { message },
            Live::Status {
                status: Status::Idle,
            },
            Live::Error {
                turn: 1,
                step: 0,
                error: Failure::unknown("no"),
            },
            Live::SessionStart {
                source: "startup".into(),
            },
            Live::Created,
            Live::Disposed,
        ];
        for live in &all {
            match live {
                Live::Inserted { .. } | Live::Claimed { .. } | Live::Discarded { .. } => {}
                Live::Status { .. } | Live::Error { .. } | Live::SessionStart { .. } => {}
                Live::Created | Live::Disposed => {}
            }
        }
        all
    }

    #[test]
    fn every_live_event_stands_under_its_wire_name() {
        let names: BTreeSet<_> = catalog().into_iter().map(|entry| entry.name).collect();
        for live in one_of_each_live() {
            let printed = serde_json::to_value(&live).unwrap();
            assert!(
                names.contains(printed["type"].as_str().unwrap()),
                "{printed}"
            );
        }
    }

    #[test]
    fn every_durable_type_stands_in_it_once() {
        let names: Vec<_> = catalog().into_iter().map(|entry| entry.name).collect();
        let distinct: BTreeSet<_> = names.iter().collect();
        assert_eq!(distinct.len(), names.len());
        let expected = types().count() + one_of_each_live().len();
        assert_eq!(names.len(), expected);
    }

    #[test]
    fn every_entry_says_what_it_means() {
        for entry in catalog() {
            assert!(entry.meaning.ends_with('.'), "{}", entry.name);
        }
    }

    #[test]
    fn a_member_says_its_form_and_whether_it_is_always_there() {
        let spliced = entry("agent/inbox/spliced");
        let forms: Vec<_> = spliced
            .members
            .iter()
            .map(|member| (member.name.as_str(), member.form.as_str(), member.required))
            .collect();
        assert_eq!(
            forms,
            [
                ("inserted", "[UserMessage]", true),
                ("outcome", "canceled", false),
                ("removedCount", "integer", false),
                ("start", "integer", true),
                ("target", "next-turn | next-step", true),
            ]
        );
    }

    #[test]
    fn a_member_that_is_null_when_empty_is_required() {
        let start = entry("compaction/start");
        let turn = start.members.iter().find(|member| member.name == "turn");
        let turn = turn.unwrap();
        assert_eq!(
            (turn.form.as_str(), turn.required),
            ("integer | null", true)
        );
    }

    #[test]
    fn a_message_names_its_role() {
        let message = entry("user/message");
        let role = message.members.iter().find(|member| member.name == "role");
        assert!(role.unwrap().required);
    }

    #[test]
    fn every_reference_of_the_schema_leads_somewhere() {
        let document = schema();
        let mut open = vec![&document];
        while let Some(value) = open.pop() {
            match value {
                Value::Object(members) => open.extend(members.values()),
                Value::Array(items) => open.extend(items),
                _ => {}
            }
            if let Some(path) = value["$ref"].as_str() {
                let pointer = path.strip_prefix('#').unwrap();
                assert!(document.pointer(pointer).is_some(), "{path}");
            }
        }
    }

    #[test]
    fn only_message_producing_types_have_a_place_on_the_surface() {
        let schema = schema();
        for line in list(&schema["$defs"]["Line"]["anyOf"]) {
            let members = &line["properties"];
            let kind = text(&members["type"]["const"]);
            let has_place = members.get("surfaceOp").is_some();
            assert_eq!(has_place, Body::makes_message(&kind), "{kind}");
        }
    }
}
