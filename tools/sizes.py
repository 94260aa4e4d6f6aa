"""How long files and functions are."""

import ast
import re

FILE, FUNCTION = 300, 40  # lines, which no file and no function should go over

# What must not be read as code, in the order in which it is looked for.
NO_CODE = re.compile(r'//(?:[^\n\\]|\\.)*|/\*.*?\*/|(?<![A-Za-z0-9_])R"(\w*)\(.*?\)\1"'
                     r"|\"(?:[^\"\\\n]|\\.)*\"|(?<![0-9A-Fa-f])'(?:[^'\\\n]|\\.)+'", re.S)


def blank(found):
    return re.sub(r"[^\n]", " ", found)


def without_comments(text):
    """C++ with neither comments nor what stands between quotes, each line where it was; the names
    in #include are left."""
    def replaced(found):
        start = text.rfind("\n", 0, found.start()) + 1
        is_include = re.match(r"\s*#\s*include\s*$", text[start:found.start()])
        return found[0] if is_include else blank(found[0])
    return NO_CODE.sub(replaced, text)


def opens(head):
    """What a brace after these words opens, in a namespace or a class."""
    depth, outside = 0, ""  # what stands outside all parentheses
    for c in head:
        depth += c == "("
        depth -= c == ")"
        outside += c if depth == 0 else ""
    if re.search(r"\b(?:namespace|extern)\b", outside):
        return "scope"
    if re.search(r"\b(?:class|struct|union|enum)\b", re.sub(r"<[^<>]*>", "", outside)) \
            and ")" not in outside:
        return "scope"
    is_value = ")" not in outside or re.search(r"=(?!=)", outside.split("operator")[0])
    is_member = re.search(r"\)\s*(?:noexcept\s*)?:[^:].*[\w>]\s*$", outside, re.S)
    return "value" if is_value or is_member else "function"


def functions(text):
    """The (name, first line, lines) of each function of a C++ source, laid out by clang-format."""
    text = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.)*", lambda m: blank(m[0]), without_comments(text),
                  flags=re.M | re.S)
    text = re.sub(r'"[^"\n]*"', lambda m: blank(m[0]), text)
    open_braces, head_at = [], 0
    for at, c in ((m.start(), m[0]) for m in re.finditer(r"[{};]", text)):
        inside = open_braces[-1][0] if open_braces else "scope"
        if c == "{":
            kind = opens(text[head_at:at]) if inside == "scope" else "value"
            open_braces.append((kind, head_at))
        elif c == "}":
            kind, begun = open_braces.pop()
            if kind == "function":
                head = re.sub(r"^(?:\s|public:|private:|protected:)+", "", text[begun:at])
                first = text.count("\n", 0, at - len(head)) + 1
                name = re.findall(r"([\w:~]+|operator\s*\S+?)\s*\(", head)
                yield name[0] if name else "?", first, text.count("\n", 0, at) + 2 - first
        if c == "{" and kind == "scope" or c == ";" and inside == "scope" \
                or c == "}" and kind != "value":
            head_at = at + 1


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            yield node.name, node.lineno, node.end_lineno - node.lineno + 1


def report(root):
    """Prints what is longer than it should be, the longest first."""
    files, long_functions, count = [], [], 0
    for file in sorted(file for folder in ("src", "tests", "tools") for file in (root / folder).rglob("*")):
        if file.suffix not in (".cpp", ".hpp", ".js", ".py"):
            continue
        place, text = file.relative_to(root), file.read_text(encoding="utf-8")
        files.append((text.count("\n"), place))
        read = {".py": python_functions, ".js": lambda _: ()}.get(file.suffix, functions)
        for name, first, lines in read(text):
            count += 1
            long_functions.append((lines, f"{place}:{first}", name))
    too_long = sorted((f for f in files if f[0] > FILE), reverse=True, key=lambda f: f[0])
    print(f"{len(files)} files, {len(too_long)} over {FILE} lines")
    for lines, place in too_long:
        print(f"  {lines:5}  {place}")
    too_long = sorted((f for f in long_functions if f[0] > FUNCTION), reverse=True)
    print(f"{count} functions, {len(too_long)} over {FUNCTION} lines")
    for lines, place, name in too_long:
        print(f"  {lines:5}  {place}  {name}")
