"""The names of the language that are no public functions, and where those are tested that no cell can run.

Written from the language's definition, not from the cells, so that a name without a cell shows.
"""

from __future__ import annotations

SYMBOLS = ("+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">=",
           "unary -", "unary +", "~", "not", "and", "or")

FEATURES: dict[str, tuple[str, ...]] = {
    "operators in symbols": tuple(f"operator {symbol}" for symbol in SYMBOLS),
    "statements": tuple(f"statement {name}" for name in (
        "assignment", "chained assignment", "annotated assignment", "subscript assignment", "augmented assignment",
        "tuple unpacking", "if", "elif", "else", "while", "while True", "for range", "for static_iter", "break",
        "continue", "return", "pass", "docstring", "expression", "def", "with")) + (
        "return inside while", "return inside for", "for range that counts down", "condition of if",
        "condition of ternary"),
    "expressions": tuple(f"expression {name}" for name in (
        "chained comparison", "ternary", "is None", "in", "not in", "tuple display", "tuple index", "tuple slice",
        "tuple +", "tuple ==", "tuple star", "tuple repetition", "tuple comprehension", "attribute", "lambda")) + tuple(
        f"literal {name}" for name in ("int", "float", "bool", "str", "None")) + tuple(
        f"subscript t[{index}]" for index in ("None", ":, None", "..., None", "None, :", ":, None, :", "..., None, :")),
    "functions": ("call of a helper", "recursion", "closure", "closures capture by reference", "parameter defaults",
                  "keyword arguments", "positional-only and keyword-only parameters", "parameters *args and **kwargs",
                  "call with * and **", "function as a value", "unbound methods"),
    "builtins": tuple(f"builtin {name}" for name in (
        "range", "len", "tuple", "enumerate", "zip", "reversed", "sum", "min", "max", "abs", "divmod", "float", "int",
        "bool", "str", "repr", "round")) + (
        "getattr with a constant name", "dict.get", "dataclasses.replace", "functools.reduce",
        "contextlib.contextmanager", "module constant"),
    "module operator": tuple(f"operator.{name}" for name in (
        "add", "sub", "mul", "floordiv", "truediv", "mod", "pow", "eq", "ne", "lt", "le", "gt", "ge", "and_", "or_",
        "xor", "lshift", "rshift", "neg", "pos", "invert", "not_", "getitem", "abs")),
    "dataclasses and enums": tuple(f"dataclass {name}" for name in (
        "construction", "field", "method", "property", "static method", "class method", "__call__", "__getitem__",
        "__setitem__", "__post_init__", "==")) + (
        "captured dataclass", "named tuple construction", "named tuple method", "namedtuple._replace", "enum member",
        "enum comparison", "enum .name and .value", "enum construction", "IntEnum arithmetic"),
    "lists and dicts": tuple(f"list {name}" for name in (
        "display", "comprehension", "subscript assignment", "carried by a loop", "changed in a branch",
        "loop over a constant range")) + tuple(f"list.{name}" for name in (
        "append", "extend", "insert", "pop", "reverse", "clear", "copy")) + (
        "dict display", "dict comprehension") + tuple(
        f"dict.{name}" for name in ("keys", "values", "items", "copy", "update", "setdefault", "pop")) + (
        "for over a list or dict", "captured list or dict", "builtin list", "builtin dict", "builtin map"),
    "parts and methods of tiles": tuple(f"part t[{index}]" for index in ("i", "-i", "a:b", "::step", ":, i")) + (
        "part at a scalar of the run", "methods that are functions", "Tile.T", "Tile.size",
        "chained comparison of tiles"),
    "statements of Python": ("statement match", "statement assert", "walrus", "walrus in while", "starred target"),
    "typing rules": ("promotion", "implicit cast", "loose constants", "strictly typed constants",
                     "captured NumPy scalar", "NumPy dtype as dtype", "joins of branches", "loop-carried variables",
                     "variables that a loop leaves", "dead branches of constants"),
    "members": ("Tile.dtype", "Tile.shape", "Tile.ndim", "Array.dtype", "Array.ndim", "Array.shape", "Array.strides",
                "TiledView.dtype", "TiledView.tile_shape", "TiledView.traversal_steps", "RawArrayMemory.dtype",
                "list argument", "list len", "list index"),
    "arguments": ("int argument", "float argument", "bool argument", "tuple argument", "NumPy scalar argument",
                  "named tuple argument", "None argument", "constants of every kind", "Literal",
                  "defaults of arguments", "dimension names", "one array twice", "arrays that overlap"),
    "members of enums": tuple(
        f"RoundingMode.{m}" for m in ("RN", "RZ", "RM", "RP", "RA", "FULL", "APPROX", "RZI")) + tuple(
        f"PaddingMode.{m}" for m in ("UNDETERMINED", "ZERO", "NEG_ZERO", "NAN", "POS_INF", "NEG_INF")) + tuple(
        f"MemoryOrder.{m}" for m in ("WEAK", "RELAXED", "ACQUIRE", "RELEASE", "ACQ_REL")) + tuple(
        f"MemoryScope.{m}" for m in ("NONE", "BLOCK", "CLUSTER", "DEVICE", "SYS")),
}
"""What kernels consist of beside the public names, by part."""

