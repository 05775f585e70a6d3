/** The style of the page of a game day: light and dark, printed, and from 320 px up. */
export const pageStyle = `
:root { color-scheme: light dark; --ground: #f6f7f9; --paper: #fff; --line: #d9dee5; --text: #1b2129; --soft: #59636f;
  --with: #2f5bd7; --without: #8a94a1; --fault: #fbf0d9; --good: #17713a; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ground: #0f1216; --paper: #171b21; --line: #2e3742; --text: #e7ebf0;
  --soft: #a0abb8; --with: #8fb0ff; --without: #77818e; --fault: #36290f; --good: #63d08a; --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1040px; margin: 0 auto; padding: 24px 16px 48px; }
h1 { margin: 0; font-size: 26px; line-height: 1.25; overflow-wrap: anywhere; }
h2 { margin: 32px 0 8px; font-size: 18px; }
p { margin: 6px 0; }
.soft { color: var(--soft); }
.good { color: var(--good); font-weight: 600; }
.bad { color: var(--bad); font-weight: 600; }
.card, figure { margin: 16px 0 0; padding: 12px; background: var(--paper); border: 1px solid var(--line); border-radius: 8px; overflow-x: auto; }
figcaption { font-weight: 600; }
svg { display: block; width: 100%; min-width: 560px; height: auto; }
svg text { fill: var(--soft); font: 12px system-ui, sans-serif; }
svg .name { fill: var(--text); }
.fault { fill: var(--fault); }
.grid { stroke: var(--line); fill: none; }
circle.with, rect.with { fill: var(--with); }
circle.without { fill: none; stroke: var(--without); stroke-width: 1.5; }
rect.without { fill: var(--without); opacity: 0.45; }
.lost { fill: none; stroke: var(--bad); stroke-width: 1.5; }
.lost.without { stroke: var(--without); }
.key { display: inline-block; width: 10px; height: 10px; margin: 0 5px 0 12px; border-radius: 50%; }
.key.with { background: var(--with); }
.key.without { border: 2px solid var(--without); }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 10px; text-align: left; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--soft); font-weight: 500; }
td.number, th.number { text-align: right; }
tr:last-child td { border-bottom: 0; }
@media print { body { background: #fff; } .card, figure { break-inside: avoid; } }
`
