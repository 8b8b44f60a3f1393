"""Roles of the elements of office documents in translation."""

from __future__ import annotations

from typing import Literal

from dragoman.documents.marks.markup_tokens import MarkupToken
from dragoman.documents.office.part_tokens import attribute

Role = Literal[
    "paragraph",
    "hidden",  # never translated, paragraphs within included
    "run",  # words in one format
    "format",  # that format
    "words",  # the words of a run
    "ruby",  # words with a reading above them
    "base",  # the element in it that has these words
    "pair",  # around words
    "span",  # around words, and nothing but a format
    "properties",  # in front of the words in a pair
    "content",  # the element in a pair that has the words
    "field",  # a part of a field that spans runs
    "instruction",  # of such a field
    "begin",  # of a range
    "end",  # of a range
    "atom",  # copied as a word of the sentence
    "edge",  # texts end there
    "dropped",  # put in by programs wherever they like
    "anchor",  # tied to a word, takes no space, may hold paragraphs
    "point",  # anything else between words, such as a picture; may hold paragraphs
]

_OF_OPEN_XML: dict[Role, str] = {
    "paragraph": "w:p a:p p:text c:v cx:v cx:pt x:si x:is x:text xtc:text",
    "hidden": "w:del w:moveFrom w:delText w:delInstrText w:rPrChange w:pPrChange c:numCache "
    "c:numLit cx:numDim",
    "run": "w:r a:r x:r",
    "format": "w:rPr a:rPr x:rPr",
    "words": "w:t a:t x:t",
    "pair": "w:hyperlink w:ins w:moveTo w:smartTag w:customXml w:sdt w:fldSimple w:dir w:bdo",
    "properties": "w:sdtPr w:sdtEndPr w:smartTagPr w:customXmlPr w:fldData",
    "content": "w:sdtContent",
    "field": "w:fldChar",
    "instruction": "w:instrText",
    "begin": "w:bookmarkStart w:commentRangeStart w:permStart w:moveFromRangeStart "
    "w:moveToRangeStart",
    "end": "w:bookmarkEnd w:commentRangeEnd w:permEnd w:moveFromRangeEnd w:moveToRangeEnd",
    "atom": "a:fld",
    "ruby": "w:ruby",
    "base": "w:rubyBase",
    "edge": "w:pPr w:tab w:ptab w:br w:cr a:pPr a:br a:endParaRPr",
    "dropped": "w:proofErr w:lastRenderedPageBreak w:softHyphen x:rPh x:phoneticPr",
    "anchor": "w:footnoteReference w:endnoteReference w:commentReference",
}
_ANCHORS_OF_OPEN_DOCUMENT = """
    text:note text:bookmark text:reference-mark text:change text:change-start text:change-end
    text:toc-mark text:toc-mark-start text:toc-mark-end text:user-index-mark
    text:user-index-mark-start text:user-index-mark-end text:alphabetical-index-mark
    text:alphabetical-index-mark-start text:alphabetical-index-mark-end
"""
_OF_OPEN_DOCUMENT: dict[Role, str] = {
    "paragraph": "text:p text:h svg:title svg:desc presentation:header-decl "
    "presentation:footer-decl",
    "hidden": "text:tracked-changes table:tracked-changes office:forms office:scripts "
    "text:note-citation text:number table:value",
    "pair": "text:a text:meta text:meta-field loext:content-control",
    "ruby": "text:ruby",
    "base": "text:ruby-base",
    "span": "text:span",
    "begin": "text:bookmark-start text:reference-mark-start office:annotation",
    "end": "text:bookmark-end text:reference-mark-end office:annotation-end",
    "edge": "text:tab text:line-break",
    "dropped": "text:soft-page-break",
    "anchor": _ANCHORS_OF_OPEN_DOCUMENT,
}