HOST_OPTIONS: dict[str, tuple[str, ...]] = {
    "kernel": ("num_ctas", "occupancy", "opt_level", "num_worker_warps", "programmatic_dependent_launch", "grid",
               "deterministic"),
    "function": ("host", "tile"),
    "launch": ("programmatic_dependent_launch",),
}
"""Options of what is called on the host."""

_LAUNCH, _ANNOTATIONS, _OPTIONS = (f"tests/dsl/test_{n}.py::test_" for n in ("launch", "annotations", "options"))
_CALL, _DIMENSIONS, _SHARING = (f"tests/dsl/test_{n}.py::test_" for n in ("call", "dimensions", "sharing"))
_OUTPUT = "tests/backend_ptx/simulator/test_output.py::test_"

ELSEWHERE: dict[str, tuple[str, str]] = {
    "kernel": ("every cell is a kernel; what decorates one stands on the host", f"{_OPTIONS}bare_and_with_options"),
    "function": ("called on the host", f"{_OPTIONS}function"),
    "launch": ("called on the host", f"{_LAUNCH}launch_function_refusals"),
    "trace": ("called on the host", "tests/dsl/test_debugger.py::test_a_trace_has_a_row_for_each_result"),
    "compare": ("called on the host", "tests/dsl/test_comparing.py::test_a_correct_kernel_is_equal"),
    "Side": ("given to compare, on the host", "tests/dsl/test_comparing.py::test_two_tile_lengths"),
    "profile": ("records launches on the host", "tests/dsl/test_profile.py::test_launches_of_the_interpreter"),
    "Profile": ("what profile gives, on the host", "tests/dsl/test_profile.py::test_launches_of_the_interpreter"),
    "Comparison": ("what compare gives, on the host",
                   "tests/dsl/test_comparing.py::test_the_report_shows_the_line_the_block_and_the_operands"),
    "Trace": ("what trace gives, on the host", "tests/dsl/test_debugger.py::test_a_trace_reads_as_a_table"),
    "builtin breakpoint": ("it stops the program",
                           "tests/dsl/test_debugger.py::test_breakpoint_stops_under_the_interpreter"),
    "ByTarget": ("a value of options, on the host", f"{_OPTIONS}by_target"),
    "Constant": ("an annotation", f"{_ANNOTATIONS}constants"),
    "ConstantAnnotation": ("an annotation", f"{_ANNOTATIONS}constant_refusals"),
    "ScalarInt64": ("an annotation", f"{_ANNOTATIONS}scalars"),
    "ScalarAnnotation": ("an annotation", f"{_ANNOTATIONS}scalars"),
    "IndexedWithInt64": ("an annotation", f"{_ANNOTATIONS}int64_index"),
    "ArrayAnnotation": ("an annotation", f"{_ANNOTATIONS}static_dims"),
    "ListAnnotation": ("an annotation", f"{_ANNOTATIONS}lists"),
    "DType": ("the class of the dtypes, whose cells stand under their names",
              "tests/frontend/test_promotion.py::test_typed_with_typed"),
    "Tile": ("a class for annotations; its methods have cells", "tests/typing/test_user_file.py::test_mypy"),
    "Array": ("a class for annotations; its methods have cells", "tests/typing/test_user_file.py::test_mypy"),
    "Scalar": ("a name for annotations", "tests/typing/test_user_file.py::test_mypy"),
    "TiledView": ("a class for annotations; its methods have cells", "tests/typing/test_user_file.py::test_mypy"),
    "RoundingMode": ("its members have cells", "tests/catalogue/test_cells.py::test_interpreter"),
    "PaddingMode": ("its members have cells", "tests/catalogue/test_cells.py::test_interpreter"),
    "MemoryOrder": ("its members have cells", "tests/catalogue/test_cells.py::test_interpreter"),
    "MemoryScope": ("its members have cells", "tests/catalogue/test_cells.py::test_interpreter"),
    "print": ("it writes to the standard output", f"{_OUTPUT}gpu_code_prints_what_the_interpreter_prints"),
    "print(sep)": ("it writes to the standard output", f"{_OUTPUT}texts"),
    "print(end)": ("it writes to the standard output", f"{_OUTPUT}texts"),
    "printf": ("it writes to the standard output", f"{_OUTPUT}gpu_code_prints_what_the_interpreter_prints"),
    "assert_": ("it ends the program", f"{_OUTPUT}an_assertion_that_fails_writes_one_line_and_ends_all"),
    "tune": ("a module of the host", "tests/dsl/test_tune.py::test_search_in_the_interpreter"),
    "compilation": ("a module of the host",
                    "tests/dsl/test_compilation.py::test_the_signature_of_a_launch_gives_its_code"),
    "compiler_timeout": ("used on the host", "tests/dsl/test_timeouts.py::test_launch_is_given_up_and_nothing_changes"),
    **{f"tuple.{name}": ("decided while compiling", "tests/frontend/test_overloads.py::test_constants")
       for name in ("index", "count")},
    "random": ("a module, whose functions have cells", "tests/frontend/test_random.py::test_known_answers"),
    "jax": ("a module of the host", "tests/dsl/test_jax.py::test_every_name_of_the_module"),
}
ELSEWHERE |= {f"{name}({option})": ("an option on the host", test) for name, option, test in (
    *(("kernel", option, f"{_OPTIONS}options_change_the_code") for option in HOST_OPTIONS["kernel"][:4]),
    ("kernel", "programmatic_dependent_launch", "tests/dsl/test_dependent_launch.py::test_launches_name_the_attribute"),
    ("kernel", "grid", f"{_DIMENSIONS}the_grid_follows_from_the_shapes"),
    ("kernel", "deterministic", f"{_DIMENSIONS}deterministic"),
    *(("function", option, f"{_OPTIONS}function") for option in HOST_OPTIONS["function"]),
    ("launch", "programmatic_dependent_launch", f"{_OPTIONS}programmatic_dependent_launch"))}
