/** The style of a bundle's page: light and dark, from 320 px up, and on paper, where every fold is open. */
export const pageStyle = `
:root{color-scheme:light dark;--ground:#f6f7f9;--paper:#fff;--line:#d9dee5;--text:#1b2129;--soft:#59636f;--good:#17713a;--good-ground:#e2f4e8;--bad:#b3261e;--bad-ground:#fdeae8;--wait:#7a5200;--wait-ground:#fbf0d9;--mono:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace}
@media screen and (prefers-color-scheme:dark){:root{--ground:#0f1216;--paper:#171b21;--line:#2e3742;--text:#e7ebf0;--soft:#a0abb8;--good:#63d08a;--good-ground:#173323;--bad:#ff8a80;--bad-ground:#3b1d1c;--wait:#e6bb5c;--wait-ground:#36290f}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--text);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
header,main{max-width:1080px;margin:0 auto;padding:24px 20px}
header{padding-bottom:0}
h1,h2,h3,h4,p,dl,dd,ol,figure,pre{margin:0}
h1{font-size:26px;line-height:1.2;overflow-wrap:anywhere}
h2{font-size:19px;line-height:1.35;margin-bottom:8px}
h3{font-size:14px;margin:20px 0 6px}
h4{font-size:13px;margin:10px 0 4px}
.brand{font:600 13px/1 var(--mono);color:var(--soft);margin-bottom:12px}
section{margin:0 0 20px;padding:20px;background:var(--paper);border:1px solid var(--line);border-radius:10px}
.columns{display:grid;grid-template-columns:minmax(0,3fr) minmax(0,2fr);gap:0 32px}
dl{display:grid;grid-template-columns:auto minmax(0,1fr);gap:2px 14px}
dt{color:var(--soft)}
dd{overflow-wrap:anywhere}
header dl{margin-top:10px}
.soft,figcaption{color:var(--soft)}
.hint{margin-top:6px}
code,pre,.time,.method{font-family:var(--mono);font-size:13px}
pre{padding:10px 12px;overflow:auto;white-space:pre-wrap;overflow-wrap:anywhere;background:var(--ground);border-radius:6px}
.chip{display:inline-block;padding:0 8px;border-radius:10px;font-size:13px;font-weight:500;white-space:nowrap;background:var(--ground);color:var(--soft)}
.chip.good{background:var(--good-ground);color:var(--good)}
.chip.bad{background:var(--bad-ground);color:var(--bad)}
.chip.wait{background:var(--wait-ground);color:var(--wait)}
.timeline{padding:0;list-style:none}
.timeline li{padding:2px 0}
.timeline .time{display:inline-block;min-width:11ch;color:var(--soft)}
.scroll{overflow-x:auto}
table{width:100%;border-collapse:collapse;font-size:14px}
th{text-align:start;font-weight:500;color:var(--soft)}
th,td{padding:4px 12px 4px 0;vertical-align:top;border-bottom:1px solid var(--line)}
td.time{white-space:nowrap}
.measured{min-width:18ch}
details{border-bottom:1px solid var(--line)}
summary{padding:6px 0;cursor:pointer;overflow-wrap:anywhere}
details>div{padding:0 0 12px}
figure{display:grid;gap:6px}
img,video{max-width:100%;height:auto;border-radius:8px}
:focus-visible{outline:2px solid var(--text);outline-offset:2px;border-radius:4px}
@media (max-width:720px){.columns{grid-template-columns:minmax(0,1fr)}section{padding:16px 14px}header,main{padding-inline:12px}}
@media print{body{background:#fff}section{border:0;padding:0;break-inside:auto}details::details-content{content-visibility:visible;block-size:auto}tr,figure{break-inside:avoid}pre{background:none;border:1px solid var(--line)}}
`.trim()
