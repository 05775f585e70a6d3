/** The demo's page: the bar, the controls and, on phones, the views. */
import { tableNames } from '#foundation/table-entry.ts'
import { copyButton, find, html, icon, unseen } from './elements.ts'
import { type Choices, listOptions, options, writeChoices } from './surfaces.ts'

/** The choices with a row in the controls. */
const rows = {
  format: 'Format',
  template: 'Template',
  outcome: 'Decision',
  consent: 'Consent',
  tool: 'Consent tool',
  integration: 'Requested by',
  keep: 'After the turn',
} satisfies Partial<Record<keyof Choices, string>>

type ChoiceRow = keyof typeof rows

interface PageActions {
  choose(some: Partial<Choices>): void
  /** A control has been changed: the choice, and perhaps the turn again. */
  control(name: ChoiceRow, value: string): void
  /** A campaign must fill; empty: the market decides. */
  force(campaign_id: string): void
  withdraw(): void
  address(): string
}

export function createPage(
  { choose, control, force, withdraw, address }: PageActions,
  timeline: HTMLElement,
  campaigns: readonly { campaign_id: string; sponsor_name: string }[],
) {
  const stage = html`<main class="stage"></main>`
  const tabs = createTabs((surface) => choose({ surface }))
  const themes = segments(
    'theme',
    (theme) => choose({ theme }),
    ({ value, label }) => [icon(value), unseen(label)],
  )
  const controls = createControls(control, withdraw)
  controls.element.append(createPicker(campaigns, force))

  const badge = html`<span class="chip" data-tone="good"></span>`
  const views = createViews(badge, (view) => {
    app.dataset.view = view
  })
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
      ${stage}${controls.element}${timeline}
      ${views.element}
    </div>`
  document.body.append(app)
  views.show('product')

  return {
    stage,
    show(choices: Choices): void {
      document.documentElement.dataset.theme = choices.theme
      document.title = `${options.surface[choices.surface].label} · Demo host`
      for (const { surface, tab } of tabs) {
        tab.href = writeChoices({ ...choices, surface }) || location.pathname
        if (surface === choices.surface) tab.setAttribute('aria-current', 'page')
        else tab.removeAttribute('aria-current')
      }
      const chosen: Record<string, string> = choices
      for (const input of app.querySelectorAll<HTMLInputElement>('input[type=radio]')) {
        input.checked = chosen[input.name] === input.value
      }
      controls.show(choices)
    },
    /** Shows the newest milestone on the timeline's tab. */
    setState(state: string): void {
      badge.textContent = state
    },
  }
}

/** The choices with their hints, and the button that withdraws consent. */
function createControls(control: PageActions['control'], withdraw: () => void) {
  const names = tableNames(rows)
  const element = html`
    <section class="controls paper scroller" aria-label="Controls">
      <header class="dock-head"><h2>Controls</h2></header>
      ${names.map((row) => {
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
  find(element, '[data-row=consent] .hint-line').append(withdrawal)
  return {
    element,
    show(choices: Choices): void {
      for (const row of names) {
        const chosen = listOptions(row).find(({ value }) => value === choices[row])
        find(element, `#hint-${row}`).textContent = chosen?.hint ?? ''
      }
      const { consent, format, integration } = choices
      find(element, '[data-row=template]').hidden = format !== 'native'
      find<HTMLInputElement>(element, '[value=slow]').disabled = integration === 'browser'
      withdrawal.disabled = consent !== 'granted' && consent !== 'expiring'
      find(withdrawal, 'span').textContent = consent === 'withdrawn' ? 'Withdrawn' : 'Withdraw now'
    },
  }
}

/** The campaign that must fill, or the rule that forbids it is the reason. */
function createPicker(
  campaigns: readonly { campaign_id: string; sponsor_name: string }[],
  force: PageActions['force'],
) {
  const picker = html<HTMLSelectElement>`
    <select aria-label="Campaign" aria-describedby="hint-campaign">
      <option value="">The best offer</option>
      ${campaigns.map(({ campaign_id, sponsor_name }) => html`<option value="${campaign_id}">${sponsor_name}</option>`)}
    </select>`
  picker.addEventListener('change', () => force(picker.value))
  return html`
    <fieldset class="choice" data-row="campaign">
      <legend class="soft">Campaign</legend>
      ${picker}
      <div class="hint-line bar spread"><p class="hint faint" id="hint-campaign">A forced ad is marked, and never billed.</p></div>
    </fieldset>`
}

/** On phones, the buttons that show one part of the page at a time. */
function createViews(badge: HTMLElement, onShow: (view: string) => void) {
  const buttons = (['product', 'controls', 'timeline'] as const).map((view) => {
    const label = view[0]?.toUpperCase() + view.slice(1)
    const button = html`<button type="button" class="bar center soft label">${icon(view)}${label}</button>`
    button.addEventListener('click', () => show(view))
    if (view === 'timeline') button.append(badge)
    return { view, button }
  })
  const element = html`<nav class="views paper ruled" aria-label="Views">${buttons.map(({ button }) => button)}</nav>`
  function show(shown: string): void {
    onShow(shown)
    for (const { view, button } of buttons) button.ariaPressed = String(view === shown)
  }
  return { element, show }
}

function createTabs(choose: (surface: Choices['surface']) => void) {
  return listOptions('surface').map(({ value: surface, label }) => {
    const tab = html<HTMLAnchorElement>`<a class="bar center soft" href="">${icon(surface)}${label}</a>`
    tab.addEventListener('click', (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return
      event.preventDefault()
      choose(surface)
    })
    return { surface, tab }
  })
}

/** Returns the values of a choice as a row of radio buttons. Themes are icons. */
function segments<Name extends ChoiceRow | 'theme'>(
  name: Name,
  choose: (value: Choices[Name]) => void,
  show = ({ label }: { value: Choices[Name]; label: string }): (Node | string)[] => [label],
): HTMLElement {
  const known = listOptions(name)
  const element = html`
    <div class="segments bar">
      ${known.map(
        // Withdrawn is reached by the button or an address, so it has no segment.
        (option) => html`
          <label class="segment label soft" ${option.value === 'withdrawn' && 'hidden'} title="${name === 'theme' && `${option.label} theme`}">
            <input type="radio" name="${name}" value="${option.value}">${show(option)}
          </label>`,
      )}
    </div>`
  element.addEventListener('change', () => {
    const checked = find<HTMLInputElement>(element, ':checked').value
    for (const { value } of known) if (value === checked) choose(value)
  })
  return element
}
