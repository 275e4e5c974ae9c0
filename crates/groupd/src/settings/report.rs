//! Shows settings: what each is, what it is now and why. For people, for programs and for the docs.

use serde_json::json;

use super::Settings;
use super::layers::Raw;
use super::table::{SETTINGS, Setting};
use crate::tables;

/// Each setting with its value in force and where that came from.
#[derive(Clone, Debug)]
pub struct SettingsReport {
    rows: Vec<Row>,
}

#[derive(Clone, Debug)]
struct Row {
    setting: &'static Setting,
    value: String,
    source: String,
}

impl SettingsReport {
    pub(super) fn new(settings: &Settings, raw: &Raw) -> Self {
        let row = |setting: &'static Setting| {
            let (text, source) = raw.get(setting);
            let value = resolved(settings, setting.name).unwrap_or_else(|| text.to_owned());
            Row { setting, value, source: source.to_string() }
        };
        Self { rows: SETTINGS.iter().map(row).collect() }
    }

    /// A table for people.
    pub fn table(&self) -> String {
        let row = |row: &Row| {
            let name = row.setting.name.to_owned();
            [name, row.value.clone(), row.setting.default.to_owned(), row.source.clone()]
        };
        tables::columns(["SETTING", "VALUE", "DEFAULT", "FROM"], self.rows.iter().map(row))
    }

    /// A JSON array for programs.
    pub fn json(&self) -> String {
        let row = |row: &Row| {
            json!({
                "name": row.setting.name,
                "value": row.value,
                "default": row.setting.default,
                "source": row.source,
                "environment": row.setting.environment(),
                "flag": row.setting.flag,
                "allowed": row.setting.allowed.describe(),
                "about": row.setting.about,
            })
        };
        let rows = self.rows.iter().map(row).collect();
        format!("{:#}", serde_json::Value::Array(rows))
    }
}

/// What `auto` came to.
fn resolved(settings: &Settings, name: &str) -> Option<String> {
    match name {
        "http" => Some(settings.http.as_ref().map_or("off".into(), ToString::to_string)),
        "shards" => Some(settings.shards.to_string()),
        _ => None,
    }
}
