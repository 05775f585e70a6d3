/**
 * The style sheet and the script of the page. The style works in light and dark, from 320 px up; colours have a contrast of
 * at least 4.5:1 on every background.
 */
export const style = `
:root{color-scheme:light dark;--ground:#f6f7f9;--paper:#fff;--raised:#f1f3f6;--line:#d9dee5;--text:#1b2129;--soft:#59636f;--brand:#2f5bd7;
--passed:#17713a;--passed-ground:#e2f4e8;--failed:#b3261e;--failed-ground:#fdeae8;--left:#7a5200;--left-ground:#fbf0d9;--none:#59636f;--none-ground:#eceff3;
--mono:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace}
@media(prefers-color-scheme:dark){:root{--ground:#0f1216;--paper:#171b21;--raised:#1f252d;--line:#2e3742;--text:#e7ebf0;--soft:#a0abb8;--brand:#8fb0ff;
--passed:#63d08a;--passed-ground:#173323;--failed:#ff8a80;--failed-ground:#3b1d1c;--left:#e6bb5c;--left-ground:#36290f;--none:#a0abb8;--none-ground:#28303a}}
*{box-sizing:border-box}
html{scroll-padding-top:64px}
body{margin:0;background:var(--ground);color:var(--text);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
.wrap{max-width:1180px;margin:0 auto;padding:0 24px}
h1,h2,h3,p,dl,dd,ol,ul,figure,fieldset,pre{margin:0;padding:0}
h1{font-size:28px;line-height:1.2;letter-spacing:-.01em;text-wrap:balance}
h2{font-size:18px;line-height:1.3;margin:0 0 12px}
h3{font-size:15px;font-weight:600}
a{color:var(--brand)}
code,pre,.place,.url,.method,.status,.time{font-family:var(--mono);font-size:13px}
.soft{color:var(--soft)}
small{font-size:13px;font-weight:400}
.hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.skip{position:absolute;left:8px;top:-60px;padding:8px 12px;background:var(--paper);z-index:9}
.skip:focus{top:8px}
[hidden]{display:none!important}
:focus-visible{outline:2px solid var(--brand);outline-offset:2px;border-radius:4px}
.top{background:var(--paper);padding:28px 0 20px}
.brand{font:600 13px/1 var(--mono);color:var(--brand);margin-bottom:14px}
.top h1+p{margin-top:6px;overflow-wrap:anywhere}
.proportions{display:block;width:100%;height:8px;margin:20px 0 16px;border-radius:4px}
rect.passed,.bar.passed rect{fill:var(--passed)}rect.failed,.bar.failed rect{fill:var(--failed)}rect.not_applicable,.bar.not_applicable rect{fill:var(--line)}rect.not_run,.bar.not_run rect{fill:var(--left)}.bar.neutral rect{fill:var(--brand)}
.totals{display:flex;flex-wrap:wrap;gap:8px 36px}
.totals div{display:flex;flex-direction:column-reverse}
.totals dt{color:var(--soft)}
.totals dd{font-size:24px;font-weight:600;line-height:1.2;font-variant-numeric:tabular-nums}
.totals .passed dd{color:var(--passed)}.totals .failed dd{color:var(--failed)}.totals .not_run dd,.totals .warned dd{color:var(--left)}
.tabs{position:sticky;top:0;z-index:3;background:var(--paper);border-bottom:1px solid var(--line)}
.tabs .wrap{display:flex;gap:20px;overflow-x:auto}
.tabs a{padding:10px 0;color:var(--text);text-decoration:none;border-bottom:2px solid transparent;white-space:nowrap}
.tabs a:hover{border-color:var(--brand)}
section{margin:32px 0}
.filters{display:flex;flex-wrap:wrap;align-items:center;gap:10px 14px;margin-top:20px;font-size:14px}
.filters fieldset{display:flex;flex-wrap:wrap;gap:6px;border:0;min-width:0}
.filters label{display:inline-flex;align-items:center;gap:6px}
.filters select{max-width:220px}
.filters input[type=search]{width:200px;max-width:100%}
input[type=search],select,button{font:inherit;font-size:14px;color:inherit;background:var(--paper);border:1px solid var(--line);border-radius:6px;padding:5px 10px;min-height:34px}
button{cursor:pointer}button:hover{border-color:var(--soft)}
.toggle{position:relative;border:1px solid var(--line);border-radius:17px;background:var(--paper);padding:0 12px;min-height:34px;cursor:pointer}
.toggle input{position:absolute;inset:0;width:100%;height:100%;margin:0;opacity:0;cursor:pointer}
.toggle:has(:checked){background:var(--text);border-color:var(--text);color:var(--paper)}
.toggle:has(:focus-visible){outline:2px solid var(--brand);outline-offset:2px}
.toggle b{font-weight:600;font-variant-numeric:tabular-nums}
.empty{margin:32px 0;padding:32px;text-align:center;background:var(--paper);border:1px dashed var(--line);border-radius:10px}
.heading{display:flex;justify-content:space-between;align-items:baseline;flex-wrap:wrap;gap:8px;margin-bottom:12px}
.heading h2{margin:0}
.folds{display:none}.scripted .folds{display:block}
.group{background:var(--paper);border:1px solid var(--line);border-radius:10px;overflow:clip}
summary{cursor:pointer;list-style:none;display:flex;align-items:center;gap:10px}
summary::-webkit-details-marker{display:none}
.case>summary::after,.step>summary::after,.suite>summary::after{content:"▸";color:var(--soft);font-size:12px;width:10px;flex:none}
.case[open]>summary::after,.step[open]>summary::after,.suite[open]>summary::after{content:"▾"}
.case.link::after{content:"";width:10px;flex:none}
.case+.case{border-top:1px solid var(--line)}
.case>summary,.case.link{padding:9px 14px;display:flex;align-items:center;gap:10px;color:inherit;text-decoration:none}
.case>summary:hover,.case.link:hover,.step>summary:hover{background:var(--raised)}
.case>summary:focus-visible,.case.link:focus-visible,.step>summary:focus-visible{outline-offset:-2px}
.case[open]>summary{font-weight:600}
.case .soft{font-weight:400}
.line .soft{font-size:13px}
.title{min-width:0;overflow-wrap:anywhere}
.why{flex:1 1 200px;min-width:0;font-size:13px}
.time{margin-left:auto;flex:none;white-space:nowrap;font-variant-numeric:tabular-nums}
.case>.body{padding:2px 14px 16px 48px}
.facts{display:flex;flex-wrap:wrap;gap:6px 8px;align-items:center;margin-bottom:10px}
.place{overflow-wrap:anywhere}
.chip{font-size:12px;line-height:20px;padding:0 8px;border-radius:10px;background:var(--raised);color:var(--soft);overflow-wrap:anywhere}
.mark{flex:none;display:inline-grid;place-items:center;width:22px;height:22px;border-radius:6px;font-size:13px;font-weight:700;line-height:1;text-decoration:none}
.mark.passed{color:var(--passed);background:var(--passed-ground)}.mark.failed{color:var(--failed);background:var(--failed-ground)}.mark.not_applicable{color:var(--none);background:var(--none-ground)}.mark.not_run,.mark.warned{color:var(--left);background:var(--left-ground)}
.suite{margin-bottom:14px}
.suite>summary{padding:8px 15px 8px 15px}
.suite>summary>.soft:first-of-type{font-size:14px}
.step{border:1px solid var(--line);border-radius:8px;overflow:clip}
.step+.step{margin-top:6px}
.step>summary{padding:7px 12px}
.step .mark{width:18px;height:18px;font-size:11px;border-radius:5px}
.step .count{font-size:13px}
.step>summary .bar{width:140px;flex:none;margin-left:auto}
.step>summary .time{margin-left:0;min-width:70px;text-align:right}
.step.unrun>summary::after{margin-left:auto}
.bar{display:block;width:100%;height:4px;background:var(--raised);border-radius:2px}
.step>.body{padding:4px 12px 14px 40px;border-top:1px solid var(--line)}
.step>.body>*{margin-top:10px}
.reason{padding:8px 12px;border-radius:6px;white-space:pre-wrap;overflow-wrap:anywhere;background:var(--none-ground)}
.reason.failed{background:var(--failed-ground);color:var(--failed)}.reason.not_run,.reason.warned{background:var(--left-ground);color:var(--left)}
.case>.body>.reason{margin-bottom:10px}
.check{border-left:3px solid var(--failed);padding:2px 0 2px 12px}
.check>*+*{margin-top:6px}
.check strong{overflow-wrap:anywhere}
.values{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:4px 12px}
.values dt,.headers dt{color:var(--soft)}
.values code{white-space:pre-wrap;overflow-wrap:anywhere}
.expected{color:var(--passed)}.actual{color:var(--failed)}
.legend{display:flex;gap:14px;font:13px var(--mono)}
pre{background:var(--raised);border-radius:6px;padding:10px 12px;white-space:pre-wrap;overflow-wrap:anywhere;tab-size:2;line-height:1.5}
.diff span{display:block;margin:0 -12px;padding:0 12px}
.diff .expected{background:var(--passed-ground)}.diff .actual{background:var(--failed-ground)}.diff .gap{color:var(--soft)}
.hint{padding:8px 12px;background:var(--left-ground);color:var(--left);border-radius:6px;overflow-wrap:anywhere}
.hint::before{content:"Hint: ";font-weight:600}
.line{display:flex;flex-wrap:wrap;align-items:baseline;gap:2px 10px}
.method{font-weight:700}.url{overflow-wrap:anywhere;min-width:0}
.status{padding:0 6px;border-radius:4px;background:var(--none-ground);font-weight:600}
.status.s2{color:var(--passed);background:var(--passed-ground)}.status.s4{color:var(--left);background:var(--left-ground)}.status.s5,.status.none{color:var(--failed);background:var(--failed-ground)}
.fold{margin-top:4px}
.fold>summary{display:inline-flex;gap:6px;padding:2px 0;font-size:14px}
.fold>summary::before{content:"▸";color:var(--soft);width:12px;text-align:center}
.fold[open]>summary::before{content:"▾"}
.fold>:not(summary){margin:4px 0 8px 18px}
.headers{display:grid;grid-template-columns:minmax(90px,max-content) minmax(0,1fr);gap:0 14px;font:13px/1.6 var(--mono)}
.headers dd,.headers dt{overflow-wrap:anywhere}
.checks{padding-left:16px}
.checks code{overflow-wrap:anywhere;white-space:pre-wrap}
.copyable{position:relative}
.copyable pre{padding-right:84px;min-height:44px}
.copy{display:none;position:absolute;top:5px;right:5px}.scripted .copy{display:block}
figure img{display:block;max-width:100%;height:auto;border:1px solid var(--line);border-radius:6px;background:#fff}
figcaption{font-size:13px;margin-top:4px}
.scroll{overflow-x:auto;background:var(--paper);border:1px solid var(--line);border-radius:10px;margin-bottom:14px}
.matrix{border-collapse:collapse;width:100%;font-size:14px}
.matrix th,.matrix td{padding:6px 12px;text-align:center;border-bottom:1px solid var(--line)}
.matrix tbody tr:last-child>*{border-bottom:0}
.matrix thead th{color:var(--soft);font-weight:500;min-width:84px;max-width:200px;overflow-wrap:anywhere}.matrix thead b{font-weight:600;color:var(--text)}
.matrix th:first-child{text-align:left;font-weight:400;position:sticky;left:0;background:var(--paper);min-width:180px;max-width:520px;overflow-wrap:anywhere;white-space:normal}
.matrix tbody tr:hover>*{background:var(--raised)}
.columns{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:24px 40px}
.columns h3{color:var(--soft);font-weight:500;margin-bottom:8px}
.times{list-style:none}
.times li{display:grid;grid-template-columns:minmax(0,1fr) auto;gap:2px 12px;margin-bottom:9px;overflow-wrap:anywhere}
.times .bar{grid-column:1/-1}
.times a{color:inherit;text-decoration:none}.times a:hover{text-decoration:underline}
.left-out ul{list-style:none}.left-out li{padding:3px 0;overflow-wrap:anywhere}.left-out b{display:inline-block;min-width:76px;font-weight:600;margin-right:6px}
.left-out h2:not(:first-child){margin-top:20px}
footer{padding-top:16px;padding-bottom:48px;font-size:13px}
@media(max-width:720px){
.wrap{padding:0 14px}h1{font-size:23px}.columns{grid-template-columns:minmax(0,1fr)}.totals{gap:8px 24px}
.case>.body{padding-left:12px;padding-right:12px}.step>.body{padding-left:12px}
.step>summary .bar{display:none}.step>summary .time{margin-left:auto;min-width:0}.step .count{display:none}
.case>summary{flex-wrap:wrap}.case>summary .title{flex:1 1 0}.why{order:9;flex-basis:100%;padding-left:32px}
.suite>summary{flex-wrap:wrap}.headers,.values{grid-template-columns:minmax(0,1fr)}.headers dd,.values dd{margin-bottom:4px}
.search,.filters select{max-width:220px}
.filters input[type=search]{width:100%}.matrix th:first-child{min-width:130px}
}
@media(prefers-reduced-motion:no-preference){html{scroll-behavior:smooth}}
@media print{.tabs,.filters,.folds,.copy{display:none!important}body{background:#fff}}
`

