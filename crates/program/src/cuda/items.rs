//! Parser for the declarations of a CUDA source; it finds the declarations that are host code.

use super::tokens::{Token, TokenKind, tokens};

/// The form of a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeclarationForm {
    /// A function or its prototype.
    Function,
    /// A class, struct, union or enumeration.
    Type,
    /// Any other declaration: a variable, an alias, or a macro invocation.
    Other,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name of the parameter; empty if it has none.
    pub name: String,
    /// Type of the parameter as in the source.
    pub kind: String,
}

/// A kernel of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Name of the kernel with its namespaces.
    pub name: String,
    /// Parameters of the kernel's template, or `None`.
    pub template: Option<String>,
    /// Parameters of the kernel.
    pub parameters: Vec<Parameter>,
    /// Line of the kernel in the source.
    pub line: u32,
}

/// A declaration.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) form: DeclarationForm,
    /// True if the declaration, or a declaration in it, is device code.
    pub(super) device: bool,
    /// True if the declaration is or may also be host code: `__host__` together with `__device__`.
    pub(super) both: bool,
    /// True for a function without device marks that cannot be `constexpr`.
    pub(super) host: bool,
    pub(super) name: String,
}

/// The declarations and kernels of a source.
#[derive(Clone, Debug, Default)]
pub(super) struct ParsedSource {
    pub(super) items: Vec<Item>,
    pub(super) kernels: Vec<Kernel>,
    /// Kernels with template arguments that host code launches.
    pub(super) launched: Vec<String>,
}

/// Identifiers that mark device code.
const DEVICE_MARKS: [&str; 11] = [
    "__global__",
    "__device__",
    "__constant__",
    "__managed__",
    "__shared__",
    "_CCCL_DEVICE",
    "_CCCL_HOST_DEVICE",
    "_CCCL_API",
    "__device_builtin__",
    "C10_DEVICE",
    "C10_HOST_DEVICE",
];

/// Adds macros whose replacement contains a mark of device code, or `constexpr`, to `marks`; returns true if it found new ones.
pub(super) fn find_marks(source: &str, marks: &mut Vec<String>) -> bool {
    let mut grown = false;
    for token in tokens(source).iter().filter(|token| token.kind == TokenKind::Line) {
        let text = &token.of(source)[1..];
        let words = tokens(text);
        let mut names = words.iter().filter(|word| word.kind == TokenKind::Name).map(|word| word.of(text));
        if names.next() != Some("define") {
            continue;
        }
        let Some(name) = names.next() else { continue };
        if !is_mark(name, marks) && names.any(|word| word == "constexpr" || is_mark(word, marks)) {
            marks.push(name.to_owned());
            grown = true;
        }
    }
    grown
}

fn is_mark(word: &str, marks: &[String]) -> bool {
    DEVICE_MARKS.contains(&word) || marks.iter().any(|mark| mark == word)
}

/// Returns the line number of a byte, counted from 1.
pub(super) fn line_of(source: &str, at: usize) -> u32 {
    1 + source.as_bytes()[..at.min(source.len())].iter().filter(|&&byte| byte == b'\n').count() as u32
}

/// Parses the declarations of a source; `marks` are macros that contain marks of device code.
pub(super) fn parse(source: &str, marks: &[String]) -> ParsedSource {
    let all = tokens(source);
    let kept = without_unbalanced(source, &all);
    let mut parser = Parser { source, marks, tokens: kept, at: 0, parsed: ParsedSource::default(), spaces: Vec::new() };
    while parser.at < parser.tokens.len() {
        parser.scope(false);
        parser.at += 1;
    }
    parser.launches();
    parser.parsed
}

