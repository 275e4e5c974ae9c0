//! Reads the repository's own files for the house rules that no lint can state; the rules are in `tests/it/`.

use std::fs;
use std::path::{Path, PathBuf};

/// One text file of the repository.
#[derive(Debug)]
pub struct TextFile {
    /// Its path from the root, with `/`.
    pub path: String,
    /// What is in it.
    pub text: String,
}

impl TextFile {
    /// Whether its name ends so, as in `has_extension("rs")`.
    pub fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|own| own == extension)
    }

    /// Its lines with their numbers, from 1.
    pub fn numbered(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

/// Directories that are made, not written.
const MADE: &[&str] = &["target", "node_modules", "groupd-data", "__pycache__"];
/// Hidden directories that are written.
const HIDDEN: &[&str] = &[".ci", ".cargo", ".github"];
/// Files that are read: by extension, or by name where they have none.
const EXTENSIONS: &[&str] = &["rs", "toml", "md", "sh", "py", "js", "go", "java", "yml", "yaml"];
const NAMES: &[&str] = &["run", "Dockerfile", "Makefile"];

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All text files that somebody wrote, in the order of their paths.
///
/// # Panics
///
/// If a file cannot be read: the tests cannot go on then.
pub fn files() -> Vec<TextFile> {
    let mut found = Vec::new();
    walk(&root(), "", &mut found);
    found.sort_by(|left, right| left.path.cmp(&right.path));
    found
}

fn walk(directory: &Path, prefix: &str, found: &mut Vec<TextFile>) {
    let entries = fs::read_dir(directory).expect("a directory of the repository can be read");
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let (path, relative) = (entry.path(), format!("{prefix}{name}"));
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_directory {
            let hidden = name.starts_with('.') && !HIDDEN.contains(&name.as_str());
            if !hidden && !MADE.contains(&name.as_str()) {
                walk(&path, &format!("{relative}/"), found);
            }
        } else {
            let extension = path.extension().map(|extension| extension.to_string_lossy().into_owned());
            let read = match extension {
                Some(extension) => EXTENSIONS.contains(&extension.as_str()),
                None => NAMES.contains(&name.as_str()),
            };
            if read {
                let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{relative}: {error}"));
                found.push(TextFile { path: relative, text });
            }
        }
    }
}

/// The names under `[section]` of a manifest.
pub fn keys<'a>(manifest: &'a str, section: &str) -> Vec<&'a str> {
    let header = format!("[{section}]");
    let body = manifest.lines().skip_while(|line| line.trim() != header).skip(1);
    let body = body.take_while(|line| !line.trim_start().starts_with('['));
    body.filter_map(|line| line.split(['=', '.', ' ']).next())
        .filter(|key| !key.is_empty() && !key.starts_with('#'))
        .collect()
}

/// The lines inside the fenced code blocks of a Markdown text, with their numbers.
pub fn code_lines(file: &TextFile) -> Vec<(usize, &str)> {
    let mut inside = false;
    let mut lines = Vec::new();
    for (number, line) in file.numbered() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if inside {
            lines.push((number, line));
        }
    }
    lines
}
