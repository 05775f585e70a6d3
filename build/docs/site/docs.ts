/** What the pages of the documentation add with a script: the theme, search, and copying of code. */
export {}

interface SearchEntry {
  topic: string
  title: string
  summary: string
  parts: { heading: string; words: string }[]
}

interface Found {
  href: string
  title: string
  detail: string
  rank: number
}

/* Beyond loopback a link may carry the admin token: the tab keeps it for the inspector, and the address does not. */
const address = new URL(location.href)
const token = address.searchParams.get('token')
if (token !== null) {
  sessionStorage.setItem('svc.admin_token', token)
  address.searchParams.delete('token')
  history.replaceState(history.state, '', address)
}

/* The theme: the system's until another is chosen, the same as in the inspector. */
const themes = ['system', 'light', 'dark']
const themeButton = document.querySelector<HTMLButtonElement>('.theme')!
showTheme()
themeButton.hidden = false
themeButton.addEventListener('click', () => {
  const next = themes[(themes.indexOf(chosenTheme()) + 1) % themes.length]!
  if (next === 'system') localStorage.removeItem('svc.theme')
  else localStorage.setItem('svc.theme', next)
  showTheme()
})

function chosenTheme(): string {
  return localStorage.getItem('svc.theme') ?? 'system'
}

function showTheme(): void {
  const theme = chosenTheme()
  document.documentElement.dataset.theme = theme
  themeButton.ariaLabel = `Theme: ${theme}`
  themeButton.title = `Theme: ${theme}`
}

const root = '/_sandbox/docs/'
const maxRows = 9

const search = document.querySelector<HTMLElement>('search')!
const input = search.querySelector('input')!
const list = search.querySelector('ol')!
search.hidden = false

let entries: Promise<SearchEntry[]> | undefined
let selected = -1

input.addEventListener('input', show)
input.addEventListener('focus', show)
input.addEventListener('keydown', (event) => {
  const links = [...list.querySelectorAll('a')]
  if (event.isComposing) return
  if (event.key === 'Escape') {
    hide()
    input.blur()
  } else if (event.key === 'Enter') {
    links[Math.max(0, selected)]?.click()
  } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
    event.preventDefault()
    const step = event.key === 'ArrowDown' ? 1 : -1
    selected = Math.min(links.length - 1, Math.max(0, selected + step))
    for (const [at, link] of links.entries()) link.setAttribute('aria-selected', String(at === selected))
    const link = links[selected]
    if (link === undefined) return
    link.scrollIntoView({ block: 'nearest' })
    input.setAttribute('aria-activedescendant', link.id)
  }
})
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || document.activeElement === input) return
  event.preventDefault()
  input.focus()
})
// Tab goes on past the last link. A link that is clicked takes no focus in Safari.
search.addEventListener('focusout', ({ relatedTarget }) => {
  if (relatedTarget !== null && !search.contains(relatedTarget as Node)) hide()
})
document.addEventListener('click', (event) => {
  if (!search.contains(event.target as Node)) hide()
})

function hide(): void {
  open(false)
}

function open(isOpen: boolean): void {
  list.hidden = !isOpen
  input.setAttribute('aria-expanded', String(isOpen))
  input.removeAttribute('aria-activedescendant')
}

async function show(): Promise<void> {
  const text = input.value.trim().toLowerCase()
  if (text === '') return hide()
  entries ??= fetch(`${root}index.json`).then((response) => response.json() as Promise<SearchEntry[]>)
  const pages = await entries.catch(() => null)
  if (text !== input.value.trim().toLowerCase()) return
  selected = -1
  open(true)
  if (pages === null) {
    entries = undefined
    list.replaceChildren(note('The sandbox does not respond, so nothing can be searched.'))
    return
  }
  const found = findIn(pages, text)
  list.replaceChildren(...(found.length === 0 ? [note('No page has these words.')] : found.map(item)))
}

/** Titles that begin with the text come first, then other titles, headings, summaries, and parts of pages with all of its words. */
function findIn(pages: readonly SearchEntry[], text: string): Found[] {
  const words = text.split(/\s+/)
  const hasAll = (content: string) => words.every((word) => content.toLowerCase().includes(word))
  const beginnings = text.match(/[\p{L}\p{N}_]+/gu) ?? [text]
  const hasEach = (content: string) => beginnings.every((word) => ` ${content}`.includes(` ${word}`))
  const found = pages.flatMap(({ topic, title, summary, parts }): Found[] => {
    const href = root + (topic === 'index' ? '' : topic)
    const code = topic.includes('/') ? 0.5 : 0
    const [lead, ...sections] = parts
    const inPage = lead !== undefined && hasEach(lead.words)
    const inTitle = title.toLowerCase().startsWith(text) ? 0 : hasAll(`${title} ${topic}`) ? 1 : null
    const own = inTitle ?? (hasAll(summary) ? 3 : inPage ? 4 : null)
    const inside = sections.flatMap(({ heading, words }): Found[] => {
      const rank = hasAll(heading) ? 2 : hasEach(`${heading.toLowerCase()} ${words}`) ? 4 : null
      return rank === null ? [] : [{ href: `${href}#${toAnchor(heading)}`, title: heading, detail: title, rank }]
    })
    return own === null ? inside : [{ href, title, detail: summary, rank: own + code }, ...inside]
  })
  return found.sort((a, b) => a.rank - b.rank).slice(0, maxRows)
}

function toAnchor(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')
}

function item({ href, title, detail }: Found, at: number): HTMLLIElement {
  const line = document.createElement('li')
  line.role = 'presentation'
  const link = document.createElement('a')
  const small = document.createElement('small')
  link.href = href
  link.id = `found-${at}`
  link.role = 'option'
  link.setAttribute('aria-selected', 'false')
  link.textContent = title
  small.textContent = detail.replace(/[*`]/g, '')
  link.append(small)
  link.addEventListener('click', hide)
  line.append(link)
  return line
}

function note(text: string): HTMLLIElement {
  const line = document.createElement('li')
  line.className = 'none'
  line.role = 'option'
  line.ariaDisabled = 'true'
  line.textContent = text
  return line
}

for (const box of document.querySelectorAll('.code')) {
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = 'Copy'
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(box.querySelector('code')?.textContent ?? '')
    button.textContent = 'Copied'
    setTimeout(() => {
      button.textContent = 'Copy'
    }, 1_500)
  })
  box.append(button)
}
