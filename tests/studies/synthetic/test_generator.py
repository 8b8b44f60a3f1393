from __future__ import annotations

import datetime

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from num2words import num2words

from dragoman.core.errors import ConfigError
from studies.synthetic import generator
from studies.synthetic.english import English
from studies.synthetic.french import French
from studies.synthetic.german import German
from studies.synthetic.korean import Korean
from studies.synthetic.meanings import Amount, Date, Duration, Meaning, Number, Ordinal, Time
from studies.synthetic.spanish import Spanish

EN, DE, FR, ES, KO = English(), German(), French(), Spanish(), Korean()


def said(meaning: Meaning) -> tuple[str, ...]:
    return tuple(speaker.say(meaning) for speaker in (EN, DE, FR, ES, KO))


# What people say, by the grammars of the five languages.

NUMBERS = {
    0: ("zero", "null", "cero", "zéro", "영"),
    1: ("one", "eins", "uno", "un", "일"),
    80: ("eighty", "achtzig", "ochenta", "quatre-vingts", "팔십"),
    101: ("one hundred and one", "einhunderteins", "ciento uno", "cent un", "백일"),
    21_000: (
        "twenty-one thousand",
        "einundzwanzigtausend",
        "veintiún mil",
        "vingt et un mille",
        "이만 천",
    ),
    31_200: (
        "thirty-one thousand two hundred",
        "einunddreißigtausendzweihundert",
        "treinta y un mil doscientos",
        "trente et un mille deux cents",
        "삼만 천이백",
    ),
    80_005: (
        "eighty thousand and five",
        "achtzigtausendfünf",
        "ochenta mil cinco",
        "quatre-vingt mille cinq",
        "팔만 오",
    ),
}


@pytest.mark.parametrize("value", NUMBERS)
def test_numbers(value: int) -> None:
    en, de, es, fr, ko = NUMBERS[value]
    assert said(Number(value)) == (en, de, fr, es, ko)


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (1, None, ("first", "erste", "premier", "primero", "첫 번째")),
        (1, "week", ("the first week", "die erste Woche", "la première semaine",
                     "la primera semana", "첫 번째 주")),
        (3, "day", ("the third day", "der dritte Tag", "le troisième jour",
                    "el tercer día", "세 번째 날")),
        (11, "hour", ("the eleventh hour", "die elfte Stunde", "la onzième heure",
                      "la undécima hora", "열한 번째 시간")),
        (18, "month", ("the eighteenth month", "der achtzehnte Monat", "le dix-huitième mois",
                       "el decimoctavo mes", "열여덟 번째 달")),
        (20, None, ("twentieth", "zwanzigste", "vingtième", "vigésimo", "스무 번째")),
        (21, "minute", ("the twenty-first minute", "die einundzwanzigste Minute",
                        "la vingt et unième minute", "el vigésimo primer minuto",
                        "스물한 번째 분")),
        (80, None, ("eightieth", "achtzigste", "quatre-vingtième", "octogésimo", "여든 번째")),
        (400, None, ("four hundredth", "vierhundertste", "quatre centième",
                     "cuadringentésimo", "사백 번째")),
        (113, None, ("one hundred and thirteenth", "einhundertdreizehnte", "cent treizième",
                     "centésimo decimotercero", "백열세 번째")),
    ],
)  # fmt: skip
def test_ordinals(value: int, unit: str | None, expected: tuple[str, str, str, str, str]) -> None:
    assert said(Ordinal(value, unit)) == expected


@pytest.mark.parametrize(
    ("date", "with_weekday", "expected"),
    [
        ((1984, 3, 3), True, (
            "Saturday, March third, nineteen eighty-four",
            "Samstag, der dritte März neunzehnhundertvierundachtzig",
            "samedi trois mars mille neuf cent quatre-vingt-quatre",
            "sábado, tres de marzo de mil novecientos ochenta y cuatro",
            "천구백팔십사년 삼월 삼일 토요일",
        )),
        ((1980, 6, 1), False, (
            "June first, nineteen eighty",
            "der erste Juni neunzehnhundertachtzig",
            "le premier juin mille neuf cent quatre-vingt",
            "el uno de junio de mil novecientos ochenta",
            "천구백팔십년 유월 일일",
        )),
        ((1900, 10, 21), False, (
            "October twenty-first, nineteen hundred",
            "der einundzwanzigste Oktober neunzehnhundert",
            "le vingt et un octobre mille neuf cent",
            "el veintiuno de octubre de mil novecientos",
            "천구백년 시월 이십일일",
        )),
        ((2005, 12, 31), False, (
            "December thirty-first, two thousand and five",
            "der einunddreißigste Dezember zweitausendfünf",
            "le trente et un décembre deux mille cinq",
            "el treinta y uno de diciembre de dos mil cinco",
            "이천오년 십이월 삼십일일",
        )),
        ((1907, 5, 12), False, (
            "May twelfth, nineteen oh seven",
            "der zwölfte Mai neunzehnhundertsieben",
            "le douze mai mille neuf cent sept",
            "el doce de mayo de mil novecientos siete",
            "천구백칠년 오월 십이일",
        )),
    ],
)  # fmt: skip
def test_dates(
    date: tuple[int, int, int], with_weekday: bool, expected: tuple[str, str, str, str, str]
) -> None:
    assert said(Date(datetime.date(*date), with_weekday)) == expected


