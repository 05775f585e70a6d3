/** Filter, links and folds of the page. It runs in the browser, as the text of this function. */
export function pageScript(): void {
  const all = <T extends Element>(selector: string) => [...document.querySelectorAll<T>(selector)]
  const form = document.querySelector<HTMLFormElement>('#filters')
  const search = document.querySelector<HTMLInputElement>('#filter-text')
  const tag = document.querySelector<HTMLSelectElement>('#filter-tag')
  const count = document.querySelector<HTMLOutputElement>('#filter-count')
  const none = document.querySelector('#filter-none')
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
    const isShown = ({ outcome = '', tags = '[]', text = '' }: DOMStringMap) =>
      (chosen.size === 0 || chosen.has(outcome)) &&
      (wanted === '' || (JSON.parse(tags) as string[]).includes(wanted)) &&
      words.every((word) => text.includes(word))
    for (const item of cases) {
      item.hidden = !isShown(item.dataset)
      if (!item.hidden) shown.add(item.dataset.case ?? '')
    }
    for (const group of all<HTMLElement>('[data-group]')) {
      group.hidden = group.querySelector('[data-case]:not([hidden])') === null
    }
    for (const suite of suites) suite.open = isFiltered || (opened.get(suite) ?? true)
    const counted = `${total} ${total === 1 ? 'case' : 'cases'}`
    if (count) count.textContent = isFiltered ? `${shown.size} of ${counted}` : counted
    none?.toggleAttribute('hidden', shown.size > 0)
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

  if (form) form.hidden = false
  form?.addEventListener('input', filter)
  form?.addEventListener('reset', () => setTimeout(filter))
  form?.addEventListener('submit', (event) => event.preventDefault())
  addEventListener('hashchange', reveal)
  document.addEventListener('click', (event) => {
    const element = event.target instanceof Element ? event.target : null
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

/** The buttons that copy a command. It runs in the browser, as the text of this function. */
export function copyScript(): void {
  document.addEventListener('click', ({ target }) => {
    const button = target instanceof Element ? target.closest<HTMLButtonElement>('[data-copy]') : null
    if (button) void copy(button)
  })

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
}