/** The script of the page: filter, links, folds and copy. It runs in the browser, as the text of this function alone. */
export function pageScript(): void {
  const all = <T extends Element>(selector: string) => [...document.querySelectorAll<T>(selector)]
  const form = document.querySelector<HTMLFormElement>('#filters')
  const search = document.querySelector<HTMLInputElement>('#filter-text')
  const tag = document.querySelector<HTMLSelectElement>('#filter-tag')
  const count = document.querySelector<HTMLOutputElement>('#filter-count')
  const cases = all<HTMLElement>('[data-case]')
  const suites = all<HTMLDetailsElement>('details.suite')
  const opened = new Map(suites.map((suite) => [suite, suite.open]))
  const total = new Set(cases.map((item) => item.dataset.case)).size
  document.documentElement.classList.add('scripted')

  function filter(): void {
    const words = (search?.value ?? '').toLowerCase().split(/\s+/).filter(Boolean)
    const chosen = new Set(all<HTMLInputElement>('input[name=outcome]:checked').map(({ value }) => value))
    const wanted = tag?.value ?? ''
    const isFiltered = words.length > 0 || chosen.size > 0 || wanted !== ''
    const shown = new Set<string>()
    for (const item of cases) {
      const { case: number = '', outcome = '', tags = '[]', text = '' } = item.dataset
      const isShown =
        (chosen.size === 0 || chosen.has(outcome)) &&
        (wanted === '' || (JSON.parse(tags) as string[]).includes(wanted)) &&
        words.every((word) => text.includes(word))
      item.hidden = !isShown
      if (isShown) shown.add(number)
    }
    for (const group of all<HTMLElement>('[data-group]')) {
      group.hidden = group.querySelector('[data-case]:not([hidden])') === null
    }
    for (const suite of suites) suite.open = isFiltered || (opened.get(suite) ?? true)
    if (count) count.textContent = isFiltered ? `${shown.size} of ${total} cases` : `${total} cases`
    const none = document.querySelector<HTMLElement>('#filter-none')
    if (none) none.hidden = shown.size > 0
  }

  /** Shows the case of a link, also when it is folded or filtered out. */
  function reveal(): void {
    const target = location.hash.startsWith('#case-') ? document.getElementById(location.hash.slice(1)) : null
    if (!target) return
    if (target.hidden) {
      form?.reset()
      filter()
    }
    for (let element: Element | null = target; element; element = element.parentElement) {
      if (element instanceof HTMLDetailsElement) element.open = true
    }
    target.scrollIntoView({ block: 'start' })
    target.querySelector('summary')?.focus({ preventScroll: true })
  }

  async function copy(button: HTMLButtonElement): Promise<void> {
    const code = button.parentElement?.querySelector('code')
    if (!code) return
    try {
      await navigator.clipboard.writeText(code.textContent ?? '')
      button.textContent = 'Copied'
    } catch {
      // Where the clipboard is closed to pages, the text is selected instead.
      getSelection()?.selectAllChildren(code)
      button.textContent = 'Selected'
    }
    setTimeout(() => {
      button.textContent = 'Copy'
    }, 1500)
  }

  if (form) form.hidden = false
  form?.addEventListener('input', filter)
  form?.addEventListener('reset', () => setTimeout(filter))
  form?.addEventListener('submit', (event) => event.preventDefault())
  addEventListener('hashchange', reveal)
  document.addEventListener('click', (event) => {
    const element = event.target instanceof Element ? event.target : null
    const button = element?.closest<HTMLButtonElement>('[data-copy]')
    if (button) void copy(button)
    const link = element?.closest<HTMLAnchorElement>('a[href^="#case-"]')
    // The same link a second time changes no hash.
    if (link && link.hash === location.hash) reveal()
    const fold = element?.closest<HTMLButtonElement>('[data-fold]')
    if (fold) for (const item of all<HTMLDetailsElement>('details.case')) item.open = fold.dataset.fold === 'open'
  })
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    search?.focus()
  })
  filter()
  reveal()
}
