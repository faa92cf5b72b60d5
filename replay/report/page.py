"""A page of results in Markdown, with its figures as separate files."""

from collections.abc import Sequence
from pathlib import Path

from bestbefore.replay.whole_file import whole_file


class Page:
    """A page to which blocks are appended, and which is written when it is complete."""

    def __init__(self, name: str, made: str) -> None:
        """Start a page; `made` is printed below each table and figure: command, date and machine."""
        self.name = name
        self._made = made
        self._blocks: list[str | Page] = []
        self._figures: dict[str, str] = {}

    def title(self, text: str) -> None:
        """Add the heading of the page."""
        self._blocks.append(f"# {text}")

    def section(self, text: str) -> None:
        """Add the heading of a section."""
        self._blocks.append(f"## {text}")

    def text(self, *paragraphs: str) -> None:
        """Add paragraphs of Markdown; line ends within a paragraph are ignored."""
        self._blocks += [" ".join(paragraph.split()) for paragraph in paragraphs]

    def items(self, *items: str) -> None:
        """Add a list."""
        self._blocks.append("\n".join(f"- {' '.join(item.split())}" for item in items))

    def table(
        self, heads: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1, *, captioned: bool = True
    ) -> None:
        """Add a table; the first `words` columns are aligned to the left, the others to the right."""
        rule = ["---" if place < words else "---:" for place in range(len(heads))]
        self._blocks.append("\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rule, *rows)))
        if captioned:
            self.caption()

    def caption(self) -> None:
        """Add how the page was made."""
        self._blocks.append(f"*{self._made}*")

    def figure(self, name: str, caption: str, svg: str) -> None:
        """Add a figure, which is written to the file PAGE_NAME.svg."""
        file = f"{self.name}_{name}.svg"
        self._figures[file] = svg
        self._blocks += [f"![{caption}]({file})", f"*{caption}. {self._made}*"]

    def part(self) -> "Page":
        """Add an empty part at this place, which may be filled later."""
        part = Page(self.name, self._made)
        self._blocks.append(part)
        return part

    @property
    def blocks(self) -> list[str]:
        """The blocks of Markdown so far."""
        parts = (block.blocks if isinstance(block, Page) else [block] for block in self._blocks)
        return [block for part in parts for block in part]

    @property
    def figures(self) -> dict[str, str]:
        """The figures so far, by file name."""
        parts = [block.figures for block in self._blocks if isinstance(block, Page)]
        return {name: svg for figures in (self._figures, *parts) for name, svg in figures.items()}

    @property
    def markdown(self) -> str:
        """The Markdown text so far."""
        return "\n\n".join(self.blocks) + "\n"

    def write(self, folder: Path) -> Path:
        """Write the figures, then the page, each atomically; return the path of the page. Raises OSError."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in {**self.figures, f"{self.name}.md": self.markdown}.items():
            with whole_file(folder / name) as file:
                file.write(text.encode())
        return folder / f"{self.name}.md"
