"""The package against host artifacts, which $ETC compiles: nothing needs a GPU."""

import copy
import json
import os
import pickle
import subprocess
import sys
import tempfile
import unittest
import weakref
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src" / "python"))

import etcrt  # noqa: E402
from etcrt.ranks import Ranks  # noqa: E402
from safetensors_file import safetensors  # noqa: E402

SCALE = """etir 1;
dim n in 1..64;
const factor = 3.0;
device @scale(%x: f32[n, 8], %w: f32[2, 8], %y: out f32[n, 8]) tasks (i: n) {
  for (j: 8) %y[i, j] = %x[i, j] * %w[i % 2, j] * factor;
}
graph @scale_rows(%x: f32[n, 8], %w: f32[2, 8] from "w.{i}", %y: out f32[n, 8]) {
  call @scale(%x, %w, %y);
}
"""

STEPS = """etir 1;
dim n in 1..64;
device @step(%x: f32[n], %y: inout f32[n]) tasks (i: n) { %y[i] = 10.0 * %y[i] + %x[i]; }
graph @steps(%x: f32[3, n], %y: inout f32[2, n]) {
  repeat l in 0..3 { call @step(%x[l], %y[l % 2]); }
}
"""

LAYERS = """etir 1;
device @add(%w: f32[8], %y: inout f32[8]) tasks (i: 8) { %y[i] = 10.0 * %y[i] + %w[i]; }
graph @layers(%w: f32[3, 8] from "w.{i}", %y: inout f32[8]) {
  repeat l in 0..3 { call @add(%w[l], %y); }
}
"""

PAIR = """etir 1;
device @add(%a: f32[8], %b: f32[8], %y: out f32[8]) tasks (i: 8) { %y[i] = %a[i] + %b[i]; }
graph @pair(%a: f32[8] from "a", %b: f32[8] from "b", %y: out f32[8]) { call @add(%a, %b, %y); }
graph @twice(%b: f32[8] from "b", %y: out f32[8]) { call @add(%b, %b, %y); }
"""

HEADS = """etir 1;
mesh tp = 4;
device @copy(%w: f32[1, 8], %y: out f32[8]) tasks (i: 8) { %y[i] = %w[0, i]; }
graph @copies(%w: f32[shard 2 in 2, 8] from "w", %y: out f32[shard 32]) { call @copy(%w, %y); }
"""


class ProgramTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = Path(cls.folder.name)
        (cls.path / "scale.etir").write_text(SCALE)
        subprocess.run([os.environ["ETC"], "compile", cls.path / "scale.etir", "--arch", "host",
                        "-o", cls.path / "scale.etca"], check=True)
        cls.program = etcrt.Program(cls.path / "scale.etca")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def checkpoint(self, **tensors):
        (self.path / "model.safetensors").write_bytes(safetensors(tensors))
        return etcrt.Checkpoint(self.path)

    def launched(self, run, x):
        y = np.full_like(x, np.nan)
        run.bind(x=x, y=y)
        run.set_sms(2)
        run.launch()
        return y

    def test_program_is_described(self):
        self.assertEqual(self.program.target(), "host")
        self.assertEqual(self.program.graphs(), ["scale_rows"])
        self.assertEqual(self.program.dims(), {"n": (1, 64, 1)})
        self.assertEqual(self.program.params()["w"],
                         etcrt.Param("in", "f32", ("2", "8"), 0, ("w.{i}",), None, ((),)))
        self.assertEqual(self.program.constants(), {"factor": 3.0})

    def test_ranks_share_parts_of_a_checkpoint(self):
        (self.path / "heads.etir").write_text(HEADS)
        subprocess.run([os.environ["ETC"], "compile", self.path / "heads.etir", "--arch", "host",
                        "-o", self.path / "heads.etca"], check=True)
        group = etcrt.Group(self.path / "heads.etca", 4)
        params = group.program.params()
        self.assertEqual((params["w"].shard, params["y"].shard), (0, 0))
        self.assertEqual([group.program.part("w", rank, 4) for rank in range(4)],
                         [(0, 2), (0, 2), (1, 2), (1, 2)])
        self.assertEqual(group.program.part("y", 3, 4), (3, 4))
        w = np.random.default_rng(3).random((2, 8), dtype=np.float32)
        checkpoint = self.checkpoint(w=w)
        weights = [etcrt.Weights(group.program, checkpoint, rank=rank, ranks=4) for rank in range(4)]
        with self.assertRaisesRegex(etcrt.Error, "are those of rank 1 of 4, but .* is rank 0 of 4"):
            group.members[0].bind_weights(weights[1])
        found = [np.full(8, np.nan, dtype=np.float32) for _ in range(4)]
        for member, mine, y in zip(group.members, weights, found):
            member.bind_weights(mine)
            member.bind(y=y)
            member.set_sms(1)
        for streams in ([], [None] * 3, [None] * 5):
            for call in (group.launch, group.synchronize):
                with self.assertRaisesRegex(ValueError, f"^{len(streams)} streams are not one for each of 4 ranks"):
                    call(streams)
        group.launch()
        group.synchronize([None] * 4)
        np.testing.assert_array_equal(found, w[[0, 0, 1, 1]])

    def test_launch_with_numpy(self):
        x = np.random.default_rng(1).random((17, 8), dtype=np.float32)
        w = np.random.default_rng(2).random((2, 8), dtype=np.float32)
        run = etcrt.Runtime(self.program)
        run.bind(w=w)
        np.testing.assert_allclose(self.launched(run, x), x * w[np.arange(17) % 2] * 3, rtol=1e-6)

    def test_read_only_arrays_are_read(self):
        run, w = etcrt.Runtime(self.program), np.ones((2, 8), np.float32)
        w.setflags(write=False)
        run.bind(w=w)
        np.testing.assert_array_equal(self.launched(run, np.ones((3, 8), np.float32)), np.full((3, 8), 3))

    def test_arrays_that_cannot_be_exported_name_their_parameter(self):
        run, y = etcrt.Runtime(self.program), np.ones((3, 8), np.float32)
        y.setflags(write=False)
        for name, array in (("y", y), ("x", y.astype(">f4"))):
            with self.assertRaisesRegex(BufferError, f"parameter `{name}`: .*Bind a copy"):
                run.bind(**{name: array})

    def test_a_profiled_launch_says_what_it_did(self):
        subprocess.run([os.environ["ETC"], "compile", self.path / "scale.etir", "--arch", "host",
                        "--profile", "-o", self.path / "profiled.etca"], check=True)
        run = etcrt.Runtime(self.path / "profiled.etca")
        run.bind(w=np.ones((2, 8), dtype=np.float32))
        self.launched(run, np.ones((5, 8), dtype=np.float32))
        profile = run.profile()
        names = [event["name"] for event in json.loads(profile.json())["traceEvents"]
                 if event["ph"] == "X"]
        self.assertEqual(sorted(names), [f"@scale[{i}]" for i in range(5)])
        self.assertIn("@scale", profile.summary())
        self.assertEqual(profile.lost(), 0)
        with self.assertRaises(etcrt.Error) as raised:
            etcrt.Runtime(self.program).profile()
        self.assertEqual(raised.exception.status, etcrt.Status.NOT_FOUND)

    def test_ranges_of_tensors_are_described(self):
        (self.path / "joined.etir").write_text(SCALE.replace(
            'from "w.{i}"', 'from "w.{i}" or "joined.{i}.weight"[8..16 of 24] or "{i}"[*] '
            'or "short.{i}"[3 padded]'))
        subprocess.run([os.environ["ETC"], "compile", self.path / "joined.etir", "--arch", "host",
                        "-o", self.path / "joined.etca"], check=True)
        w = etcrt.Program(self.path / "joined.etca").params()["w"]
        self.assertEqual(w.sources, ("w.{i}", "joined.{i}.weight", "{i}", "short.{i}"))
        self.assertEqual(w.source_ranges, ((), ((8, 16, 24),), (), ((0, 3, 3),)))

    def test_launch_with_weights(self):
        x = np.random.default_rng(3).random((3, 8), dtype=np.float32)
        w = [np.random.default_rng(i).random(8, dtype=np.float32) for i in range(2)]
        checkpoint = self.checkpoint(**{"w.0": w[0], "w.1": w[1]})
        self.assertEqual(checkpoint.tensors()["w.1"].shape, (8,))
        seen = []
        weights = etcrt.Weights(self.program, checkpoint,
                                progress=lambda done, total: seen.append((done, total)))
        self.assertEqual(weights.bytes(), 64)
        self.assertEqual(seen[-1], (64, 64))
        run = etcrt.Runtime(self.program)
        run.bind_weights(weights)
        del checkpoint, weights
        expected = x * np.stack([w[0], w[1], w[0]]) * 3
        np.testing.assert_allclose(self.launched(run, x), expected, rtol=1e-6)

    def bound_to_a_pair(self):
        """A program, an instance of its @pair, and a reference to the weights that this has."""
        (self.path / "pair.etir").write_text(PAIR)
        subprocess.run([os.environ["ETC"], "compile", self.path / "pair.etir", "--arch", "host",
                        "-o", self.path / "pair.etca"], check=True)
        program = etcrt.Program(self.path / "pair.etca")
        weights = etcrt.Weights(program, self.checkpoint(a=np.zeros(8, np.float32), b=np.zeros(8, np.float32)), "pair")
        run = etcrt.Runtime(program, "pair")
        run.bind_weights(weights)
        return program, run, weakref.ref(weights)

    def test_weights_live_as_long_as_one_parameter_has_them(self):
        program, run, weights = self.bound_to_a_pair()
        run.bind_weights(etcrt.Weights(program, etcrt.Checkpoint(self.path), "twice"))
        self.assertIsNotNone(weights())
        run.bind(a=np.zeros(8, np.float32))
        self.assertIsNone(weights())

    def test_one_of_several_graphs_is_named(self):
        program, _, _ = self.bound_to_a_pair()
        self.assertIsNone(program.mesh("twice"))
        for unnamed in (program.mesh, program.dims, program.params, lambda: etcrt.Runtime(program)):
            with self.assertRaisesRegex(etcrt.Error, "the program has 2 graphs, so one must be named") as raised:
                unnamed()
            self.assertEqual(raised.exception.status, etcrt.Status.ARGUMENT)
        for named in (program.mesh, lambda name: etcrt.Runtime(program, name)):
            with self.assertRaisesRegex(ValueError, "has a NUL"):
                named("pair\0")

    def test_weights_live_on_where_others_cannot_be_bound(self):
        _, run, weights = self.bound_to_a_pair()
        program = etcrt.Program(self.path / "pair.etca")
        with self.assertRaisesRegex(etcrt.Error, "loaded for another program"):
            run.bind_weights(etcrt.Weights(program, etcrt.Checkpoint(self.path), "pair"))
        self.assertIsNotNone(weights())

    def test_errors_can_be_copied(self):
        error = etcrt.Error(etcrt.Status.FILE, "cannot open")
        for made in (copy.copy(error), pickle.loads(pickle.dumps(error))):
            self.assertEqual((str(made), made.status), ("cannot open", etcrt.Status.FILE))

    def test_errors_are_exceptions_with_the_text_of_the_library(self):
        run = etcrt.Runtime(self.program)
        with self.assertRaises(etcrt.Error) as raised:
            run.bind(x=np.zeros((3, 7), dtype=np.float32))
        self.assertEqual(raised.exception.status, etcrt.Status.BIND)
        self.assertIn("extent 1 is 7, but must be 8", str(raised.exception))
        with self.assertRaises(etcrt.Error) as raised:
            etcrt.Weights(self.program, self.checkpoint(other=np.zeros(8, dtype=np.float32)))
        self.assertEqual(raised.exception.status, etcrt.Status.CHECKPOINT)
        self.assertIn("tensor `w.0` is missing", str(raised.exception))
        with self.assertRaises(etcrt.Error):
            etcrt.Program(self.path / "absent.etca")
        with self.assertRaises(TypeError):
            run.bind(x=[1, 2, 3])
        for of_no_name in (lambda: etcrt.Runtime(self.program, "absent"), lambda: run.shape("absent")):
            with self.assertRaises(etcrt.Error) as raised:
                of_no_name()
            self.assertEqual(raised.exception.status, etcrt.Status.NOT_FOUND)
        with self.assertRaises(ValueError):
            run.bind_pointer("x", 16, "f33", (3, 8))

    def test_integers_are_not_cut(self):
        run = etcrt.Runtime(self.program)
        run.set_dim("n", np.int64(3))
        for cut, message in ((lambda: run.set_dim("n", 2**64 + 1), "^dimension `n`: .* does not fit in 64 bits"),
                             (lambda: run.set_sms(2**32 + 1), "^value: 4294967297 does not fit in 32 bits"),
                             (lambda: run.bind_workspace(16, 2**64), "^value: .* does not fit in 64 bits")):
            with self.assertRaisesRegex(ValueError, message):
                cut()
        with self.assertRaises(TypeError):
            run.set_dim("n", 1.5)
        self.assertEqual(run.dim("n"), 3)

    def test_places_of_tensors_are_not_cut(self):
        run = etcrt.Runtime(self.program)
        for words, message in (((16, "f32", (2**64 + 3, 8)), "`x`: shape: 18446744073709551619 does not fit"),
                               ((16, "f32", (3, 8), (2**64 + 8, 1)), "`x`: strides: .* does not fit"),
                               ((16, "f32", (3, 8), (1,)), "`x`: 1 strides for a shape of 2 extents"),
                               ((2**64 + 16, "f32", (3, 8)), "`x`: address: .* does not fit in 64 bits")):
            with self.assertRaisesRegex(ValueError, message):
                run.bind_pointer("x", *words)
        with self.assertRaisesRegex(ValueError, "stream: .* does not fit in 64 bits"):
            run.launch(2**64)

    def test_options_are_not_cut(self):
        for name in ("rank", "ranks", "threads"):
            with self.assertRaisesRegex(ValueError, f"^{name}: .* does not fit"):
                etcrt.Weights(self.program, self.checkpoint(), **{"ranks": 1, name: 2**64})
        for words, message in (({"rank": 0, "ranks": 2**32 + 1}, "^ranks: .* does not fit in 32 bits"),
                               ({"device": 2**32}, "^device: .* does not fit in 32 bits"),
                               ({"timeout": 2**22 * 1000}, "a timeout is from 0 to 2147483 seconds"),
                               ({"timeout": float("inf")}, "a timeout is from 0 to 2147483 seconds"),
                               ({"timeout": -1}, "a timeout is from 0 to 2147483 seconds")):
            with self.assertRaisesRegex(ValueError, message):
                etcrt.Group.join(self.program, **words)
        with self.assertRaisesRegex(ValueError, "devices: .* does not fit in 32 bits"):
            etcrt.Group(self.program, devices=[2**32])

    def test_what_a_progress_function_raises_reaches_the_caller(self):
        def progress(done, total):
            raise KeyError("of the caller")
        tensors = {f"w.{i}": np.zeros(8, dtype=np.float32) for i in range(2)}
        with self.assertRaisesRegex(KeyError, "of the caller"):
            etcrt.Weights(self.program, self.checkpoint(**tensors), progress=progress)

    def test_a_rank_of_no_ranks_is_refused(self):
        with self.assertRaisesRegex(ValueError, "rank 1 is none of 0 ranks"):
            etcrt.Weights(self.program, self.checkpoint(), rank=1)

    def test_names_with_a_nul_are_refused(self):
        run = etcrt.Runtime(self.program)
        for named in (lambda: run.set_dim("n\0", 3), lambda: etcrt.Runtime(self.program).shape("x\0y"),
                      lambda: etcrt.Program(f"{self.path / 'scale.etca'}\0"),
                      lambda: etcrt.Checkpoint(f"{self.path}\0")):
            with self.assertRaisesRegex(ValueError, "has a NUL"):
                named()

    def test_what_is_no_torch_tensor_is_not_packed(self):
        with self.assertRaisesRegex(TypeError, "parameter `w`: a ndarray is no torch tensor"):
            self.program.pack("w", np.zeros((2, 8), np.float32))

    def test_a_tensor_of_another_type_is_not_packed(self):
        tensor = SimpleNamespace(data_ptr=lambda: 0, dtype="torch.uint8", shape=(2, 8))
        with self.assertRaisesRegex(TypeError, "parameter `w` is f32, and the tensor u8"):
            self.program.pack("w", tensor)

    def test_views_of_one_memory_are_packed_apart(self):
        def seen(*strides):
            return SimpleNamespace(data_ptr=lambda: 4096, dtype="torch.float32", shape=(8, 8), stride=lambda: strides)
        packed = []

        def pack(name, tensor, graph=None):
            packed.append((name, tensor.stride()))
            return packed[-1]
        with mock.patch.object(self.program, "tiles", lambda graph=None: dict.fromkeys("abc", (8, 8))), \
                mock.patch.object(self.program, "pack", pack), mock.patch("etcrt.program._check_of_torch"):
            all_of = self.program.pack_all({"a": seen(8, 1), "b": seen(1, 8), "c": seen(8, 1)})
        self.assertEqual(packed, [("a", (8, 1)), ("b", (1, 8))])
        self.assertIs(all_of["a"], all_of["c"])

    def test_a_buffer_takes_bytes_that_lie_within_it(self):
        buffer = etcrt.Buffer(8, False)
        buffer.fill(1)
        buffer.write(np.arange(2, dtype=np.uint8), np.int64(3))
        buffer.write(bytearray(b"xy"))
        self.assertEqual(buffer.read(8), b"xy\1\0\1\1\1\1")
        self.assertEqual(etcrt.Buffer(0, False).read(0), b"")
        for call, error in ((lambda: etcrt.Buffer(-1, False), ValueError), (lambda: etcrt.Buffer(1.5, False), TypeError),
                            (lambda: buffer.write("text"), TypeError), (lambda: buffer.write(b"1", 8), ValueError),
                            (lambda: buffer.write(b"1", -1), ValueError), (lambda: buffer.read(9), ValueError),
                            (lambda: buffer.read(-1), ValueError)):
            with self.assertRaises(error):
                call()

    def test_a_progress_function_may_stop_the_load(self):
        tensors = {f"w.{i}": np.zeros(8, dtype=np.float32) for i in range(2)}
        with self.assertRaises(etcrt.Error) as raised:
            etcrt.Weights(self.program, self.checkpoint(**tensors),
                          progress=lambda done, total: False)
        self.assertEqual(raised.exception.status, etcrt.Status.CANCELLED)


class ArrayTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = Path(cls.folder.name)
        cls.program = cls.compiled("steps", STEPS, "x,y")

    @classmethod
    def compiled(cls, name, text, arrays):
        (cls.path / f"{name}.etir").write_text(text)
        subprocess.run([os.environ["ETC"], "compile", cls.path / f"{name}.etir", "--arch", "host",
                        "--array", arrays, "-o", cls.path / f"{name}.etca"], check=True)
        return etcrt.Program(cls.path / f"{name}.etca")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        self.x = [np.full(8, float(i), np.float32) for i in (1, 2, 3)]
        self.y = [np.zeros(8, np.float32) for _ in range(2)]
        self.run_of = etcrt.Runtime(self.program)

    def launched(self):
        self.run_of.launch()
        return [y.tolist() for y in self.y]

    def test_an_array_is_described(self):
        self.assertEqual(self.program.params()["x"].array, 3)
        self.assertEqual(self.program.params()["x"].extents, ("3", "n"))

    def test_tensors_are_used_where_they_are(self):
        self.run_of.bind(x=self.x, y=tuple(self.y))
        self.assertEqual(self.launched(), [[13.0] * 8, [2.0] * 8])
        self.run_of.bind_tensor("x", np.full(8, 5.0, np.float32), 1)
        self.assertEqual(self.launched(), [[1313.0] * 8, [25.0] * 8])

    def test_a_stacked_tensor_is_an_array(self):
        self.run_of.bind(x=np.stack(self.x), y=self.y)
        self.assertEqual(self.launched(), [[13.0] * 8, [2.0] * 8])

    def test_weights_of_a_checkpoint_are_an_array(self):
        program = self.compiled("layers", LAYERS, "w")
        (self.path / "model.safetensors").write_bytes(
            safetensors({f"w.{i}": x for i, x in enumerate(self.x)}))
        run = etcrt.Runtime(program)
        run.bind_weights(etcrt.Weights(program, etcrt.Checkpoint(self.path)))
        run.bind(y=self.y[0])
        run.launch()
        self.assertEqual(self.y[0].tolist(), [123.0] * 8)

    def test_what_does_not_fit_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "`x` has 3 tensors, and 2 are given"):
            self.run_of.bind(x=self.x[:2])
        self.run_of.bind(x=self.x, y=[self.y[0], self.y[0]])
        with self.assertRaisesRegex(etcrt.Error, r"`y\[0\]` and `y\[1\]` overlap in memory"):
            self.run_of.launch()
        self.run_of.bind(y=self.y)
        self.run_of.bind_tensor("x", np.zeros(4, np.float32), 2)
        with self.assertRaisesRegex(etcrt.Error, r"parameter `x\[2\]`: extent 0 is 4"):
            self.run_of.launch()

    def test_tensors_may_overlap_where_the_caller_says_so(self):
        run = etcrt.Runtime(self.program)
        with self.assertRaisesRegex(etcrt.Error, "arrays of as many tensors"):
            run.allow_overlap("x", "y")


