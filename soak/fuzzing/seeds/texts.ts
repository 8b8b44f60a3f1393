<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de_DE" sourcelanguage="en_US">
<context>
    <name>MainWindow</name>
    <message>
        <location filename="main.cpp" line="12"/>
        <source>&amp;Open &quot;%1&quot; now</source>
        <comment>menu</comment>
        <translation type="unfinished"></translation>
    </message>
    <message numerus="yes">
        <source>%n file(s) found</source>
        <translation type="unfinished">
            <numerusform></numerusform>
            <numerusform></numerusform>
        </translation>
    </message>
    <message>
        <source>Close it</source>
        <translation>Zumachen</translation>
    </message>
    <message>
        <source>Save it</source>
        <translation type="unfinished">Sichern</translation>
    </message>
    <message>
        <source>Old text</source>
        <translation type="vanished">Alter Text</translation>
    </message>
    <message>
        <source>Without any</source>
        <extracomment>hint</extracomment>
    </message>
    <message numerus="yes">
        <source>%n day(s)</source>
        <translation type="unfinished"/>
    </message>
    <message>
        <source>A byte<byte value="x1b"/> here</source>
        <translation type="unfinished"></translation>
    </message>
</context>
</TS>