ELSEWHERE |= {name: ("a way to launch, on the host", test) for name, test in (
    ("NumPy scalar argument", f"{_CALL}scalars_keep_their_dtype"),
    ("named tuple argument", f"{_CALL}named_tuples_of_arrays"), ("None argument", f"{_CALL}keywords_and_defaults"),
    ("constants of every kind", f"{_CALL}constants_of_every_kind"), ("Literal", f"{_CALL}literals"),
    ("defaults of arguments", f"{_CALL}keywords_and_defaults"),
    ("dimension names", f"{_DIMENSIONS}expressions_and_constants"),
    ("one array twice", f"{_SHARING}simulator"), ("arrays that overlap", f"{_SHARING}interpreter"))}
ELSEWHERE |= {name: ("an error class: whole messages are compared", "tests/errors/test_errors.py::test_message")
              for name in ("TileError", "TileSyntaxError", "TileTypeError", "TileValueError", "TileRecursionError",
                           "TileUnsupportedFeatureError", "TileStaticEvalError", "TileStaticAssertionError",
                           "TileInternalError", "UnsupportedCallError")}
ELSEWHERE["TileCompilerTimeoutError"] = (
    "raised by the host when a compilation takes too long",
    "tests/dsl/test_timeouts.py::test_launch_is_given_up_and_nothing_changes")
"""Names that no cell can run: why, and a test."""

SYNTAX_ERRORS: dict[str, str] = {
    "raise": "raise_statement", "try": "try_statement", "del": "delete_statement",
    "import": "import_statement", "nonlocal": "nonlocal_statement", "class": "class_statement",
    "match by items": "match_statement", "async def": "async_function", "yield": "yield_expression",
    "break in the else of a loop": "for_else", "break in static_iter that the run decides": "break_static",
    "set display": "set_display", "set comprehension": "comprehension", "walrus under a condition": "walrus",
    "attribute target": "attribute_target", "decorator of a nested function": "decorator",
    "complex literal": "complex_literal",
}
"""Python that is refused: the case in tests/errors/syntax with its message."""

RANKS: dict[str, tuple[tuple[int, ...], str]] = {
    "cumsum": ((0,), "a scan needs an axis"), "cumprod": ((0,), "a scan needs an axis"),
    "scan": ((0,), "a scan needs an axis"), "reduce": ((0,), "it needs an axis"), "cat": ((0,), "it needs an axis"),
    **{name: ((0,), "it needs an axis") for name in ("sort", "argsort", "topk", "split", "take", "roll", "flip")},
    "transpose": ((0, 1), "it exchanges two axes"), "Tile.transpose": ((0, 1), "it exchanges two axes"),
    "arange": ((0, 2, 3, 4), "its result has one axis"), "unpack_from_bytes": ((0, 2, 3, 4), "bytes have one axis"),
    "matmul": ((0,), "a product needs an axis"), "operator @": ((0,), "a product needs an axis"),
    "mma": ((0, 1), "matrices have two axes"), "mma_scaled": ((0, 1, 4), "two axes, or three with a batch"),
    "Array.slice": ((0,), "it needs an axis"), "load_advanced_indexing": ((0, 1), "it needs two axes"),
    "store_advanced_indexing": ((0, 1), "it needs two axes"), "Slice": ((0, 1), "it belongs to advanced indexing"),
    "Array.get_raw_memory": ((0,), "offsets of rank 0 are cells of load_offset"),
}
"""Ranks that a name cannot have, and why."""
