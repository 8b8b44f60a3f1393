"""Which names are language codes: those of ISO 639, alone or in a tag (BCP 47)."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

_OF_TWO_LETTERS = """
    aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy
    da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu
    hy hz ia id ie ig ii ik in io is it iu iw ja ji jv jw ka kg ki kj kk kl km kn ko kr ks ku kv
    kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mo mr ms mt my na nb nd ne ng nl nn no nr
    nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq
    sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi
    yo za zh zu
"""
"""ISO 639-1, with its older codes, such as ``iw`` of Hebrew."""

_OF_THREE_LETTERS = """
    aar abk adp afr agq ajp aka alb als amh ann apc ara arb arg arm arn asa asm ast aze azj bak
    bal bam baq bas bcc bel bem ben bew bez bgc bgn bho bih blo blt bod bos bre brx bss bul bur
    bxk byn cad cat cch ccp ceb ces cgg che chi cho chr chu chv cic ckb cld cls cmn cnr cop cor
    cos csw cym cze dan dav deu dgo div dje doi drh dsb dua dut dyo dzo ebu ekk ell eng epo est
    eus ewe ewo fao fas fat fil fin fra fre frr fry fuc ful fur gaa gaz geo ger gez gla gle glg
    glv gom gre grn gsw gug guj guz hat hau haw heb hin hnj hrv hsb hun hye ibo ice ido iii ike
    iku ile ina ind isl ita jav jbo jgo jmc jpn kaa kab kaj kal kam kan kas kat kaz kcg kde kea
    ken kgp khk khm khq kik kin kir kkj kln kmr kok kor kpe ksb ksf ksh kur kxv lag lao lat lav
    lij lin lit lkt lld lmo lrc ltg ltz lub lug luo luy lvs mac mai mal mao mar mas may mdf mer
    mfe mgh mgo mhn mic mkd mlg mlt mni moh mol mon mri msa mua mup mus mya myv mzn naq nav nbl
    nde nds nep nld nmg nnh nno nob nor npi nqo nso nus nya nyn oci ori orm ory osa oss pan pap
    pbu pcm per pes pis plt pol por prg prp pus quc que quz raj rhg rif rof roh ron rum run rus
    rwk sag sah san saq sat sbp scc scn scr sdh seh ses shi shn sid sin skr slk slo slv sma sme
    smj smn sms sna snd som sot spa spy sqi srd srp ssw ssy sun swa swe swh syr szl tam tat tel
    teo tgk tgl tha tib tig tir tok ton tpi trv trw tsn tso tuk tur twi twq tyv tzm uig ukr urd
    uzb uzn vai vec ven vie vmw vol vun wae wal wbp wel wln wol xho xnr xog xpe yav ydd yid yor
    yrl yue zgh zha zho zsm zul zyb
"""
"""Codes of ISO 639-2 and 639-3 that Unicode's locale data (CLDR 47) know, as corpora of many
languages use them; without ``src`` (Sardinian), which is nearly always a source."""

_CODES = frozenset(f"{_OF_TWO_LETTERS} {_OF_THREE_LETTERS}".split())
_TAG = re.compile(
    r"([a-z]{2,3})([-_][a-z]{4})?([-_]([a-z]{2}|[0-9]{3}))?", re.ASCII | re.IGNORECASE
)


def is_language_tag(name: str) -> bool:
    """Whether ``name`` is a language code, also with script or region, as ``pt_BR``."""
    found = _TAG.fullmatch(name)
    return found is not None and found[1].lower() in _CODES


def spelling(language: str) -> str:
    """The same for all ways to write a language, such as ``zh-Hans``, ``zh_hans``, ``ZH-HANS``."""
    return language.casefold().replace("_", "-")


def base_language(language: str) -> str:
    """A language without script and region: ``pt`` for ``pt_BR``."""
    return spelling(language).partition("-")[0]


def meant(name: str, known: Iterable[str]) -> str:
    """``; did you mean 'de'?`` if ``name`` resembles a known language or tag, or else nothing.

    Brackets of tags, case, underscores and a missing or additional script or region do not count.
    """
    by_spelling = {_bare(one): one for one in known}
    wanted = _bare(name[:80])
    base = wanted.partition("-")[0]
    near = [one for one in by_spelling if one == base or one.partition("-")[0] == wanted]
    # A code of two letters is close to many others and means none of them.
    if not near and len(wanted) > 3:
        near = difflib.get_close_matches(wanted, by_spelling, n=1)
    found = [wanted] if wanted in by_spelling else near
    return f"; did you mean {by_spelling[found[0]]!r}?" if found else ""


def _bare(name: str) -> str:
    return spelling(name).strip("<>")
