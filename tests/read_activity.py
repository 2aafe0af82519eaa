"""The trace of `run --perfetto`, read with the messages of the package `perfetto`: slices nest, and the numbers of CTAs,
warp states and commands of DRAM banks match the counters of the run. If the trace has the warps of all SMs, so do the products of warp groups and the
bytes of bulk copies.

usage: python3 tests/read_activity.py RUN TRACE SMS CHANNELS        SMS: number of SMs whose warps are in the trace; CHANNELS: number of DRAM channels
"""

import json
import sys
from pathlib import Path

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

run, sms, channels = Path(sys.argv[1]), int(sys.argv[3]), int(sys.argv[4])
stats = json.loads((run / "stats.json").read_text())
trace = Trace()
trace.ParseFromString(Path(sys.argv[2]).read_bytes())

tracks, parents, stacks, slices = {}, {}, {}, {}
for packet in trace.packet:
    if packet.HasField("track_descriptor"):
        track = packet.track_descriptor
        tracks[track.uuid], parents[track.uuid] = track.name, track.parent_uuid
        continue
    event, stack = packet.track_event, stacks.setdefault(packet.track_event.track_uuid, [])
    if event.type == TrackEvent.TYPE_SLICE_BEGIN:
        facts = {fact.name: fact.uint_value if fact.HasField("uint_value") else fact.string_value for fact in event.debug_annotations}
        assert not stack or stack[-1][0] <= packet.timestamp, (tracks[event.track_uuid], "a slice begins before the one that it is in")
        stack.append((packet.timestamp, event.name, facts))
    elif event.type == TrackEvent.TYPE_SLICE_END:
        begin, name, facts = stack.pop()
        assert begin <= packet.timestamp, name
        slices.setdefault(event.track_uuid, []).append((begin, packet.timestamp, name, facts))
assert not any(stacks.values()), "every slice ends"

under = lambda kind: {uuid: name for uuid, name in tracks.items() if tracks.get(parents[uuid], "").startswith(kind)}
ctas = [one for uuid, name in under("SM ").items() if name.startswith("SM ") for one in slices[uuid]]
# The grid scheduler is notified of the end of a CTA later than the CTA's SM.
assert sum("left" in facts for *_, facts in ctas) == stats["components"]["sm"]["total"]["ctas_ended"], len(ctas)
for uuid, name in under("SM ").items():
    ends = sorted((begin, end) for begin, end, *_ in slices.get(uuid, []))
    assert all(first[1] <= second[0] for first, second in zip(ends, ends[1:])), f"slices of {name} overlap"

warps = [uuid for uuid, name in under("SM ").items() if name.startswith("warp")]
assert len({parents[uuid] for uuid in warps}) == sms, (len(warps), sms)
states = {name for uuid in warps for _, _, name, _ in slices[uuid]}
assert sms == 0 or len(states) >= 4, states

beside = lambda kind: [one for uuid, name in under("SM ").items() if name.startswith(kind) for one in slices.get(uuid, [])]
products, copies, phases = beside("matrix units"), beside("bulk copy"), beside("mbarrier")
if products:
    assert len(products) == stats["components"]["sm"]["total"]["group_products"], len(products)
    assert all("ends" in facts for *_, facts in copies) and phases, "every copy ends"
    roles = {name.partition(", ")[2] for name in tracks.values() if name.startswith("warp ")}
    assert {"producer", "consumer"} <= roles, roles

banks = under("DRAM channel ")
assert len({parents[uuid] for uuid in banks}) == channels
for channel in {parents[uuid] for uuid in banks}:
    number = int(tracks[channel].rsplit(" ", 1)[1])
    own = [one for uuid in banks if parents[uuid] == channel for one in slices.get(uuid, [])]
    counters = {name: values[number] for name, values in stats["components"]["dram"]["instances"].items()}
    rows = [facts for *_, name, facts in own if name.startswith("row ")]
    reads, writes = sum(row["reads"] for row in rows), sum(row["writes"] for row in rows)
    found = {kind: sum(name.startswith(kind) for _, _, name, _ in own) for kind in ("read,", "write,")}
    assert (found["read,"], found["write,"]) == (reads, writes), found
    assert (reads, writes) == (counters["reads"], counters["writes"]), (reads, writes, counters)
    assert len(rows) == counters["activates"], (len(rows), counters)
    assert sum(name == "refresh" for *_, name, _ in own) % max(1, counters.get("refreshes", 0)) == 0
also = f", {len(copies)} copies, {len(phases)} phases and {len(products)} products" if products else ""
print(f"Perfetto: {len(ctas)} CTAs, {len(warps)} warps in {len(states)} states and {len(banks)} banks{also} are those that the run counted")
