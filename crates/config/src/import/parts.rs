//! Parsers for structured option values of Accel-Sim: caches, DRAM timing, specialised units.

/// A cache: `<sector>:<sets>:<line>:<ways>,<replacement>:<write>:<allocate>:<write miss>:<index>,<mshr>:<n>:<merge>,<queue>:..,<port>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CacheText {
    /// `true` if the cache has sectors: `S`, else `N`.
    pub(super) sectored: bool,
    /// Number of sets.
    pub(super) sets: u64,
    /// Line size in bytes.
    pub(super) line: u64,
    /// Number of ways.
    pub(super) ways: u64,
    /// The write policy, as warpshard's word.
    pub(super) write: &'static str,
    /// The write-miss policy, as warpshard's word.
    pub(super) write_miss: &'static str,
    /// The allocation policy, as warpshard's word.
    pub(super) allocate: &'static str,
    /// The set index function, as warpshard's word.
    pub(super) index: &'static str,
    /// The replacement policy, as warpshard's word.
    pub(super) replacement: &'static str,
    /// Number of MSHRs.
    pub(super) mshrs: u64,
    /// Requests merged per MSHR.
    pub(super) merge: u64,
    /// Capacity of the miss queue.
    pub(super) miss_queue: u64,
    /// Width of the data port in bytes; 0 for a whole line.
    pub(super) port: u64,
}

/// The format of a cache option, for messages.
pub(super) const CACHE_EXPECTED: &str = "sector:sets:line:ways,replacement:write:allocate:write miss:index,MSHR:number:merge,queue,port as in S:4:128:64,L:T:m:L:L,A:512:8,16:0,32";

impl CacheText {
    /// Parses a cache option. The error names the field that cannot be read.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let parts: Vec<Vec<&str>> = text.split(',').map(|part| part.split(':').map(str::trim).collect()).collect();
        let field = |part: usize, index: usize| {
            let found = parts.get(part).and_then(|part| part.get(index)).copied().filter(|field| !field.is_empty());
            found.ok_or_else(|| format!("field {} of part {} is missing", index + 1, part + 1))
        };
        let number =
            |part, index| field(part, index).and_then(|text| text.parse::<u64>().map_err(|_| format!("`{text}` is not a whole number")));
        let sectored = match field(0, 0)? {
            "S" => true,
            "N" => false,
            other => return Err(format!("cache type `{other}`: S is sectored, N is not")),
        };
        let replacement = match field(1, 0)? {
            "L" => "lru",
            "F" => "fifo",
            other => return Err(format!("replacement `{other}`: L (least recently used) or F (first in, first out) is expected")),
        };
        let write = match field(1, 1)? {
            "B" => "back",
            "T" => "through",
            "L" => "local-back-global-through",
            "R" => "read-only",
            other => return Err(format!("write policy `{other}` is not modelled; B, T, L and R are")),
        };
        let allocate = match field(1, 2)? {
            "m" => "on-miss",
            "f" => "on-fill",
            "s" => "on-fill",
            other => return Err(format!("allocation policy `{other}`: m, f or s is expected")),
        };
        let write_miss = match field(1, 3)? {
            "N" => "no-allocate",
            "F" => "fetch-on-write",
            "L" => "lazy-fetch-on-read",
            "W" => "write-allocate",
            other => return Err(format!("write allocation `{other}` is not modelled; N, F, L and W are")),
        };
        let index = match field(1, 4)? {
            "L" => "linear",
            "P" => "ipoly",
            "H" => "fermi",
            other => return Err(format!("set index function `{other}` is not modelled; L, P and H are")),
        };
        match field(2, 0)? {
            "A" | "S" => {}
            other => return Err(format!("MSHRs of kind `{other}` are not modelled; A and S are")),
        }
        Ok(Self {
            sectored,
            sets: number(0, 1)?,
            line: number(0, 2)?,
            ways: number(0, 3)?,
            write,
            write_miss,
            allocate,
            index,
            replacement,
            mshrs: number(2, 1)?,
            merge: number(2, 2)?,
            miss_queue: number(3, 0)?,
            port: if parts.len() > 4 { number(4, 0)? } else { 0 },
        })
    }
}

/// Parses DRAM timing, `nbk=16:CCD=1:..`, into names and values.
pub(super) fn parse_dram_timing(text: &str) -> Result<Vec<(String, u64)>, String> {
    let pair = |part: &str| {
        let (name, value) = part.split_once('=').ok_or_else(|| format!("`{part}` has no name"))?;
        let value = value.trim().parse().map_err(|_| format!("`{value}` of {name} is not a whole number"))?;
        Ok((name.trim().to_owned(), value))
    };
    text.split(':').filter(|part| !part.trim().is_empty()).map(pair).collect()
}

/// Parses a specialised unit, `enabled,units,latency,..,name`, and returns its number of units; 0 if it is not enabled.
pub(super) fn parse_specialized(text: &str) -> Result<u64, String> {
    let fields: Vec<&str> = text.split(',').map(str::trim).collect();
    let number = |i: usize| {
        let text = fields.get(i).copied().unwrap_or_default();
        text.parse::<u64>().map_err(|_| format!("`{text}` is not a whole number"))
    };
    Ok(if number(0)? == 0 { 0 } else { number(1)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_is_read_field_by_field() {
        let cache = CacheText::parse("S:4:128:64,L:T:m:L:L,A:512:8,16:0,32").unwrap();
        assert_eq!((cache.sets, cache.line, cache.ways, cache.mshrs, cache.merge), (4, 128, 64, 512, 8));
        assert_eq!((cache.miss_queue, cache.port, cache.sectored), (16, 32, true));
        assert_eq!((cache.write, cache.write_miss, cache.allocate, cache.index), ("through", "lazy-fetch-on-read", "on-miss", "linear"));
        assert_eq!(CacheText::parse("N:32:128:4,L:L:m:N:H,S:64:8,8").unwrap().port, 0);
        let replacement = |letter: &str| CacheText::parse(&format!("S:4:128:64,{letter}:T:m:L:L,A:512:8,16:0,32")).unwrap().replacement;
        assert_eq!(["L", "F"].map(replacement), ["lru", "fifo"]);
    }

    #[test]
    fn policies_that_are_not_modelled_are_rejected_by_name() {
        let why = |text: &str| CacheText::parse(text).unwrap_err();
        assert!(why("S:4:128:64,R:T:m:L:L,A:512:8,16:0,32").contains("replacement `R`"));
        assert!(why("S:4:128:64,L:T:m:L:X,A:512:8,16:0,32").contains("set index function `X`"));
        assert!(why("S:4:128,L:T:m:L:L,A:512:8,16").contains("field 4 of part 1 is missing"));
        assert!(why("S:4:128:64,L:T:m:L:L,F:512:8,16:0,32").contains("MSHRs of kind `F`"));
    }

    #[test]
    fn timing_and_units_are_read_or_explained() {
        assert_eq!(parse_dram_timing("nbk=16:CCD=1").unwrap(), [("nbk".to_owned(), 16), ("CCD".to_owned(), 1)]);
        assert!(parse_dram_timing("16:1").unwrap_err().contains("no name"));
        assert_eq!(parse_specialized("1,4,200,4,4,TEX"), Ok(4));
        assert_eq!(parse_specialized("0,4,200,4,4,TEX"), Ok(0));
    }
}