_ATOMS_OF_OPEN_DOCUMENT = """
    author-initials author-name bookmark-ref chapter character-count conditional-text creation-date
    creation-time creator database-display database-name database-row-number date dde-connection
    description editing-cycles editing-duration expression file-name hidden-text image-count
    initial-creator keywords measure modification-date modification-time note-ref object-count
    page-continuation page-count page-number page-variable-get page-variable-set paragraph-count
    placeholder print-date print-time printed-by reference-ref script sender-city
    sender-company sender-country sender-email sender-fax sender-firstname sender-initials
    sender-lastname sender-phone-private sender-phone-work sender-position sender-postal-code
    sender-state-or-province sender-street sender-title sequence sequence-ref sheet-name subject
    table-count table-formula template-name text-input time title user-defined user-field-get
    user-field-input variable-get variable-input variable-set word-count
"""
"""Fields (ODF 1.3, part 3, section 7)."""

OPEN_XML_ROLES: dict[str, Role] = {
    name: role for role, names in _OF_OPEN_XML.items() for name in names.split()
}
"""Of WordprocessingML, SpreadsheetML and DrawingML (ECMA-376, part 1, chapters 17, 18 and 21).  The
words of a chart are those that it keeps of its workbook."""

OPEN_DOCUMENT_ROLES: dict[str, Role] = {
    **{name: role for role, names in _OF_OPEN_DOCUMENT.items() for name in names.split()},
    **{f"text:{name}": "atom" for name in _ATOMS_OF_OPEN_DOCUMENT.split()},
}
"""Of text documents, presentations and spreadsheets (ODF 1.3, part 3, chapters 5 to 10).
``table:value`` is what :func:`cell_tokens` calls the text of a number."""

ALTERNATIVES = ("mc:Choice", "mc:Fallback")
"""Elements of which a program shows one (ECMA-376, part 3, section 7.4).  If they hold runs, each
is a text of its own."""

_SHAPES_OF_VML = "arc curve group image line oval polyline rect roundrect shape shapetype"
OPEN_XML_TEXTS: dict[str, tuple[str, ...]] = {
    **{f"{prefix}:cNvPr": ("descr", "title") for prefix in ("a", "cdr", "p", "pic", "wps", "xdr")},
    "wp:docPr": ("descr", "title"),
    **{f"v:{name}": ("alt",) for name in _SHAPES_OF_VML.split()},
    "v:textpath": ("string",),
    "w:tblCaption": ("val",),
    "w:tblDescription": ("val",),
    "w:listItem": ("displayText",),
    "w:listEntry": ("val",),
    "w:helpText": ("val",),
    "w:statusText": ("val",),
    "w:hyperlink": ("tooltip",),
    "a:hlinkClick": ("tooltip",),
    "x:tableColumn": ("name", "totalsRowLabel"),
}
"""Attributes with text that people read, by element: alternative text, words drawn as a picture,
entries of lists to choose from, help in forms, what is shown at a link, and the headers of tables
in workbooks, which their cells have, too."""

OPEN_DOCUMENT_TEXTS: dict[str, tuple[str, ...]] = {
    "text:a": ("title",),
    "draw:a": ("title",),
    "loext:list-item": ("display-text",),
    "table:table-cell": ("string-value",),
    "table:covered-table-cell": ("string-value",),
}
"""The same in OpenDocument, and the words of cells, which programs may write twice."""

_COPIED_FIELDS = """
    = addin advance author autonum autonumlgl autonumout bibliography citation comments createdate
    database date displaybarcode docproperty docvariable edittime eq filename fillin formcheckbox
    formdropdown greetingline addressblock gotobutton info keywords lastsavedby listnum macrobutton
    mergebarcode mergefield mergerec mergeseq noteref numchars numpages numwords page pageref
    printdate revnum savedate section sectionpages seq subject symbol template time title
    useraddress userinitials username
"""
_COPIED = frozenset(_COPIED_FIELDS.split())


def is_copied(instruction: str) -> bool:
    """Whether the result of an instruction of Word, such as ``PAGEREF _Toc1``, is copied.

    That is a number, a date, a name, or a citation.
    """
    name = next(iter(instruction.lower().split()), "")
    return name.startswith("=") or name in _COPIED


def hides_run(token: MarkupToken) -> bool:
    """Whether a property of a run of Word hides it."""
    return token.name == "w:vanish" and attribute(token, "val") not in ("0", "false", "off")
