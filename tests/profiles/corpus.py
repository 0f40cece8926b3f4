"""A corpus of eighty short, distinct pages about one made-up subject, spread over five themes."""

from __future__ import annotations

QUESTION = (
    "How does the tidal power plant of Velmark work, who paid for the tidal power plant of Velmark, "
    "which animals are harmed by the tidal power plant of Velmark, who operates the tidal power plant of Velmark, "
    "and where does the electricity of the tidal power plant of Velmark go?"
)
THEMES = {
    "turbines": (
        "the {k} turbine works behind the {name} gate and turns with the flood as well as with the ebb",
        "to let the {k} turbine work, divers of {name} clear weed from its blades before the tide comes in",
        "the {k} turbine works badly in the shallow channel of {name}, so that its blades were bent by hand",
        "lamps on the roofs of {name} show by colour whether the {k} turbine will work during the next tide or rest",
    ),
    "money": (
        "the savings bank of {name} paid for the {k} gate with a loan that the parish had to guarantee",
        "the {k} guild paid for the walls of {name} after the state had refused to pay for any of them",
        "a lottery held at {name} paid for the {k} turbine, although the bishop preached against it",
        "farmers around {name} paid for the {k} road to the building place with hay, horses and forty days of labour",
    ),
    "animals": (
        "eels of the {k} brook are harmed at the {name} gate when they swim to the sea at night",
        "seals near {name} are seldom harmed, because the {k} fence keeps them from the basin",
        "young salmon of the {k} river are harmed by the noise below the {name} bridge in spring",
        "otters that lived under the {k} weir were harmed while it was built and moved upstream beyond {name}",
    ),
    "crew": (
        "a crew from {name} operates the {k} gate by hand wheels whenever the wind is too strong for the motors",
        "the harbour office of {name} operates the {k} sluice under a contract that nobody may end alone",
        "retired sailors of {name} operate the {k} signal mast and warn boats before the gates are opened",
        "pupils of the {k} college operate the small gate near {name} on Sundays under the eyes of their teacher",
    ),
    "electricity": (
        "the {k} cable carries electricity to the tannery and the bakeries of {name} first of all",
        "electricity that {name} does not need goes through the {k} substation to the railway",
        "the school of {name} gets its electricity from the {k} line without paying anything for it",
        "fishermen near {name} dry their nets with electricity that the {k} windmill and the plant deliver in turn",
    ),
}
_NAMES = (
    "Aldren Borvik Casten Dovran Elmstad Farholt Gormund Halvary "
    "Istrup Jorvald Kelmar Lundby Morvane Nestrup Orvik Palsen"
)
_KINDS = "amber basalt cedar dune elder flint garnet hazel iris jasper kestrel larch marble nettle onyx poplar"
PER_THEME = 16


def corpus() -> dict[str, str]:
    """Return eighty pages (URL -> text); each speaks of one theme and of one part of it that no other page names."""
    names, kinds = _NAMES.split(), _KINDS.split()
    pages: dict[str, str] = {}
    for at, (theme, texts) in enumerate(THEMES.items()):
        for turn in range(PER_THEME):
            said = {"k": kinds[turn], "name": names[(turn + 3 * at) % PER_THEME]}
            told = "\n\n".join(
                f"At the tidal power plant of Velmark {text.format(**said)}, as the keeper of its records wrote."
                for text in texts
            )
            title = f"The tidal power plant of Velmark: {theme} of {kinds[turn]}"
            pages[f"https://{theme}{turn}.example/{kinds[turn]}"] = f"# {title}\n\n{told}\n"
    return pages