@pytest.mark.parametrize(
    ("hour", "minute", "weekday", "expected"),
    [
        (17, 30, 0, (
            "Monday at half past five in the afternoon",
            "am Montag um halb sechs nachmittags",
            "lundi à cinq heures et demie de l’après-midi",
            "el lunes a las cinco y media de la tarde",
            "월요일 오후 다섯 시 반",
        )),
        (0, 0, None, ("midnight", "Mitternacht", "minuit", "medianoche", "자정")),
        (12, 0, None, ("noon", "zwölf Uhr mittags", "midi", "mediodía", "정오")),
        (12, 45, None, (
            "a quarter to one in the afternoon",
            "Viertel vor eins mittags",
            "une heure moins le quart de l’après-midi",
            "la una menos cuarto de la tarde",
            "오후 열두 시 사십오 분",
        )),
        (23, 45, None, (
            "a quarter to twelve at night",
            "Viertel vor zwölf abends",
            "minuit moins le quart",
            "las doce menos cuarto de la noche",
            "오후 열한 시 사십오 분",
        )),
        (0, 30, None, (
            "half past twelve in the morning",
            "halb eins nachts",
            "minuit et demi",
            "las doce y media de la madrugada",
            "오전 열두 시 반",
        )),
        (1, 0, None, (
            "one o'clock in the morning",
            "ein Uhr nachts",
            "une heure du matin",
            "la una de la madrugada",
            "오전 한 시",
        )),
        (21, 1, 5, (
            "Saturday at nine oh one at night",
            "am Samstag um einundzwanzig Uhr eins",
            "samedi à vingt et une heures une",
            "el sábado a las nueve y uno de la noche",
            "토요일 오후 아홉 시 일 분",
        )),
    ],
)  # fmt: skip
def test_times(
    hour: int, minute: int, weekday: int | None, expected: tuple[str, str, str, str, str]
) -> None:
    assert said(Time(hour, minute, weekday)) == expected


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([(1, "hour")], ("one hour", "eine Stunde", "une heure", "una hora", "한 시간")),
        ([(1, "year"), (1, "month")], (
            "one year and one month",
            "ein Jahr und ein Monat",
            "un an et un mois",
            "un año y un mes",
            "일 년 일 개월",
        )),
        ([(21, "hour"), (20, "minute")], (
            "twenty-one hours and twenty minutes",
            "einundzwanzig Stunden und zwanzig Minuten",
            "vingt et une heures et vingt minutes",
            "veintiuna horas y veinte minutos",
            "스물한 시간 이십 분",
        )),
        ([(20, "hour"), (31, "minute"), (1, "second")], (
            "twenty hours, thirty-one minutes, and one second",
            "zwanzig Stunden, einunddreißig Minuten und eine Sekunde",
            "vingt heures, trente et une minutes et une seconde",
            "veinte horas, treinta y un minutos y un segundo",
            "스무 시간 삼십일 분 일 초",
        )),
        ([(200, "week")], (
            "two hundred weeks",
            "zweihundert Wochen",
            "deux cents semaines",
            "doscientas semanas",
            "이백 주",
        )),
    ],
)  # fmt: skip
def test_durations(parts: list[tuple[int, str]], expected: tuple[str, str, str, str, str]) -> None:
    assert said(Duration(tuple(parts))) == expected


@pytest.mark.parametrize(
    ("value", "cents", "currency", "expected"),
    [
        (81, 0, "EUR", (
            "eighty-one euros",
            "einundachtzig Euro",
            "quatre-vingt-un euros",
            "ochenta y un euros",
            "팔십일 유로",
        )),
        (1, 1, "USD", (
            "one US dollar and one cent",
            "ein US-Dollar und ein Cent",
            "un dollar des États-Unis et un cent",
            "un dólar estadounidense y un centavo",
            "일 미국 달러 일 센트",
        )),
        (21_500, 0, "GBP", (
            "twenty-one thousand five hundred British pounds",
            "einundzwanzigtausendfünfhundert britische Pfund",
            "vingt et un mille cinq cents livres sterling",
            "veintiún mil quinientas libras esterlinas",
            "이만 천오백 영국 파운드",
        )),
        (21, 0, "INR", (
            "twenty-one Indian rupees",
            "einundzwanzig indische Rupien",
            "vingt et une roupies indiennes",
            "veintiuna rupias indias",
            "이십일 인도 루피",
        )),
        (2, 50, "EUR", (
            "two euros and fifty cents",
            "zwei Euro und fünfzig Cent",
            "deux euros et cinquante centimes",
            "dos euros y cincuenta céntimos",
            "이 유로 오십 센트",
        )),
        (1, 0, "CHF", (
            "one Swiss franc",
            "ein Schweizer Franken",
            "un franc suisse",
            "un franco suizo",
            "일 스위스 프랑",
        )),
        (300, 0, "JPY", (
            "three hundred Japanese yen",
            "dreihundert japanische Yen",
            "trois cents yens japonais",
            "trescientos yenes japoneses",
            "삼백 일본 엔",
        )),
    ],
)  # fmt: skip
def test_amounts(
    value: int, cents: int, currency: str, expected: tuple[str, str, str, str, str]
) -> None:
    assert said(Amount(value, cents, currency)) == expected


