"""What documents of office programs share: packages of XML, and paragraphs cut into runs."""
