//! Checks the check: every expected value of every scenario, falsified, must be noticed.

use serde_json::{Value, json};

use super::run::{read, run};
use super::scenario::Scenario;
use super::{extra_folder, own_folder, scenario_files};

#[test]
fn every_falsified_expectation_is_noticed() {
    let mut falsified = 0;
    let mut unnoticed = Vec::new();
    let files =
        [own_folder(), extra_folder()].iter().flat_map(|folder| scenario_files(folder)).collect::<Vec<_>>();
    for file in files {
        for scenario in read(&file).into_iter().filter(|scenario| run(scenario).is_ok()) {
            for (at, step) in falsifications(&scenario) {
                falsified += 1;
                let told = step.to_string();
                let mut falsified = scenario.clone();
                falsified.steps[at] = step;
                if run(&falsified).is_ok() {
                    unnoticed.push(format!("{} step {at}: {told}", scenario.id));
                }
            }
        }
    }
    println!("{falsified} expectations falsified, {} unnoticed", unnoticed.len());
    assert!(unnoticed.is_empty(), "{unnoticed:#?}");
    assert!(falsified > 5_000, "only {falsified} expectations were falsified");
}

/// Each expectation of a scenario made wrong in turn: the step's index and the false step.
fn falsifications(scenario: &Scenario) -> Vec<(usize, Value)> {
    let mut out = Vec::new();
    for (at, step) in scenario.steps.iter().enumerate() {
        if let Some(handle) = step.get("expect") {
            out.push((at, json!({ "expect_pending": handle })));
        }
        if let Some(handle) = step.get("expect_pending") {
            out.push((at, json!({ "expect": handle })));
        }
        if step.get("expect").is_none() && step.get("check").is_none() {
            continue;
        }
        for (field, value) in step.as_object().expect("a step is an object") {
            // A variable that is bound where it is compared says nothing of its own.
            let circular = value.as_str().and_then(|v| v.strip_prefix('$')).is_some_and(|name| {
                step.get("bind").and_then(|bind| bind.get(field)).and_then(Value::as_str) == Some(name)
            });
            if ["expect", "bind", "check", "group"].contains(&field.as_str()) || circular {
                continue;
            }
            for wrong in wrong_values(value) {
                let mut step = step.clone();
                step[field] = wrong;
                out.push((at, step));
            }
        }
        if step.get("check") == Some(&json!("group")) && step.get("exists").is_none() {
            let mut step = step.clone();
            step["exists"] = json!(false);
            out.push((at, step));
        }
    }
    out
}

/// Values near `value` that it is not.
fn wrong_values(value: &Value) -> Vec<Value> {
    match value {
        Value::Null => vec![json!("something")],
        Value::Bool(flag) => vec![json!(!flag)],
        Value::Number(number) => vec![json!(number.as_i64().expect("numbers are integers") + 1)],
        Value::String(_) => vec![json!("something else"), Value::Null],
        Value::Array(items) => {
            let mut more = items.clone();
            more.push(json!("one too many"));
            let mut out = vec![Value::Array(more)];
            for at in 0..items.len() {
                let mut fewer = items.clone();
                fewer.remove(at);
                out.push(Value::Array(fewer));
                for wrong in wrong_values(&items[at]) {
                    let mut changed = items.clone();
                    changed[at] = wrong;
                    out.push(Value::Array(changed));
                }
            }
            out
        }
        Value::Object(fields) => wrong_objects(fields),
    }
}

fn wrong_objects(fields: &serde_json::Map<String, Value>) -> Vec<Value> {
    if fields.len() == 1 {
        if fields.contains_key("any_of") {
            return vec![json!({ "any_of": [] }), json!({ "any_of": ["something else"] })];
        }
        if fields.contains_key("prefix") {
            return vec![json!({ "prefix": "something else" })];
        }
        if let Some(not) = fields.get("not") {
            return vec![not.clone()];
        }
    }
    let mut more = fields.clone();
    more.insert("one:99".to_owned(), json!("too many"));
    let mut out = vec![Value::Object(more)];
    for (key, value) in fields {
        for wrong in wrong_values(value) {
            let mut changed = fields.clone();
            changed[key] = wrong;
            out.push(Value::Object(changed));
        }
        // In maps an entry may not be missing; in records a field may.
        if key.contains(':') {
            let mut fewer = fields.clone();
            fewer.remove(key);
            out.push(Value::Object(fewer));
        }
    }
    out
}