class RecordingTest(unittest.TestCase):
    """Recordings of several ranks, of which some fail."""

    class Queue:
        def __init__(self, log, rank, end=None):
            self.log, self.rank, self.failure = log, rank, end

        def begin(self):
            self.log.append(("begin", self.rank))

        def end(self):
            self.log.append(("end", self.rank))
            if self.failure:
                raise self.failure
            return lambda: self.log.append(("launch", self.rank))

    def recorded(self, enqueue, *ends):
        log = []
        ranks = Ranks.__new__(Ranks)
        ranks._on_device = True
        ranks.all = [SimpleNamespace(queue=self.Queue(log, rank, end)) for rank, end in enumerate(ends)]
        try:
            launch = ranks.recorded(enqueue)
        except (RuntimeError, ValueError) as error:
            return log, error
        launch()
        return log, None

    def test_all_ranks_are_launched(self):
        log, error = self.recorded(lambda: None, None, None)
        self.assertIsNone(error)
        self.assertEqual(log, [(what, rank) for what in ("begin", "end", "launch") for rank in range(2)])

    def test_each_recording_that_began_ends(self):
        refused = etcrt.Error(etcrt.Status.DEVICE, "cuGraphInstantiate failed")
        log, error = self.recorded(lambda: None, refused, None)
        self.assertEqual(log[2:], [("end", 0), ("end", 1)])
        self.assertEqual((str(error), error.status), ("rank 0: cuGraphInstantiate failed", etcrt.Status.DEVICE))

    def test_the_first_failure_is_told(self):
        def enqueue():
            raise ValueError("nothing was enqueued")
        log, error = self.recorded(enqueue, None, etcrt.Error(etcrt.Status.DEVICE, "the capture is broken"))
        self.assertEqual(log[2:], [("end", 0), ("end", 1)])
        self.assertEqual(str(error), "nothing was enqueued")


if __name__ == "__main__":
    unittest.main()
