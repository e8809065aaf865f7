"""The table [pictures] of a grid: with it whole backbones learn, and not heads on features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from simkit.errors import BadInput, unknown
from simkit.learn import methods
from simkit.learn.protocols import Protocol, protocol
from simkit.learn.steps.optim import Settings
from simkit.study.grids.fields import expect, part, whole
from simkit.study.grids.toml import text_of
from simkit.study.material.shown import Shown


@dataclass(frozen=True)
class Pictures:
    """How the backbone of a grid is trained from pictures, with every method.

    size        side of the pictures in pixels; by default the protocol's, or the backbone's own.
    flip        mirror half of them; vertical: turn half of them upside down, too; crop: smallest
                and largest share of the area that is shown; by default as in the protocol.
    protocol    the paper after which methods are trained; by default the grid's [train] says how.
    protocols   the same for single methods, each as the grid has it; what they leave out follows
                `protocol`.
    changed     training settings that take the place of those of every protocol.

    Backbone and weights are the grid's, whatever a protocol had: all methods start from the same.
    Its features serve only to tell what is near (SE). On a GPU the last bits differ from run to
    run; on the CPU nothing does.
    Raises BadInput that names the field.
    """

    size: int | None = None
    flip: bool | None = None
    vertical: bool | None = None
    crop: tuple[float, float] | None = None
    protocol: str = ""
    protocols: Mapping[str, str] = field(default_factory=dict)
    changed: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        fine = self.size is None or (whole(self.size) and self.size >= 32)
        expect(fine, "pictures.size", self.size, "a whole number of pixels from 32 on")
        for name in ("flip", "vertical"):
            value = getattr(self, name)
            fine = value is None or isinstance(value, bool)
            expect(fine, f"pictures.{name}", value, "true or false")
        if self.crop is not None:
            object.__setattr__(self, "crop", _shares(self.crop))
        expect(isinstance(self.protocol, str), "pictures.protocol", self.protocol, "text")
        for name in ("protocols", "changed"):
            value, table = getattr(self, name), f"a table such as [pictures.{name}]"
            expect(isinstance(value, Mapping), f"pictures.{name}", value, table)
        for spec, name in self.protocols.items():
            expect(isinstance(name, str), f"pictures.protocols.{spec}", name, "text")
        self._check_protocols()

    def _check_protocols(self) -> None:
        named = {f"protocols.{spec}": name for spec, name in self.protocols.items()}
        if self.protocol:
            named = {"protocol": self.protocol, **named}
        if self.changed and not named:
            raise BadInput(
                "pictures.changed is set and changes settings of protocols, and none is named; put "
                "it into [train], or name a protocol"
            )
        for where, name in named.items():
            try:
                found = protocol(name)
            except BadInput as error:
                raise BadInput(f"pictures.{where}: {error}") from None
            try:
                found.changed(self.changed)
            except BadInput as error:
                raise BadInput(f"pictures.changed, for protocol {name!r}: {error}") from None

    @staticmethod
    def of(values: Any) -> Pictures:
        """From plain values such as a TOML file holds."""
        found: Pictures = part(Pictures, values, "pictures")
        return found

    def check(self, compared: Sequence[str], train: Settings, validation: str) -> None:
        """Raise BadInput for what does not go with the grid's methods and other fields."""
        known = {methods.make(spec) for spec in compared}
        for spec in self.protocols:
            try:
                here = methods.make(spec) in known
            except BadInput:
                error = unknown("method of this grid", spec, compared)
                raise BadInput(f"pictures.protocols: {error}") from None
            if not here:
                raise BadInput(
                    f"pictures.protocols names {spec!r}, which is not among the methods; leave it "
                    "out, or add it to methods"
                )
        if self.protocol and train != Settings():
            raise BadInput(
                "train is set, and pictures.protocol says how all methods are trained; put what "
                "shall differ from protocols into [pictures.changed]"
            )
        for spec in compared:
            if validation == "none" and self.settings(spec, train).select == "best":
                raise BadInput(
                    f"the protocol of {spec!r} chooses the epoch by labels, and validation is "
                    "none; set validation to complete or partial, or select in [pictures.changed] "
                    "to last"
                )

    def settings(self, spec: str, train: Settings) -> Settings:
        """How a method is trained; `train` holds where it has no protocol."""
        found = self._protocol(spec)
        return found.changed(self.changed) if found else train

    def shown(self, spec: str) -> Shown:
        """What a method sees of pictures."""
        made, found = methods.make(spec), self._protocol(spec)
        own = Shown()
        if found:
            own = Shown(found.size, found.flip, found.upside_down, found.crop)
        given = {f.name: getattr(self, f.name) for f in fields(Shown)}
        own = Shown(**{**asdict(own), **{k: v for k, v in given.items() if v is not None}})
        return own.to(made)

    def _protocol(self, spec: str) -> Protocol | None:
        made = methods.make(spec)
        named = [name for key, name in self.protocols.items() if methods.make(key) == made]
        name = named[0] if named else self.protocol
        return protocol(name) if name else None

    def tables(self) -> dict[str, dict[str, Any]]:
        """As tables of a TOML file, by their headings; `of` gives an equal value back."""
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        named = {text_of(spec): name for spec, name in given.pop("protocols").items()}
        changed = dict(given.pop("changed"))
        found = {"pictures": given}
        found |= {"pictures.protocols": named} if named else {}
        return found | ({"pictures.changed": changed} if changed else {})


def _shares(crop: Any) -> tuple[float, float]:
    wanted = "the smallest and the largest share of the area that is shown, such as [0.25, 1]"
    fine = isinstance(crop, Sequence) and not isinstance(crop, str) and len(crop) == 2
    fine = fine and all(isinstance(one, int | float) and not isinstance(one, bool) for one in crop)
    told = list(crop) if isinstance(crop, tuple) else crop  # as the file has it
    expect(fine and 0 < crop[0] <= crop[1] <= 1, "pictures.crop", told, wanted)
    return float(crop[0]), float(crop[1])
