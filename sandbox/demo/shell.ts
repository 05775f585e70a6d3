/** The page around the products: the bar above, the stage, and the dock with controls and timeline. */
import type { JobType } from '../../src/contract/fields.ts'
import { type Choices, type Theme, values, writeChoices } from './choices.ts'
import { copyButton } from './copy-button.ts'
import { el, unseen } from './elements.ts'
import { type IconName, icon } from './icons.ts'
import { surfaces } from './surfaces/index.ts'

export interface Shell {
  readonly element: HTMLElement
  readonly stage: HTMLElement
  show(choices: Choices): void
  /** How far the newest turn has come, in a word. */
  setState(state: string): void
}

const themes: Record<Theme, IconName> = { system: 'system', light: 'sun', dark: 'moon' }
const views = { product: 'window', controls: 'sliders', timeline: 'list' } as const

export function createShell(
  controls: HTMLElement,
  timeline: HTMLElement,
  choose: (some: Partial<Choices>) => void,
  address: () => string,
): Shell {
  const tabs = new Map(values.surface.map((job_type) => [job_type, surfaceTab(job_type, choose)]))
  const themeInputs = values.theme.map((theme) =>
    el('input', { type: 'radio', name: 'theme', value: theme, onchange: () => choose({ theme }) }),
  )
  const state = el('span', { class: 'state-badge' })
  const stage = el('main', { class: 'stage' })
  const element = el(
    'div',
    { class: 'app', 'data-view': 'product' },
    el(
      'header',
      { class: 'top' },
      el(
        'a',
        { class: 'brand', href: '/_sandbox/' },
        el('span', { class: 'brand-mark' }),
        'svc',
        el('span', {}, 'demo host'),
      ),
      el('nav', { class: 'surfaces', 'aria-label': 'Surfaces' }, ...tabs.values()),
      el(
        'div',
        { class: 'tools' },
        el(
          'fieldset',
          { class: 'segments themes' },
          el('legend', { class: 'unseen' }, 'Theme'),
          ...themeInputs.map((input) =>
            el(
              'label',
              { class: 'segment', title: `${input.value} theme` },
              input,
              el('span', {}, icon(themes[input.value as Theme]), unseen(input.value)),
            ),
          ),
        ),
        copyButton(address, 'Copy a link to this state', 'share'),
      ),
    ),
    stage,
    controls,
    timeline,
    el('nav', { class: 'views', 'aria-label': 'Views' }, ...viewButtons()),
  )

  function viewButtons(): HTMLElement[] {
    const buttons = Object.entries(views).map(([view, name]) => {
      const label = view[0]?.toUpperCase() + view.slice(1)
      const button = el(
        'button',
        { type: 'button', 'aria-pressed': view === 'product' ? 'true' : 'false' },
        icon(name),
        label,
      )
      if (view === 'timeline') button.append(state)
      button.addEventListener('click', () => {
        element.dataset.view = view
        for (const other of buttons) other.setAttribute('aria-pressed', String(other === button))
      })
      return button
    })
    return buttons
  }

  return {
    element,
    stage,
    show(choices) {
      document.documentElement.dataset.theme = choices.theme
      for (const input of themeInputs) input.checked = input.value === choices.theme
      for (const [job_type, tab] of tabs) {
        tab.href = writeChoices({ ...choices, surface: job_type }) || location.pathname
        if (job_type === choices.surface) tab.setAttribute('aria-current', 'page')
        else tab.removeAttribute('aria-current')
      }
      document.title = `${surfaces[choices.surface].name} · Demo host`
    },
    setState(text) {
      state.textContent = text
    },
  }
}

function surfaceTab(job_type: JobType, choose: (some: Partial<Choices>) => void): HTMLAnchorElement {
  const { name, icon: iconName } = surfaces[job_type]
  const tab = el('a', { href: '' }, icon(iconName), el('span', {}, name))
  tab.addEventListener('click', (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return
    event.preventDefault()
    choose({ surface: job_type })
  })
  return tab
}
