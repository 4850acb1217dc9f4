"""The slow plain truth of what streams and shadow roots show: a tree, changed as a browser does.

`Node` is as much of the DOM as it takes. `run_stream` does what React's scripts do, step by step;
`flatten` makes what the DOM standard calls the flat tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

HOSTS = set("article aside blockquote div footer h1 h2 h3 h4 h5 h6 header main nav p".split())
HOSTS |= {"section", "span"}
CALL = re.compile(r"""\$R([CRS])\(\s*["']([^"']*)["']\s*,\s*["']([^"']*)["']\s*([),])""")
STREAMED = re.compile("(.*)([BPS]):([0-9a-f]+)")
BEGIN, END = {"$", "$?", "$!", "$~", "&"}, {"/$", "/&"}


@dataclass(eq=False)
class Node:
    """An element, a text (`name` is empty) or a comment (`name` is "!")."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Node] = field(default_factory=list)
    data: str = ""
    parent: Node | None = None

    def get(self, attribute: str, default: str | None = None) -> str | None:
        return self.attributes.get(attribute, default)

    def add(self, child: Node) -> None:
        child.parent = self
        self.children.append(child)

    def detach(self) -> None:
        if self.parent is not None:
            self.parent.children.remove(self)
            self.parent = None

    def put_before(self, sibling: Node) -> None:
        parent = sibling.parent
        assert parent is not None
        self.detach()
        parent.children.insert(parent.children.index(sibling), self)
        self.parent = parent

    def walk(self) -> Iterator[Node]:
        yield self
        for child in list(self.children):
            yield from child.walk()


def node_of(element: Any, name_of: Any) -> Node:
    """The tree of html5lib as nodes."""
    if not isinstance(element.tag, str):
        return Node("!", data=element.text or "")
    node = Node(name_of(element), {str(key): value for key, value in element.items()})
    if element.text:
        node.add(Node("", data=element.text))
    for child in element:
        node.add(node_of(child, name_of))
        if child.tail:
            node.add(Node("", data=child.tail))
    return node


def run_stream(root: Node) -> None:
    """Do what the calls of React's scripts do, in order; without scripts, what they would do."""
    scripts = [node for node in root.walk() if node.name == "script"]
    scripts = [node for node in scripts if node.get("type") != "application/ld+json"]
    if not scripts:
        _run_by_number(root)
    for script in scripts:
        source = "".join(child.data for child in script.children)
        for kind, one, other, closing in CALL.findall(source):
            if kind == "S":
                _fill(_by_id(root, one), _by_id(root, other))
            elif closing == ")" or kind == "R":
                _complete(_by_id(root, one), _by_id(root, other))


def _run_by_number(root: Node) -> None:
    segments = [node for node in root.walk() if _is_segment(node)]
    for goal in list(root.walk()):
        name = STREAMED.fullmatch(goal.get("id") or "")
        if goal.name != "template" or not name or name[2] == "S":
            continue
        found = [each for each in segments if each.get("id") == f"{name[1]}S:{name[3]}"]
        for segment in found[:1]:
            segments.remove(segment)
            if name[2] == "B" and _has_end(goal):
                _complete(goal, segment)
            else:
                _fill(segment, goal)


def _is_segment(node: Node) -> bool:
    hidden = node.get("hidden") is not None or node.name in ("tr", "tbody")
    return hidden and node.name != "template" and node.get("id") is not None


def _has_end(boundary: Node) -> bool:
    assert boundary.parent is not None
    siblings = boundary.parent.children
    depth = 0
    for node in siblings[siblings.index(boundary) :]:
        if node.name == "!" and node.data in END:
            if depth == 0:
                return True
            depth -= 1
        depth += node.name == "!" and node.data in BEGIN
    return False


def _by_id(root: Node, name: str) -> Node | None:
    return next((node for node in root.walk() if node.get("id") == name), None)


def _fill(segment: Node | None, gap: Node | None) -> None:
    if segment is None or gap is None:
        return
    segment.detach()
    for child in list(segment.children):
        child.put_before(gap)
    gap.detach()


def _complete(boundary: Node | None, segment: Node | None) -> None:
    if segment is None:
        return
    segment.detach()
    if boundary is None or boundary.parent is None:
        return
    siblings = boundary.parent.children
    depth = 0
    for node in siblings[siblings.index(boundary) :]:
        if node.name == "!" and node.data in END:
            if depth == 0:
                for child in list(segment.children):
                    child.put_before(node)
                return
            depth -= 1
        elif node.name == "!" and node.data in BEGIN:
            depth += 1
        node.detach()


def flatten(node: Node) -> None:
    """Put shadow roots in place of what their hosts contain, and that into their slots.

    What a host has before its root stays there, as in the scanner; a browser takes it, too.
    """
    root = next((child for child in node.children if _is_root(child, node)), None)
    if root is not None:
        place = node.children.index(root)
        before, after = node.children[:place], node.children[place + 1 :]
        light = [child for child in after if child.name != "!"]
        for slot in [each for each in _own(root) if each.name == "slot"]:
            name = slot.get("name") or ""
            assigned = [child for child in light if (child.get("slot") or "") == name]
            if assigned:
                slot.children = []
                for child in assigned:
                    light.remove(child)
                    slot.add(child)
        node.children = before
        root.name = "shadow-root"
        node.add(root)
    for child in list(node.children):
        flatten(child)


def _is_root(node: Node, host: Node) -> bool:
    is_host = host.name in HOSTS or "-" in host.name
    mode = (node.get("shadowrootmode") or "").lower()
    return is_host and node.name == "template" and mode in ("open", "closed")


def _own(root: Node) -> Iterator[Node]:
    """What stands in a shadow root, also as content of other hosts, but not in their roots."""
    for child in root.children:
        if child.name == "template":
            continue
        yield child
        yield from _own(child)
