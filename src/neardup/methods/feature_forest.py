"""The forest of extended binary sort trees of `feature-code` (sections 4.1, 4.2 and 4.4).

A tree for each interval of the gathering factor (section 4.4). A node of a tree carries the page
it stands for and its auxiliary list (辅指针): the pages near to that one. The pages at the nodes
are what the paper keeps.

The forest lives in three maps of a `State`, so that a store can keep it:

    trees   interval -> the node at the root
    nodes   node (named after the page that made it) -> page, key, left, right, auxiliary list
    codes   page -> its feature code

Search and insertion are loops, not recursions: pages that come sorted by their main code make a
tree that is one long branch, which costs time (a comparison a node) but no stack. The trees are
not balanced, as the paper's are not: turning them would change which nodes a search meets.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from neardup.methods.base import State
from neardup.methods.feature_judge import Code, Ruling
from neardup.model import Relation

EQUAL = frozenset({Relation.SAME, Relation.NEAR, Relation.CONTAINS, Relation.CONTAINED})  # 相等


class Node(NamedTuple):
    """A node as the `nodes` map keeps it. No name is the empty text."""

    page: str
    key: list[int]  # the main code it was made with; stays when a longer page takes the node
    left: str
    right: str
    near: list[str]  # the auxiliary list


class Forest:
    """Places pages one by one."""

    def __init__(self, state: State, judge: Callable[[Code, Code], Ruling], width: float) -> None:
        self._trees = state.map("feature-code/trees")
        self._nodes = state.map("feature-code/nodes")
        self._codes = state.map("feature-code/codes")
        self._judge = judge
        self._width = width

    def place(self, page: str, code: Code, size: int) -> tuple[str, Ruling] | None:
        """The page whose node this one merges with and the verdict, or None for a new node.

        `size` is the length of the page's text in bytes.
        """
        self._codes[page] = list(code)
        tree = str(interval(size, len(code.main), self._width))
        name = self._trees.get(tree, "")
        if not name:
            self._trees[tree] = self._grow(page, code)
            return None
        while True:
            node = Node(*self._nodes[name])
            ruling = self._judge(code, self.code(node.page))
            if ruling.relation in EQUAL:
                self._merge(name, node, page, ruling.relation)
                return node.page, ruling
            goes_left = code.main < node.key
            child = node.left if goes_left else node.right
            if not child:
                child = self._grow(page, code)
                node = node._replace(left=child) if goes_left else node._replace(right=child)
                self._nodes[name] = list(node)
                return None
            name = child

    def code(self, page: str) -> Code:
        """The feature code of a page that was placed."""
        return Code(*self._codes[page])

    def nodes(self) -> list[Node]:
        """All nodes, in the order they were made."""
        return [Node(*values) for values in self._nodes.values()]

    def _grow(self, page: str, code: Code) -> str:
        self._nodes[page] = list(Node(page, code.main, "", "", []))
        return page

    def _merge(self, name: str, node: Node, page: str, relation: Relation) -> None:
        """The merge rules of section 4.2, by what the new page is to the page at the node."""
        if relation is Relation.SAME:  # 1) equal main codes: the tree does not change
            return
        if relation is Relation.CONTAINS:  # 3) the node's is a proper subset: they change places
            near = self._listed(node.near, node.page)
            self._nodes[name] = list(node._replace(page=page, near=near))
        else:  # 2) a proper subset of the node's, or 4) a large intersection
            near = self._listed(node.near, page)
            self._nodes[name] = list(node._replace(near=near))

    def _listed(self, near: list[str], page: str) -> list[str]:
        """The auxiliary list with the page in it, unless one equal to it is there."""
        code = self.code(page)
        known = any(self._judge(code, self.code(other)).relation in EQUAL for other in near)
        return near if known else [*near, page]


def interval(size: int, length: int, width: float) -> int:
    """The interval of the gathering factor `size / length`: 0 for (0, width], 1 for the next."""
    return max(math.ceil(size / length / width) - 1, 0)
