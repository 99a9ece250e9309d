//! The schema of events says what the types say.
//!
//! Not here: a whole validator of JSON Schema; it is looked at as far as this schema goes.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod lines;

use lines::{TYPED, is_typed, recorded};
use prestep::event::{Line, schema};
use serde_json::{Value, json};

/// Whether a value fits a schema, as far as the schema of events goes.
fn fits(value: &Value, schema: &Value, document: &Value) -> bool {
    let Value::Object(words) = schema else {
        return schema != &Value::Bool(false);
    };
    words.iter().all(|(word, says)| match word.as_str() {
        "$ref" => {
            let pointer = says.as_str().unwrap().trim_start_matches('#');
            fits(value, document.pointer(pointer).unwrap(), document)
        }
        "type" => fits_type(value, says),
        "const" => value == says,
        "enum" => says.as_array().unwrap().contains(value),
        "not" => !fits(value, says, document),
        "minimum" => value
            .as_f64()
            .is_none_or(|number| Some(number) >= says.as_f64()),
        "anyOf" => says
            .as_array()
            .unwrap()
            .iter()
            .any(|one| fits(value, one, document)),
        "oneOf" => {
            let forms = says.as_array().unwrap().iter();
            forms.filter(|one| fits(value, one, document)).count() == 1
        }
        "items" => value
            .as_array()
            .is_none_or(|items| items.iter().all(|item| fits(item, says, document))),
        "required" => value.as_object().is_none_or(|members| {
            let mut names = says.as_array().unwrap().iter();
            names.all(|name| members.contains_key(name.as_str().unwrap()))
        }),
        "properties" => value.as_object().is_none_or(|members| {
            members.iter().all(|(name, member)| {
                says.get(name)
                    .is_none_or(|says| fits(member, says, document))
            })
        }),
        "additionalProperties" | "unevaluatedProperties" => says == &Value::Bool(true),
        "$schema" | "$defs" | "title" | "description" | "format" => true,
        unknown => panic!("the schema says `{unknown}`, which is not looked at here"),
    })
}

fn fits_type(value: &Value, says: &Value) -> bool {
    let is = |name: &Value| match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        unknown => panic!("no type `{unknown}`"),
    };
    match says {
        Value::Array(names) => names.iter().any(is),
        name => is(name),
    }
}

/// Whether the schema of that line's own type fits it.
fn fits_its_type(value: &Value, document: &Value) -> bool {
    let lines = document["$defs"]["Line"]["anyOf"].as_array().unwrap();
    lines.iter().any(|line| fits(value, line, document))
}

#[test]
fn a_typed_line_fits_the_schema() {
    let document = schema();
    for text in TYPED.lines() {
        let value = serde_json::from_str(text).unwrap();
        assert!(fits_its_type(&value, &document), "{text}");
    }
}

#[test]
fn a_known_type_without_its_data_does_not_fit_the_schema() {
    let document = schema();
    assert!(!fits_its_type(&json!({ "type": "turn/start" }), &document));
    assert!(!fits_its_type(
        &json!({ "type": "turn/start", "data": {} }),
        &document
    ));
}

#[test]
fn an_unknown_type_fits_the_schema() {
    let value = json!({ "type": "weather/report", "data": [] });
    assert!(fits_its_type(&value, &schema()));
}

#[test]
fn a_recorded_line_that_is_typed_fits_the_schema() {
    let document = schema();
    for (place, text) in recorded().iter().flatten() {
        let value = serde_json::from_str(text).unwrap();
        let typed = is_typed(&Line::parse(text).unwrap());
        assert!(!typed || fits_its_type(&value, &document), "{place}");
    }
}
