"""Codes of languages in M2M-100, NLLB-200 and mBART-50, which are pieces there."""

from __future__ import annotations

import re

CODE = re.compile(r"__([a-z]{2,3})__|([a-z]{3}_[A-Z][a-z]{3}|[a-z]{2}_[A-Z]{2})")
"""A piece that names a language: ``__de__`` of M2M-100, ``deu_Latn`` of NLLB, ``de_DE`` of
mBART-50."""
NLLB_CODE = re.compile(r"[a-z]{3}_[A-Z][a-z]{3}")
M2M_LANGUAGES = {
    "m2m100": "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga "
    "gd gl gu ha he hi hr ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml "
    "mn mr ms my ne nl no ns oc or pa pl ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn "
    "tr uk ur uz vi wo xh yi yo zh zu",
    "wmt21": "en ha is ja cs ru zh de",
}
"""Languages by the tokenizer's ``language_codes``, in the order of their rows; newer files do not
list them."""
MBART_CODES = (
    "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT "
    "lv_LV my_MM ne_NP nl_XX ro_RO ru_RU si_LK tr_TR vi_VN zh_CN af_ZA az_AZ bn_IN fa_IR he_IL "
    "hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN pl_PL ps_AF pt_XX sv_SE sw_KE ta_IN te_IN "
    "th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI"
)
"""In the order of their rows; the tokenizer of mBART-50 has them even if no file lists them."""


def language_of(code: str) -> str:
    """The name of a language in its code: ``de`` in ``__de__``, others as they are."""
    match = CODE.fullmatch(code)
    assert match is not None, "only codes are asked for"
    return match[1] or match[2]
