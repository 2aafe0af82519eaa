#!/usr/bin/env python3
"""Writes launch files of all-reduce over several GPUs: programs/collectives/*.toml.

Each GPU has `n` floats, and all receive the sums. The copy engine of the sending GPU executes each copy; the receiving GPU computes the sums by saxpy
with a factor of 1.
"""

import pathlib

HEAD = """# All-reduce over {gpus} GPUs, {what}. Written by programs/tools/collective.py.
name = "{name}"
modules = {{ sm_70 = "../saxpy.sm_70.sass", sm_80 = "../saxpy.sm_80.sass" }}

[parameters]
n = {n}

[buffers]
"""


class Writer:
    def __init__(self, name, what, gpus, parts):
        self.gpus, self.parts = gpus, parts
        self.text = HEAD.format(name=name, what=what, gpus=gpus, n=parts * 1024)
        self.sum = sum(range(1, gpus + 1))

    def buffers(self, slots):
        for g in range(self.gpus):
            self.text += f'd{g} = {{ type = "f32", count = "n", gpu = {g}, contents = {{ constant = {g + 1} }} }}\n'
            if slots:
                self.text += f't{g} = {{ type = "f32", count = "{slots} * (n / {self.parts})", gpu = {g} }}\n'

    def place(self, buffer, part):
        return f"&{buffer} + 4 * (n / {self.parts}) * {part}" if part else f"&{buffer}"

    def copy(self, source, target, record, wait):
        (g, from_buffer, from_part), (to_buffer, to_part) = source, target
        self.text += "\n[[launches]]\n"
        bytes_ = f"4 * (n / {self.parts})"
        self.text += (
            f'copy = {{ from = "{self.place(from_buffer, from_part)}", to = "{self.place(to_buffer, to_part)}", bytes = "{bytes_}" }}\n'
        )
        self.text += f'gpu = {g}\nstream = 1\nrecord = "{record}"\n'
        if wait:
            self.text += "wait = [" + ", ".join(f'"{event}"' for event in wait) + "]\n"

    def add(self, g, temporary, part, record, wait):
        chunk = f"n / {self.parts}"
        self.text += "\n[[launches]]\n"
        self.text += f'kernel = "saxpy"\ngrid = ["min(160, ({chunk} + 255) / 256)"]\nblock = [256]\n'
        self.text += f'arguments = ["{chunk}", 1.0, "{self.place(f"t{g}", temporary)}", "{self.place(f"d{g}", part)}"]\n'
        self.text += f'gpu = {g}\nstream = 0\nrecord = "{record}"\nwait = [' + ", ".join(f'"{event}"' for event in wait) + "]\n"

    def outputs(self):
        for g in range(self.gpus):
            self.text += f'\n[[outputs]]\nbuffer = "d{g}"\nexpected = {{ constant = {self.sum} }}\n'

    def write(self, path):
        self.outputs()
        path.write_text(self.text)


def ring(order, name):
    """Writes a reduce-scatter and an all-gather along a ring, in 2 (G - 1) steps; `order` lists the GPUs along the ring."""
    gpus = len(order)
    out = Writer(name, f"along the ring {'-'.join(map(str, order))}", gpus, gpus)
    out.buffers(gpus - 1)
    for step in range(gpus - 1):
        for i, g in enumerate(order):
            to, part = order[(i + 1) % gpus], (i - step) % gpus
            wait = [f"a{step - 1}_{g}"] if step else []
            out.copy((g, f"d{g}", part), (f"t{to}", step), f"c{step}_{g}", wait)
        for i, g in enumerate(order):
            before, part = order[(i - 1) % gpus], (i - 1 - step) % gpus
            out.add(g, step, part, f"a{step}_{g}", [f"c{step}_{before}"])
    for step in range(gpus - 1):
        for i, g in enumerate(order):
            to, before, part = order[(i + 1) % gpus], order[(i - 1) % gpus], (i + 1 - step) % gpus
            wait = [f"g{step - 1}_{before}"] if step else [f"a{gpus - 2}_{g}"]
            out.copy((g, f"d{g}", part), (f"d{to}", part), f"g{step}_{g}", wait)
    return out


def tree(edges, gpus, name):
    """Writes a reduction to GPU 0 along a tree, and a broadcast back down; `edges` lists (child, parent) in the order of the sums."""
    out = Writer(name, "up and down a tree: " + ", ".join(f"{c} to {p}" for c, p in edges), gpus, 1)
    slots = max(sum(1 for _, p in edges if p == g) for g in range(gpus))
    out.buffers(slots)
    used, last = {}, {}
    for child, parent in edges:
        slot = used.get(parent, 0)
        used[parent] = slot + 1
        out.copy((child, f"d{child}", 0), (f"t{parent}", slot), f"c{child}", [last[child]] if child in last else [])
        out.add(parent, slot, 0, f"a{child}", [f"c{child}"])
        last[parent] = f"a{child}"
    for child, parent in reversed(edges):
        arrived = f"b{parent}" if parent != 0 else last[0]
        out.copy((parent, f"d{parent}", 0), (f"d{child}", 0), f"b{child}", [arrived])
    return out


def main():
    folder = pathlib.Path(__file__).resolve().parent.parent / "collectives"
    folder.mkdir(exist_ok=True)
    ring([0, 1], "ring2").write(folder / "ring2.toml")
    # The ring follows the pairs of a DGX-1 that are connected by two links.
    ring([0, 3, 2, 1, 5, 6, 7, 4], "ring8").write(folder / "ring8.toml")
    tree([(3, 2), (1, 0), (7, 6), (5, 4), (2, 0), (6, 4), (4, 0)], 8, "tree8").write(folder / "tree8.toml")


if __name__ == "__main__":
    main()
