"""Recognises language codes: those of ISO 639, alone or in a tag (BCP 47)."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache

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
    aae aar abk abr abs ace acf ach acm acq acu ada adp ady aeb afb afh afr agq agr ahr aii ain ajg
    ajp aka ake akl akz alb ale aln als amh ami amu ang ann anp aoz apc apw ara arb arc arg arm arn
    aro arq ars ary arz asa ase asm ast atj avk awa ayl aym ayr azb aze azj bak bal bam ban baq bas
    bax bbc bcc bci bcl bdr bel bem ben ber bew bez bfa bft bgc bgn bho bih bjn bkm blc blk blo blt
    bnn bod bom bos bpy bqi bre brh brx bsn bss btm bto bua bug bul bur bvy bwr bxk bxr byn byv bzj
    bzs bzt cad cak cat cay cbk cch ccp cdo ceb ces cgg che chg chi chn cho chq chr chu chv chy cic
    cja cjk cjm cjp cjy ckb cko ckt cku cld cls cmn cnh cni cnr cop cor cos cpi cps cpx crh crk crp
    crs csb csw cym cze dag dan dar dav ddn deu dga dgo dik din diq div dje djk dng doi dop drh drt
    dru dsb dtp dty dua dut dws dyo dyu dzo ebu efi egl ekk ekp ell eng enm epo est esu eus evn ewe
    ewo fao fas fat fij fil fin fit fkv fon fra frc fre frm fro frp frr frs fry fuc ful fur fuv fvr
    gaa gag gan gaz gbi gbm gbz gcf gcr geo ger gez gil gla gld gle glg glk glv gom gor gos got gpe
    grc gre grn gsw guc gug guj gur guw guz hai hak hat hau haw haz hbo hbs hch heb hif hil hin hke
    hne hnj hno hoc hrv hrx hsb hsn hun hup hus hye hyw iba ibb ibo ice ido igb igl igs iii ike iku
    ile ilo ina ind inh iro ish isl ita izh jac jak jam jav jbo jdt jgo jiv jje jmc jpa jpn jut kaa
    kab kac kai kaj kal kam kan kar kas kat kau kaz kbd kbh kbp kcg kck kde kea kek ken kge kgp kha
    khk khm khq khw kik kin kip kir kiu kjh kjp kkj klj kln kmb kmr knc koi kok kon kor kpe kpv krc
    kri krj krl ksb ksf ksh ksw kum kur kus kxi kxv kzj laa lad lag laj lao lat lav lbe ldn lez lfn
    lij lim lin lit liv lki lkt lld lmo lou loz lrc ltg ltz lua lub lue lug luo lus lut luy luz lvs
    lzh lzz mac mad mag mai mak mal mam mao mar mas maw may mdf mdh mer mey mfa mfe mgh mgm mgo mhn
    mhr mic mik min miq mkd mlg mlt mnc mni mnr mns mnw moh mol mon mos mrh mri mrj msa msi mua mui
    mup mus mvf mvv mwl mwv mww mya myv mzn nah nan nap naq nav nbl nch nci nde nds nep ngt ngu nhg
    nhn nia nit niu nld nlv nmg nmz nnb nnh nno nob nod nog nor nov npi nqo nrm nso nst nup nus nya
    nyn nyo nys nzi oar oci ofs ojb olo ood ori orm orv ory osa osi osp oss ota otk ovd pag pam pan
    pap pau pbb pbt pbu pcd pck pcm pdc pdt per pes pfl phn pih pis piu plt pms pmy pnb pnt pol por
    ppk ppl prg prp prs pus pwn quc que qug quw quy quz qwh qxq qya raj rej rgn rhg rif rki rmc rmf
    rml rmy rof roh rom ron rtm rue rum run rup ruq rus rut rwk ryu sag sah san saq sat saz sbp scc
    scn sco scr sdc sdh seh sei ses sgs shi shn shs shy sid sin sjd sje sjn sju skr sli slk slo slv
    sly sma sme smj sml smn smo sms sna snd som son sot spa spy sqi srd srn sro srp ssw ssy stq sun
    sux swa swc swe swg swh sxu syc syl syr szl szy tam taq tat tay tcy tel teo tet tgk tgl tha thr
    thv tib tig tir tji tkl tkr tlh tly tmh tmr tmw toi tok ton tpi tpw tru trv trw tsd tsg tsn tso
    ttj tts tuk tum tur tvl twd twi twq tyv tzl tzm udm uig ukr umb urd usp uum uzb uzn vai vec ven
    vep vie vls vmf vmw vol vro vun wae wal war wbp wel wln wls wlx wol wsg wuu xal xho xmf xmm xnr
    xog xon xpe xqa xsy yaq yav ydd yid yoi yor yrk yrl yua yue zam zea zgh zha zho zlm zmi zsm zul
    zyb zza
"""
"""Codes of ISO 639-2 and 639-3 in Unicode's locale data (CLDR 47), FLORES-200 and OPUS (2024).

Codes that more often name columns and files than languages are left out, although OPUS has them:
``src``, ``new``, ``old``, ``tmp``, ``ext``, ``bin``, ``map``, ``max``, ``alt`` and the like."""

