//! tmp
use super::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
fn val<T: Serialize>(t: &T) -> Value {
    serde_json::to_value(t).unwrap_or_default()
}
impl Serialize for Event {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut surf = None;
        let data = match &self.body {
            Body::InboxSpliced(x) => val(x),
            Body::TurnStart(x) => val(x),
            Body::TurnEnd(x) => val(x),
            Body::StepStart(x) | Body::StepEnd(x) => val(x),
            Body::AssistantChunk(x) => val(x),
            Body::ToolCall(x) => val(x),
            Body::RequestHeader(x) => val(x),
            Body::RequestContext(x) => val(x),
            Body::EndSeed(_) => json!({}),
            Body::UserMessage(u) => {
                surf = Some(&u.surface);
                val(&*u.message)
            }
            Body::AssistantMessage(a) => {
                surf = Some(&a.surface);
                let mut v = json!({"turn": a.turn, "step": a.step, "message": val(&*a.message)});
                if a.interrupted {
                    v["interrupted"] = json!(true);
                }
                if let Some(u) = &a.usage {
                    v["usage"] = u.clone();
                }
                v
            }
            Body::ToolResult(a) => {
                surf = Some(&a.surface);
                let mut v = json!({"turn": a.turn, "step": a.step, "message": val(&*a.message)});
                if let Some(e) = &a.error {
                    v["error"] = val(e);
                }
                v
            }
            Body::Unread(u) => u.data.clone().unwrap_or_default(),
        };
        let mut v =
            json!({"type": self.body.kind(), "seq": self.seq, "time": self.time, "data": data});
        if let Some(s) = surf {
            if let (Some(o), Value::Object(m)) = (v.as_object_mut(), val(s)) {
                o.extend(m);
            }
        }
        v.serialize(s)
    }
}
impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let v = Value::deserialize(d)?;
        fn get<T: serde::de::DeserializeOwned, E: Error>(v: &Value) -> Result<T, E> {
            serde_json::from_value(v.clone()).map_err(E::custom)
        }
        let data = &v["data"];
        let k = v["type"].as_str().unwrap_or("");
        let surface = || get::<Surface, D::Error>(&v);
        let body = match k {
            "agent/inbox/spliced" => Body::InboxSpliced(get(data)?),
            "turn/start" => Body::TurnStart(get(data)?),
            "turn/end" => Body::TurnEnd(get(data)?),
            "step/start" => Body::StepStart(get(data)?),
            "step/end" => Body::StepEnd(get(data)?),
            "assistant/chunk" => Body::AssistantChunk(get(data)?),
            "tool/call" => Body::ToolCall(get(data)?),
            "session/end-seed" => Body::EndSeed(Extra::NONE),
            "request/header" => Body::RequestHeader(RequestHeader {
                header: data["header"].clone(),
                reason: RequestReason::Initial,
                extra: Extra::NONE,
            }),
            "request/context" => match get::<RequestContext, D::Error>(data) {
                Ok(c) => Body::RequestContext(c),
                Err(_) => Body::RequestContext(RequestContext {
                    provider: "mock".into(),
                    model: "mock".into(),
                    context_window: None,
                    extra: Extra::NONE,
                }),
            },
            "user/message" => Body::UserMessage(UserSaid {
                message: get(data)?,
                surface: surface()?,
            }),
            "assistant/message" => Body::AssistantMessage(AssistantSaid {
                turn: get(&data["turn"])?,
                step: get(&data["step"])?,
                message: get(&data["message"])?,
                usage: data.get("usage").cloned(),
                interrupted: data.get("interrupted").is_some(),
                extra: Extra::NONE,
                surface: surface()?,
            }),
            "tool/result" => Body::ToolResult(ToolAnswered {
                turn: get(&data["turn"])?,
                step: get(&data["step"])?,
                message: get(&data["message"])?,
                error: match data.get("error") {
                    Some(e) => Some(get(e)?),
                    None => None,
                },
                extra: Extra::NONE,
                surface: surface()?,
            }),
            _ => Body::Unread(std::sync::Arc::new(Unread {
                kind: k.into(),
                data: Some(data.clone()),
                ignorable: false,
            })),
        };
        Ok(Event {
            seq: v["seq"].as_u64().unwrap_or(0),
            time: v["time"].as_u64().unwrap_or(0),
            body,
        })
    }
}
