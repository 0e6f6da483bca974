"""Texts that try to become script, or anything other than text: our own corpus.

Vectors times carriers: each script URL is tried in each place that takes an address, and each form
of a tag in each place that takes text.
"""

ALERT = "alert(1)"

# Forms of a script URL.
ADDRESSES = (
    f"javascript:{ALERT}",
    f"JavaScript:{ALERT}",
    f"java\tscript:{ALERT}",
    f"java\nscript:{ALERT}",
    f"\x01javascript:{ALERT}",
    f"\u00a0javascript:{ALERT}",
    f"\u200bjavascript:{ALERT}",
    f"java\u00adscript:{ALERT}",
    f"javascript&colon;{ALERT}",
    f"javascript&#58;{ALERT}",
    f"javascript&#x3a;{ALERT}",
    f"&#106;avascript:{ALERT}",
    f"&#x6A&#x61&#x76&#x61script:{ALERT}",
    f"javascript\\:{ALERT}",
    f"java\\script:{ALERT}",
    f"%6aavascript:{ALERT}",
    f"javascript%3a{ALERT}",
    f"vbscript:{ALERT}",
    f"livescript:{ALERT}",
    f"data:text/html,<script>{ALERT}</script>",
    "data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==",
    f"data:image/svg+xml,<svg onload={ALERT}>",
    "file:///etc/passwd",
    "blob:https://example.org/x",
    "about:blank",
    "tel:112",
    "sms:99",
    "javascript:1",
    "ftp://example.org/",
    "//evil.example/",
    "\\\\evil.example/",
    "/\\evil.example/",
    "https:evil.example",
    "http:/evil.example",
    "https://user@evil.example@good.example/",
    " javascript:alert(1)",
    "\tjavascript:alert(1)",
    "javascript:alert(1)//https://good.example",
    "x:y",
    "feed:javascript:alert(1)",
)

# Places in Markdown that take an address.
LINKS = (
    "[a]({})",
    "[a](<{}>)",
    '[a]({} "title")',
    "![a]({})",
    "[![a]({})]({})",
    "[a][r]\n\n[r]: {}",
    "[a][r]\n\n[r]: <{}> 'title'",
    "<{}>",
)

# Forms of a tag, or of a smuggled attribute.
TAGS = (
    f"<script>{ALERT}</script>",
    f"<ScRiPt >{ALERT}</sCrIpT\n>",
    f"<script/x>{ALERT}</script>",
    f"<img src=x onerror={ALERT}>",
    f"<img src=x:x onerror\n=\n{ALERT}>",
    f'"><img src=x onerror={ALERT}>',
    f"'><svg onload={ALERT}>",
    f"<svg><script>{ALERT}</script></svg>",
    f"<svg/onload={ALERT}>",
    f"<math><mi//xlink:href='data:x,<script>{ALERT}</script>'>",
    f"<math><mtext><table><mglyph><style><img src=x onerror={ALERT}></style></mglyph></table>",
    f"<noscript><p title='</noscript><img src=x onerror={ALERT}>'>",
    f"<style>@import 'javascript:{ALERT}';</style>",
    f"<iframe srcdoc='<script>{ALERT}</script>'></iframe>",
    f"<iframe src=javascript:{ALERT}>",
    f"<object data=javascript:{ALERT}>",
    f"<embed src=javascript:{ALERT}>",
    f"<form action=javascript:{ALERT}><button>go</button></form>",
    f"<a href=javascript:{ALERT}>a</a>",
    f"<details open ontoggle={ALERT}>",
    f"<body onload={ALERT}>",
    f"<input autofocus onfocus={ALERT}>",
    "<base href=//evil.example/>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<link rel=stylesheet href=//evil.example>",
    f"<!--><script>{ALERT}</script>-->",
    f"<![CDATA[<script>{ALERT}</script>]]>",
    f"<?xml <script>{ALERT}</script> ?>",
    f"<x onclick={ALERT}>click",
    f"<p style='background:url(javascript:{ALERT})'>",
    f"&lt;script&gt;{ALERT}&lt;/script&gt;",
    f"&#60;script&#62;{ALERT}&#60;/script&#62;",
    f"\\<script>{ALERT}\\</script>",
    "</p></div></main></body></html>",
    f"<scr<script>ipt>{ALERT}</scr</script>ipt>",
    f"<\x00script>{ALERT}</script>",
    f"＜script＞{ALERT}＜/script＞",
    '" onmouseover="alert(1)',
    "' onmouseover='alert(1)",
    "`onmouseover=alert(1)`",
)

# Places in Markdown that take text.
TEXTS = (
    "{}",
    "**{}**",
    "# {}",
    "### {}",
    "- {}",
    "- [x] {}",
    "> {}",
    "`{}`",
    "```\n{}\n```",
    "```{}\nx\n```",
    "    {}",
    "| a | b |\n|---|---|\n| {} | x |",
    "[{}](/x)",
    '[a](/x "{}")',
    "![{}](/x)",
    "[[page|{}]]",
    "[[{}]]",
    "[[ticket:OPS-1|{}]]",
    "~~{}~~",
    "[r]: /x '{}'\n\n[a][r]",
)

# Markers, stashes and other internals of renderers.
INSIDES = (
    "\ufdd00\ufdd1",
    "\ufdd099999\ufdd1",
    "\ufdd0x\ufdd1",
    "\ufdd2\ufdd3",
    "\ufdd3".join("abc"),
    "\x02wzxhzdk:0\x03",
    "\x02inline:0\x03",
    "klzzwxh:0000",
    "\x02amp\x03lt;script\x02amp\x03gt;",
    "{: onclick=alert(1)}",
    "# a {: #id .class onclick=alert(1)}",
    "# main\n# main\n# h-main",
    "[a](#main)",
    "*[HTML]: <script>",
    "[TOC]",
    "[^1]\n\n[^1]: <script>alert(1)</script>",
    "$$<script>alert(1)</script>$$",
    '[[ticket:OPS-1"onclick=alert(1)]]',
    "[[a]]" * 200,
    "<" * 500,
    "[" * 500,
    "\u202e[a](javascript:alert(1))",
    "a\u2028b\u2029c",
)


def corpus() -> list[str]:
    """Return the whole corpus."""
    return [
        *(link.replace("{}", address) for link in LINKS for address in ADDRESSES),
        *(place.replace("{}", tag) for place in TEXTS for tag in TAGS),
        *INSIDES,
    ]
