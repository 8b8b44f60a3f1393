# A file of messages
hello = Hello { $name }, it's #1
    a second line
      indented

files =
    You have { $n ->
        [one] one file
       *[other] { $n } files
    } in { -brand }.
    .accesskey = F
    .label = Some { "x" } { "{" }
done = { $n ->
        [0] No file
        [one] One file
       *[other] { NUMBER($n, minimumFractionDigits: 0) } of { $n } files
    }
photo =
    { $gender ->
        [male] { $user } liked his photo
       *[other] { $user } liked their <b>photo</b>
    }
-brand = Firefox Browser
    .gender = masculine
