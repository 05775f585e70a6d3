/** The page around the products: the bar at the top, the stage, the controls and, on phones, the views. */
import { type Choices, options, optionsOf, writeChoices } from './choices.ts'
import { copyButton, find, html, icon, unseen } from './elements.ts'

/** The choices that have a row among the controls. */
const rows = {
  format: 'Format',
  template: 'Template',
  outcome: 'Decision',
  consent: 'Consent',
  integration: 'Requested by',
  keep: 'After the turn',
} satisfies Partial<Record<keyof Choices, string>>

type Row = keyof typeof rows

interface Page {
  readonly stage: HTMLElement
  show(choices: Choices): void
  /** Shows the newest milestone on the timeline's tab. */
  setState(state: string): void
}

interface PageActions {
  choose(some: Partial<Choices>): void
  /** A control has been changed: the choice, and perhaps the turn again. */
  control(name: Row, value: string): void
  withdraw(): void
  address(): string
}

export function createPage({ choose, control, withdraw, address }: PageActions, timeline: HTMLElement): Page {
  const stage = html`<main class="stage"></main>`
  const tabs = optionsOf('surface').map(({ value: surface, label }) => {
    const tab = html<HTMLAnchorElement>`<a class="bar center soft" href="">${icon(surface)}${label}</a>`
    tab.addEventListener('click', (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return
      event.preventDefault()
      choose({ surface })
    })
    return { surface, tab }
  })
  const themes = segments('theme', (theme) => choose({ theme: theme as Choices['theme'] }))
  const controls = html`
    <section class="controls paper scroller" aria-label="Controls">
      <header class="dock-head"><h2>Controls</h2></header>
      ${(Object.keys(rows) as Row[]).map((row) => {
        const choice = segments(row, (value) => control(row, value))
        return html`
          <fieldset class="choice" data-row="${row}" aria-describedby="hint-${row}">
            <legend class="soft">${rows[row]}</legend>
            ${choice}
            <div class="hint-line bar spread"><p class="hint faint" id="hint-${row}"></p></div>
          </fieldset>`
      })}
    </section>`
  const withdrawal = html<HTMLButtonElement>`<button type="button" class="small label bar">${icon('shield')}<span></span></button>`
  withdrawal.addEventListener('click', withdraw)
  find(controls, '[data-row=consent] .hint-line').append(withdrawal)

  const views = (['product', 'controls', 'timeline'] as const).map((view) => {
    const label = view[0]?.toUpperCase() + view.slice(1)
    const button = html`<button type="button" class="bar center soft label">${icon(view)}${label}</button>`
    button.addEventListener('click', () => showView(view))
    return { view, button }
  })
  const badge = html`<span class="chip" data-tone="good"></span>`
  views[2]?.button.append(badge)

  const app = html`
    <div class="app">
      <header class="top bar spread paper ruled-below">
        <a class="brand bar" href="/_sandbox/"><span class="logo">${icon('brand')}</span>svc<span class="faint">demo host</span></a>
        <nav class="surfaces bar" aria-label="Surfaces">${tabs.map(({ tab }) => tab)}</nav>
        <div class="tools bar">
          <fieldset class="themes"><legend class="unseen">Theme</legend>${themes}</fieldset>
          ${copyButton(address, 'Copy a link to this state', 'share')}
        </div>
      </header>
      ${stage}${controls}${timeline}
      <nav class="views paper ruled" aria-label="Views">${views.map(({ button }) => button)}</nav>
    </div>`
  document.body.append(app)
  showView('product')

  function showView(shown: string): void {
    app.dataset.view = shown
    for (const { view, button } of views) button.ariaPressed = String(view === shown)
  }

  return {
    stage,
    show(choices) {
      document.documentElement.dataset.theme = choices.theme
      document.title = `${options.surface[choices.surface].label} · Demo host`
      for (const { surface, tab } of tabs) {
        tab.href = writeChoices({ ...choices, surface }, location.search) || location.pathname
        if (surface === choices.surface) tab.setAttribute('aria-current', 'page')
        else tab.removeAttribute('aria-current')
      }
      for (const input of app.querySelectorAll<HTMLInputElement>('input[type=radio]')) {
        input.checked = choices[input.name as Row] === input.value
      }
      for (const row of Object.keys(rows) as Row[]) {
        const chosen = optionsOf(row).find(({ value }) => value === choices[row])
        find(controls, `#hint-${row}`).textContent = chosen?.hint ?? ''
      }
      const { consent, format, integration } = choices
      find(controls, '[data-row=template]').hidden = format !== 'native'
      find<HTMLInputElement>(controls, '[value=slow]').disabled = integration === 'browser'
      withdrawal.disabled = consent !== 'granted' && consent !== 'expiring'
      find(withdrawal, 'span').textContent = consent === 'withdrawn' ? 'Withdrawn' : 'Withdraw now'
    },
    setState(state) {
      badge.textContent = state
    },
  }
}

/** Returns the values of a choice as radio buttons side by side. Themes are icons. */
function segments(name: Row | 'theme', chosen: (value: string) => void): HTMLElement {
  const element = html`
    <div class="segments bar">
      ${optionsOf(name).map(
        // Withdrawn is reached by the button or an address, so it has no segment.
        ({ value, label }) => html`
          <label class="segment label soft" ${value === 'withdrawn' && 'hidden'} title="${name === 'theme' && `${label} theme`}">
            <input type="radio" name="${name}" value="${value}">${name === 'theme' ? [icon(value as 'light'), unseen(label)] : label}
          </label>`,
      )}
    </div>`
  element.addEventListener('change', ({ target }) => chosen((target as HTMLInputElement).value))
  return element
}
