"""Abbreviations of time zones, as PostgreSQL 15 reads them by default (its `timezonesets/Default`)."""

from __future__ import annotations

_BY_HOURS = (
    (-10, "hst taht"),
    (-9.5, "mart"),
    (-9, "akst gamt"),
    (-8, "akdt pst"),
    (-7, "mst pdt"),
    (-6, "cst galt mdt"),
    (-5, "act cdt cot est pet"),
    (-4, "amt ast bot edt"),
    (-3.5, "nft nst"),
    (-3, "adt bra brt clst gft pmst pyst uyt wgt"),
    (-2.5, "ndt"),
    (-2, "brst fnt pmdt uyst wgst"),
    (-1, "azot egt fnst"),
    (0, "azost egst gmt uct ut utc wet z zulu"),
    (1, "bst cet met mez wat wetdst"),
    (2, "bdst cest cetdst eet ist mest mesz metdst sast"),
    (3, "eat eest eetdst fet idt"),
    (3.5, "irt"),
    (4, "msd mut ret sct"),
    (4.5, "aft"),
    (5, "must mvt pkt tft tjt uzt"),
    (5.75, "npt"),
    (6, "almt bdt btt kgst pkst uzst xjt yekst"),
    (6.5, "mmt"),
    (7, "almst cxt ict wast"),
    (8, "awst bnt bort cct hkt myt pht wadt"),
    (8.75, "acwst"),
    (9, "awsst jayt jst kst pwt ulast wdt"),
    (9.5, "acst cast"),
    (10, "aest chut ddut kdt ligt mpt pgt trut yapt"),
    (10.5, "acdt acsst cadt lhst sadt"),
    (11, "aedt aesst pont vut"),
    (12, "fjt gilt mht nzst nzt tvt wakt wft"),
    (12.75, "chast"),
    (13, "fjst nzdt tot"),
    (13.75, "chadt"),
)
ABBREVIATIONS = {name: round(hours * 3600) for hours, names in _BY_HOURS for name in names.split()}
"""In lower case, with seconds east of Greenwich."""

_OF_ZONES = (
    "amst=Asia/Yerevan anast=Asia/Anadyr anat=Asia/Anadyr arst=America/Argentina/Buenos_Aires "
    "art=America/Argentina/Buenos_Aires azst=Asia/Baku azt=Asia/Baku ckt=Pacific/Rarotonga "
    "clt=America/Santiago davt=Antarctica/Davis easst=Pacific/Easter east=Pacific/Easter fkst=Atlantic/Stanley "
    "fkt=Atlantic/Stanley gest=Asia/Tbilisi get=Asia/Tbilisi gyt=America/Guyana iot=Indian/Chagos "
    "irkst=Asia/Irkutsk irkt=Asia/Irkutsk kgt=Asia/Bishkek kost=Pacific/Kosrae krast=Asia/Krasnoyarsk "
    "krat=Asia/Krasnoyarsk lhdt=Australia/Lord_Howe lint=Pacific/Kiritimati lkt=Asia/Colombo "
    "magst=Asia/Magadan magt=Asia/Magadan mawt=Antarctica/Mawson msk=Europe/Moscow novst=Asia/Novosibirsk "
    "novt=Asia/Novosibirsk nut=Pacific/Niue omsst=Asia/Omsk omst=Asia/Omsk petst=Asia/Kamchatka "
    "pett=Asia/Kamchatka pyt=America/Asuncion sgt=Asia/Singapore tkt=Pacific/Fakaofo tmt=Asia/Ashgabat "
    "ulat=Asia/Ulaanbaatar vet=America/Caracas vlast=Asia/Vladivostok vlat=Asia/Vladivostok "
    "volt=Europe/Volgograd yakst=Asia/Yakutsk yakt=Asia/Yakutsk yekt=Asia/Yekaterinburg "
)
ZONE_OF = dict(pair.split("=") for pair in _OF_ZONES.split())
"""Those whose distance has changed, with the zone that knows when: `msk` was four hours from 2011 to 2014."""

_OF_SUMMER = (
    "acdt acsst adt aedt aesst akdt almst awsst azost bdst brst bst cadt cdt cest cetdst chadt clst edt eest "
    "eetdst egst fjst fnst idt kdt kgst lhdt mdt mest mesz metdst msd must ndt nzdt pdt pkst pmdt pyst sadt ulast uyst "
    "uzst wadt wdt wetdst wgst yekst"
)
SUMMER = frozenset(_OF_SUMMER.split())
"""Those of `ABBREVIATIONS` that are summer time."""