# Numerals over their whole range, against implementations of another kind.

GERMAN_ONES = ["", "ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"]
GERMAN_TEENS = ["zehn", "elf", "zwölf", "dreizehn", "vierzehn", "fünfzehn", "sechzehn",
                "siebzehn", "achtzehn", "neunzehn"]  # fmt: skip
GERMAN_TENS = ["", "", "zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig",
               "achtzig", "neunzig"]  # fmt: skip


def german(value: int, alone: bool = True) -> str:
    if value >= 1000:
        rest = german(value % 1000) if value % 1000 else ""
        return german(value // 1000, alone=False) + "tausend" + rest
    if value >= 100:
        rest = german(value % 100, alone) if value % 100 else ""
        return GERMAN_ONES[value // 100] + "hundert" + rest
    if value == 1:
        return "eins" if alone else "ein"
    if value < 10:
        return GERMAN_ONES[value]
    if value < 20:
        return GERMAN_TEENS[value - 10]
    ones = GERMAN_ONES[value % 10]
    return (ones + "und" if ones else "") + GERMAN_TENS[value // 10]


def korean(value: int) -> str:
    if value >= 10_000:
        high = korean(value // 10_000) if value >= 20_000 else ""
        return f"{high}만 {korean(value % 10_000)}".strip()
    words = ""
    for size, name in ((1000, "천"), (100, "백"), (10, "십"), (1, "")):
        digit, value = divmod(value, size)
        if digit:
            words += ("" if digit == 1 and name else " 일이삼사오육칠팔구"[digit]) + name
    return words


@given(st.integers(1, 999_999))
def test_german_and_korean_numbers_follow_their_rules(value: int) -> None:
    assert DE.cardinal(value) == german(value)
    assert KO.cardinal(value) == korean(value)


@given(st.integers(0, 999_999))
def test_numbers_put_together_are_those_of_num2words(value: int) -> None:
    assert EN.cardinal(value) == num2words(value, lang="en").replace(",", "")
    assert FR.cardinal(value) == num2words(value, lang="fr")
    assert ES.cardinal(value).replace("veintiún mil", "veintiuno mil").replace(
        "un mil", "uno mil"
    ) == num2words(value, lang="es")


@given(st.integers(1, 999))
def test_spanish_ordinals_are_single_spaced_and_agree_with_the_unit(value: int) -> None:
    masculine, feminine = ES.ordinal_of(value, "day"), ES.ordinal_of(value, "week")
    assert feminine.startswith("la ")
    assert all(word.endswith("a") for word in feminine.split())
    assert masculine.split()[-2].endswith(("o", "primer", "tercer"))
    # Between ten and twenty the Academy writes one word.
    assert "décimo" not in ES.ordinal(value).split()[:-1]


@given(st.integers(0, 23), st.integers(0, 59), st.integers(0, 23), st.integers(0, 59))
def test_different_times_are_said_differently_in_every_language(
    hour: int, minute: int, other: int, another: int
) -> None:
    assume((hour, minute) != (other, another))
    pairs = zip(said(Time(hour, minute, None)), said(Time(other, another, None)), strict=True)
    assert all(one != two for one, two in pairs)


# The corpus.


def test_the_seed_decides_and_held_out_rows_do_not_depend_on_the_size() -> None:
    small, large = (generator.generate(rows, 5, dev=20, test=20) for rows in (50, 120))
    assert small == generator.generate(50, 5, dev=20, test=20)
    assert small.test == large.test
    assert small.dev == large.dev
    assert small.train == large.train[:50]
    assert small.test != generator.generate(50, 6, dev=20, test=20).test


@given(st.integers(0, 40), st.integers(0, 9), st.integers(0, 9), st.integers(0, 2**32))
@settings(max_examples=10)
def test_sizes_are_those_asked_for(rows: int, dev: int, test: int, seed: int) -> None:
    splits = generator.generate(rows, seed, dev=dev, test=test)
    assert [len(split) for split in splits] == [rows, dev, test]
    texts = [text for split in splits for row in split for text in row.texts.items()]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(("rows", "dev"), [(-1, 0), (10, -1), (10_000_000, 0)])
def test_impossible_sizes_are_refused(rows: int, dev: int) -> None:
    with pytest.raises(ConfigError, match="expected sizes from 0 up to"):
        generator.generate(rows, dev=dev)