/// Drops all preprocessor lines. If the branches of a condition have unbalanced brackets, keeps only the first branch that is not `#if 0`.
fn without_unbalanced(source: &str, all: &[Token]) -> Vec<Token> {
    struct OpenCondition {
        depth: i64,
        least: i64,
        branches: Vec<(usize, bool)>,
        begin: usize,
        zero: bool,
    }
    let mut stack: Vec<OpenCondition> = Vec::new();
    let (mut depth, mut dropped) = (0_i64, Vec::new());
    for (place, token) in all.iter().enumerate() {
        let text = token.of(source);
        match (token.kind, text) {
            (TokenKind::Mark, "{" | "(" | "[") => depth += 1,
            (TokenKind::Mark, "}" | ")" | "]") => {
                depth -= 1;
                if let Some(open) = stack.last_mut() {
                    open.least = open.least.min(depth);
                }
            }
            (TokenKind::Line, _) => {
                let line = text[1..].trim_start();
                let word = line.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
                match word {
                    "if" | "ifdef" | "ifndef" => {
                        let zero = word == "if" && line[2..].trim() == "0";
                        stack.push(OpenCondition { depth, least: depth, branches: Vec::new(), begin: place, zero });
                    }
                    "else" | "elif" | "endif" => {
                        let Some(mut open) = stack.pop() else { continue };
                        let balanced = depth == open.depth && open.least >= open.depth;
                        open.branches.push((open.begin, balanced && !(open.zero && open.branches.is_empty())));
                        if word == "endif" {
                            // Bracket depth after the branch that is kept.
                            let all_balanced = open.branches.iter().all(|(_, balanced)| *balanced);
                            let keep = usize::from(open.zero && open.branches.len() > 1);
                            if !all_balanced {
                                for (number, &(begin, _)) in open.branches.iter().enumerate() {
                                    let end = open.branches.get(number + 1).map_or(place, |&(next, _)| next);
                                    if number != keep || (open.zero && number == 0) {
                                        dropped.push((begin, end));
                                    }
                                }
                                depth = open.depth + depth_change(source, all, &open.branches, keep, place, &dropped);
                            }
                            if let Some(outer) = stack.last_mut() {
                                outer.least = outer.least.min(open.least);
                            }
                        } else {
                            (depth, open.least, open.begin) = (open.depth, open.depth, place);
                            stack.push(open);
                        }
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
    let mut hidden = vec![false; all.len()];
    for (begin, end) in dropped {
        hidden[begin..end].fill(true);
    }
    all.iter().zip(hidden).filter(|(token, hidden)| !hidden && token.kind != TokenKind::Line).map(|(token, _)| *token).collect()
}

/// Returns the change of the bracket depth in a branch.
fn depth_change(source: &str, all: &[Token], branches: &[(usize, bool)], keep: usize, last: usize, dropped: &[(usize, usize)]) -> i64 {
    let Some(&(begin, _)) = branches.get(keep) else { return 0 };
    let end = branches.get(keep + 1).map_or(last, |&(next, _)| next);
    let hidden = |place: usize| dropped.iter().any(|&(from, to)| begin <= from && (from..to).contains(&place));
    let marks = all[begin..end].iter().enumerate().filter(|(place, token)| token.kind == TokenKind::Mark && !hidden(begin + place));
    marks
        .map(|(_, token)| match token.of(source) {
            "{" | "(" | "[" => 1,
            "}" | ")" | "]" => -1,
            _ => 0,
        })
        .sum()
}

struct Parser<'a> {
    source: &'a str,
    marks: &'a [String],
    tokens: Vec<Token>,
    at: usize,
    parsed: ParsedSource,
    /// Namespaces that enclose the current token.
    spaces: Vec<String>,
}

/// Properties of the first tokens of a declaration that determine its form.
#[derive(Default)]
struct DeclarationHead {
    class: bool,
    assigned: bool,
    alias: bool,
    device: bool,
    host: bool,
    kernel: bool,
    constant: bool,
    defaulted: bool,
    friend: bool,
    operator: bool,
    template: Option<(usize, usize)>,
    /// Token of the name before the last list in parentheses, and the tokens of the list.
    call: Option<(usize, usize, usize)>,
    name: Option<usize>,
}

impl<'a> Parser<'a> {
    fn text(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| token.of(self.source))
    }

    /// Returns the token index of the bracket that closes the bracket at `at`, or of the last token.
    fn closing(&self, at: usize) -> usize {
        let mut depth = 0_i64;
        for place in at..self.tokens.len() {
            if self.tokens[place].kind != TokenKind::Mark {
                continue;
            }
            match self.text(place) {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => {
                    depth -= 1;
                    if depth <= 0 {
                        return place;
                    }
                }
                _ => {}
            }
        }
        self.tokens.len().saturating_sub(1)
    }

    /// Returns the token index of the `>` that closes the `<` at `at`.
    fn closing_angle(&self, at: usize) -> usize {
        let (mut depth, mut place) = (0_i64, at);
        while place < self.tokens.len() {
            match self.text(place) {
                "<" => depth += 1,
                ">" => {
                    depth -= 1;
                    if depth == 0 {
                        return place;
                    }
                }
                "(" | "[" | "{" => place = self.closing(place),
                ";" | ")" | "}" => return place.saturating_sub(1),
                _ => {}
            }
            place += 1;
        }
        self.tokens.len().saturating_sub(1)
    }

    /// Parses declarations up to the end of a namespace or class; returns true if one of them is device code.
    fn scope(&mut self, class: bool) -> bool {
        let mut device = false;
        while self.at < self.tokens.len() {
            match self.text(self.at) {
                "}" => return device,
                ";" => self.at += 1,
                "public" | "private" | "protected" if class && self.text(self.at + 1) == ":" => self.at += 2,
                "namespace" | "inline" if self.opens_namespace() => {}
                "extern"
                    if self.tokens.get(self.at + 1).is_some_and(|next| next.kind == TokenKind::Text) && self.text(self.at + 2) == "{" =>
                {
                    self.at += 3;
                    device |= self.scope(class);
                    self.at += 1;
                }
                _ => device |= self.item(),
            }
        }
        device
    }

    /// Parses a namespace if one begins at the current token; returns true in this case.
    fn opens_namespace(&mut self) -> bool {
        let mut at = self.at + usize::from(self.text(self.at) == "inline");
        if self.text(at) != "namespace" {
            return false;
        }
        at += 1;
        let mut name = Vec::new();
        while !matches!(self.text(at), "{" | ";" | "=" | "") {
            match self.text(at) {
                "[" => at = self.closing(at),
                "__attribute__" => at = self.closing(at + 1),
                word => name.push(word),
            }
            at += 1;
        }
        if self.text(at) != "{" {
            return false;
        }
        let name: String = name.concat();
        self.spaces.push(name);
        self.at = at + 1;
        self.scope(false);
        self.at += 1;
        self.spaces.pop();
        true
    }

    /// Parses one declaration; returns true if it is device code.
    fn item(&mut self) -> bool {
        let begin = self.at;
        let mut head = DeclarationHead::default();
        let (mut inner, mut initializers) = (false, false);
        let mut ended = None;
        while self.at < self.tokens.len() {
            let at = self.at;
            let token = self.tokens[at];
            let word = self.text(at);
            if token.kind == TokenKind::Name {
                self.record_word(&mut head, at, word);
            }
            match word {
                "template" if self.text(at + 1) == "<" => {
                    let close = self.closing_angle(at + 1);
                    head.template = head.template.or(Some((at + 2, close)));
                    self.at = close;
                }
                "operator" => {
                    head.operator = true;
                    head.name = head.name.or(Some(at));
                    // The operator's name may consist of brackets.
                    while !matches!(self.text(self.at + 1), "(" | ";" | "" | "{") {
                        self.at += 1;
                    }
                    if self.text(self.at + 1) == "(" && self.text(self.at + 2) == ")" && self.text(self.at + 3) == "(" {
                        self.at += 2;
                    }
                    if self.text(self.at + 1) == "(" {
                        let close = self.closing(self.at + 1);
                        head.call = Some((at, self.at + 2, close));
                        self.at = close;
                    }
                }
                "=" => {
                    head.assigned = true;
                    head.defaulted |= matches!(self.text(at + 1), "default" | "delete");
                }
                "(" => {
                    let close = self.closing(at);
                    let before = self.text(at.wrapping_sub(1));
                    let named = at > begin && (self.tokens[at - 1].kind == TokenKind::Name || before == ">") && !is_attribute(before);
                    if named && !head.assigned && !initializers {
                        head.call = Some((at - 1, at + 1, close));
                    }
                    self.at = close;
                }
                "[" => self.at = self.closing(at),
                ":" if head.call.is_some() && !head.class => initializers = true,
                ";" => {
                    ended = Some(at);
                    break;
                }
                "}" => {
                    // An unmatched closing bracket ends the declaration before it.
                    ended = Some(at.saturating_sub(1));
                    self.at = at.saturating_sub(1);
                    break;
                }
                "{" => {
                    if head.class && !head.assigned && (head.call.is_none() || head.name.is_some()) && !self.is_function(&head) {
                        self.at += 1;
                        inner |= self.scope(true);
                        if self.at >= self.tokens.len() {
                            break;
                        }
                    } else if self.is_function(&head) && !head.assigned {
                        let close = self.closing(at);
                        self.at = close;
                        let next = self.text(close + 1);
                        let member = initializers && (next == "," || next == "{") && self.tokens[at - 1].kind != TokenKind::Mark;
                        if !member {
                            ended = Some(close);
                            break;
                        }
                    } else if head.call.is_none() && head.name.is_none() {
                        // The block has no declaration head.
                        let close = self.closing(at);
                        self.at = close;
                        ended = Some(close);
                        break;
                    } else {
                        self.at = self.closing(at);
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
        let last = ended.unwrap_or(self.tokens.len().saturating_sub(1)).max(begin);
        self.at = last + 1;
        self.finish_item(begin, last, &head, inner)
    }

    /// Records the effect of a word on the declaration's properties.
    fn record_word(&self, head: &mut DeclarationHead, at: usize, word: &str) {
        match word {
            "class" | "struct" | "union" | "enum" if head.call.is_none() => head.class = true,
            "typedef" | "using" | "static_assert" => head.alias = true,
            "constexpr" | "consteval" => head.constant = true,
            "friend" => head.friend = true,
            "__host__" => head.host = true,
            _ => {}
        }
        if is_mark(word, self.marks) {
            head.device = true;
        }
        head.kernel |= word == "__global__";
        if !is_attribute(word) && head.name.is_none() && !KEYWORDS.contains(&word) && head.class {
            head.name = Some(at);
        }
    }

    fn is_function(&self, head: &DeclarationHead) -> bool {
        head.call.is_some()
            && !head.alias
            && (!head.class || head.kernel || head.device || head.call.is_some_and(|(name, ..)| head.name != Some(name)))
    }

    /// Stores a declaration; returns true if it is device code.
    fn finish_item(&mut self, begin: usize, last: usize, head: &DeclarationHead, inner: bool) -> bool {
        let function = self.is_function(head);
        let device = head.device || inner;
        let form = if function {
            DeclarationForm::Function
        } else if head.class {
            DeclarationForm::Type
        } else {
            DeclarationForm::Other
        };
        let name = head.call.map(|(name, ..)| name).filter(|_| function).or(head.name);
        let name = name.map_or("", |at| self.text(at)).to_owned();
        // Prototypes of templates are used in computed types, and NVRTC accepts them.
        let computed = head.template.is_some() && self.text(last) == ";";
        let host = function && !device && !head.constant && !head.defaulted && !computed && (!head.assigned || head.operator);
        if head.kernel && function {
            self.kernel(head, begin);
        }
        let (start, end) = (self.tokens[begin].start, self.tokens[last].end);
        self.parsed.items.push(Item { start, end, form, device, both: head.host && device, host, name });
        device
    }

    fn kernel(&mut self, head: &DeclarationHead, begin: usize) {
        let Some((name, from, to)) = head.call else { return };
        let own = self.text(name);
        let spaces = self.spaces.iter().filter(|space| !space.is_empty()).cloned();
        let name = spaces.chain([own.to_owned()]).collect::<Vec<_>>().join("::");
        let template = head.template.map(|(from, to)| self.join_tokens(from, to));
        let kernel = Kernel { name, template, parameters: self.parameters(from, to), line: line_of(self.source, self.tokens[begin].start) };
        match self.parsed.kernels.iter_mut().find(|known| known.name == kernel.name && known.parameters.len() == kernel.parameters.len()) {
            // The definition, whose parameters have names, replaces a prototype.
            Some(known) if known.template.is_some() == kernel.template.is_some() => *known = kernel,
            _ => self.parsed.kernels.push(kernel),
        }
    }

    /// Returns the text of tokens with a space between names.
    fn join_tokens(&self, from: usize, to: usize) -> String {
        let mut text = String::new();
        for at in from..to {
            let word = self.text(at);
            let glue = text.chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ',');
            if glue && self.tokens[at].kind != TokenKind::Mark {
                text.push(' ');
            }
            text.push_str(word);
        }
        text
    }

    fn parameters(&self, from: usize, to: usize) -> Vec<Parameter> {
        let (mut all, mut start, mut at) = (Vec::new(), from, from);
        while at <= to {
            let word = if at == to { "," } else { self.text(at) };
            match word {
                "(" | "[" | "{" => at = self.closing(at),
                "<" => at = self.closing_angle(at),
                "," => {
                    if start < at {
                        all.push(self.parameter(start, at));
                    }
                    start = at + 1;
                }
                _ => {}
            }
            at += 1;
        }
        all.retain(|parameter: &Parameter| parameter.kind != "void");
        all
    }

    fn parameter(&self, from: usize, to: usize) -> Parameter {
        let end = (from..to).find(|&at| self.text(at) == "=").unwrap_or(to);
        let named = (from..end).rev().find(|&at| self.tokens[at].kind == TokenKind::Name && !is_attribute(self.text(at)));
        let names = (from..end)
            .filter(|&at| self.tokens[at].kind == TokenKind::Name && !is_attribute(self.text(at)) && self.text(at) != "const")
            .count();
        let pointer = (from..end).any(|at| matches!(self.text(at), "*" | "&"));
        let named = named.filter(|_| names > 1 || pointer);
        let named = named.filter(|&at| !TYPE_WORDS.contains(&self.text(at)));
        let kind: Vec<usize> = (from..end).filter(|&at| Some(at) != named && !is_attribute(self.text(at))).collect();
        let mut text = String::new();
        for at in kind {
            if text.chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_') && self.tokens[at].kind != TokenKind::Mark {
                text.push(' ');
            }
            text.push_str(self.text(at));
        }
        Parameter { name: named.map_or("", |at| self.text(at)).to_owned(), kind: text }
    }

    /// Finds `name<arguments><<<` in the whole source.
    fn launches(&mut self) {
        for at in 2..self.tokens.len() {
            if !(self.text(at) == "<" && self.text(at - 1) == "<" && self.text(at - 2) == "<") || self.text(at.wrapping_sub(3)) != ">" {
                continue;
            }
            let (mut depth, mut place) = (0_i64, at - 3);
            loop {
                match self.text(place) {
                    ">" => depth += 1,
                    "<" => depth -= 1,
                    ";" | "{" | "}" => break,
                    _ => {}
                }
                if depth == 0 || place == 0 {
                    break;
                }
                place -= 1;
            }
            if depth != 0 || place == 0 || self.tokens[place - 1].kind != TokenKind::Name {
                continue;
            }
            let launched = self.join_tokens(place - 1, at - 2);
            if !self.parsed.launched.contains(&launched) {
                self.parsed.launched.push(launched);
            }
        }
    }
}

/// Words of a type that cannot be a parameter's name.
const TYPE_WORDS: [&str; 9] = ["int", "unsigned", "long", "short", "char", "float", "double", "bool", "size_t"];
const KEYWORDS: [&str; 16] = [
    "class",
    "struct",
    "union",
    "enum",
    "template",
    "typename",
    "static",
    "inline",
    "const",
    "extern",
    "typedef",
    "final",
    "constexpr",
    "public",
    "friend",
    "virtual",
];

/// Returns true if the word is an attribute, whose parentheses do not contain parameters.
fn is_attribute(word: &str) -> bool {
    matches!(word, "alignas" | "decltype" | "noexcept" | "explicit" | "requires" | "__restrict" | "restrict" | "__declspec" | "asm")
        || (word.len() > 4 && word.starts_with("__") && word.ends_with("__"))
}