_CODES = frozenset(f"{_OF_TWO_LETTERS} {_OF_THREE_LETTERS}".split())
_LONGEST_TAG = 35  # characters, as BCP 47 advises
_TAG = re.compile(
    r"([a-z]{2,3})([-_][a-z]{4})?([-_]([a-z]{2}|[0-9]{3}))?", re.ASCII | re.IGNORECASE
)


def is_language_tag(name: str) -> bool:
    """Whether ``name`` is a language code, perhaps with script, region or variant (``pt_BR``).

    An unknown region is accepted: mBART has ``en_XX``.
    """
    base = re.split("[-_]", name[:_LONGEST_TAG], maxsplit=1)[0]
    if base.lower() not in _CODES or len(name) > _LONGEST_TAG or not name.isascii():
        return False
    return _TAG.fullmatch(name) is not None or _is_valid(name)


def spelling(language: str) -> str:
    """A canonical spelling of a language.

    Case and underscores do not count (``zh-Hans``, ``zh_hans``), and codes of ISO 639 for the same
    language are equal (``de``, ``deu`` and ``ger``; ``he`` and ``iw``).
    """
    base, sign, rest = typeset(language).partition("-")
    return f"{_shortest(base)}{sign}{rest}" if base in _CODES else f"{base}{sign}{rest}"


def typeset(language: str) -> str:
    """A code in lower case with hyphens, so that ``zh_Hans`` and ``zh-hans`` are equal."""
    return language.casefold().replace("_", "-")


def base_language(language: str) -> str:
    """A language without script and region: ``pt`` for ``pt_BR`` and ``por``."""
    return spelling(language).partition("-")[0]


_MOST_DISTANCE = 30
"""Of CLDR's distances, that up to which speakers of one language usually read the other."""


@lru_cache(maxsize=1024)
def common_language(language: str) -> str:
    """A language without script and region, by its usual name: ``ar`` for ``arb_Arab``."""
    import langcodes

    return langcodes.standardize_tag(base_language(language), macro=True)


@lru_cache(maxsize=1024)
def usual_script(language: str) -> str:
    """The script that a language is usually written in, in lower case: ``hang`` for ``ko``."""
    import langcodes

    return str(langcodes.Language.get(typeset(language)).maximize().script).lower()


@lru_cache(maxsize=1024)
def _is_valid(name: str) -> bool:
    """Whether a tag follows BCP 47 and all its parts are registered."""
    import langcodes

    return langcodes.tag_is_valid(name)


@lru_cache(maxsize=1024)
def _shortest(code: str) -> str:
    """The preferred code of ISO 639 for the same language, of two letters if there is one."""
    import langcodes

    preferred = langcodes.standardize_tag(code)
    # Some codes stand for a language with a script or region, such as ``sh`` for ``sr-Latn``.
    return preferred if preferred.isalpha() else code


def meant(name: str, known: Iterable[str]) -> str:
    """``; did you mean 'de'?`` if ``name`` resembles a known language or tag, otherwise empty.

    Brackets of tags, case, underscores and a missing or additional script or region do not count.
    """
    by_spelling = {_bare(one): one for one in known}
    wanted = _bare(name[:80])
    base = wanted.partition("-")[0]
    near = [one for one in by_spelling if one == base or one.partition("-")[0] == wanted]
    # A code of two letters resembles many others and means none of them.
    if not near and len(wanted) > 3:
        near = difflib.get_close_matches(wanted, by_spelling, n=1)
    found = [wanted] if wanted in by_spelling else near
    return f"; did you mean {by_spelling[found[0]]!r}?" if found else ""


def related_languages(language: str, known: Iterable[str]) -> list[str]:
    """The known languages that CLDR holds for near to a language, such as German to ``gsw``."""
    import langcodes

    near = []
    for one in known:
        with suppress(ValueError):  # no code of a language
            distance = langcodes.tag_distance(typeset(language), typeset(one))
            near += [(distance, one)] if distance <= _MOST_DISTANCE else []
    return [one for _, one in sorted(near)]


def _bare(name: str) -> str:
    return spelling(name).strip("<>")
