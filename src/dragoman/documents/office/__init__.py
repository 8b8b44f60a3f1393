"""Documents of office programs: packages of XML, with paragraphs that are cut into runs."""
