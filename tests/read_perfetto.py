"""The Perfetto trace of a run, read with the messages of the package `perfetto`: kernels, cycles and counters equal those of the result folder.

The package includes these messages, but it downloads the trace processor on first use.

usage: python3 tests/read_perfetto.py RUN TRACE        RUN is a run with intervals
"""

import csv
import json
import sys
from pathlib import Path

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

run = Path(sys.argv[1])
stats = json.loads((run / "stats.json").read_text())
nanoseconds = 1e6 / stats["core_khz"]
trace = Trace()
trace.ParseFromString(Path(sys.argv[2]).read_bytes())

tracks, slices, open_slices, points = {}, [], {}, {}
for packet in trace.packet:
    assert packet.trusted_packet_sequence_id == 1
    if packet.HasField("track_descriptor"):
        track = packet.track_descriptor
        assert track.uuid not in tracks and (not track.parent_uuid or track.parent_uuid in tracks), track
        tracks[track.uuid] = track
        continue
    event = packet.track_event
    track = tracks[event.track_uuid]
    if event.type == TrackEvent.TYPE_SLICE_BEGIN:
        assert event.track_uuid not in open_slices, "kernels of a stream do not overlap"
        open_slices[event.track_uuid] = (packet.timestamp, event)
    elif event.type == TrackEvent.TYPE_SLICE_END:
        begin, first = open_slices.pop(event.track_uuid)
        facts = {fact.name: fact.uint_value for fact in first.debug_annotations}
        slices.append((track.name, begin, packet.timestamp, facts))
    elif event.type == TrackEvent.TYPE_COUNTER:
        assert track.HasField("counter") and track.counter.unit_name, track
        points.setdefault(track.name, {})[packet.timestamp] = event.double_counter_value
    else:
        assert event.type == TrackEvent.TYPE_INSTANT and event.name, event
assert not open_slices, open_slices

kernels = [kernel for kernel in stats["kernels"] if kernel["started"] is not None]
assert len(slices) == len(kernels), (len(slices), len(kernels))
for (track, begin, end, facts), kernel in zip(sorted(slices, key=lambda one: one[3]["started"]), sorted(kernels, key=lambda one: one["started"])):
    ended = kernel["ended"] if kernel["ended"] is not None else stats["total"]["cycles"]
    assert begin == round(kernel["started"] * nanoseconds) and abs(end - ended * nanoseconds) <= 1, (kernel["name"], begin, end)
    assert track == f"stream {kernel['stream']}" and facts["cycles"] == kernel["cycles"], (track, facts)

begin, value, rows = 0, None, 0
for row in csv.DictReader((run / "intervals.csv").open()):
    value = points["IPC"].get(round(begin * nanoseconds), value)
    ipc = int(row["sm.thread_instructions"]) / (int(row["cycle"]) - begin)
    assert value is not None and abs(value - ipc) < 1e-6 * max(ipc, 1), (begin, value, ipc)
    begin, rows = int(row["cycle"]), rows + 1
print(f"Perfetto: {len(slices)} kernels, {len(points)} counters, and IPC in {rows} intervals are those of the result folder")
