/** The controls: one row a choice, each with a sentence about what is chosen. */
import { type Choices, values } from './choices.ts'
import { el } from './elements.ts'
import { icon } from './icons.ts'

export interface Controls {
  readonly element: HTMLElement
  show(choices: Choices): void
}

type Row = Exclude<keyof Choices, 'surface' | 'theme'>

interface Option {
  label: string
  hint: string
}

const titles: Record<Row, string> = {
  format: 'Format',
  template: 'Template',
  outcome: 'Decision',
  consent: 'Consent',
  integration: 'Requested by',
  keep: 'After the turn',
}

const options: { [Name in Row]: Record<Choices[Name], Option> } = {
  format: {
    native: { label: 'Native', hint: 'Laid out by a template, sized to its slot.' },
    banner: { label: 'Banner', hint: 'The largest standard size that fits. Test keys get a test creative.' },
    clip: { label: 'Clip', hint: 'Muted video, viewable after two seconds. Test keys get a test creative.' },
    auto: { label: 'Auto', hint: 'Every format may fill; the best price wins.' },
  },
  template: {
    fitting: { label: 'Fit', hint: 'The template that suits this surface.' },
    card: { label: 'Card', hint: 'Picture above words.' },
    list_item: { label: 'List', hint: 'list_item: a thumbnail beside two lines.' },
    featured: { label: 'Featured', hint: 'Large picture, large title.' },
    minimal: { label: 'Minimal', hint: 'Words alone.' },
  },
  outcome: {
    fill: { label: 'Fill', hint: 'The market decides. Open the decision for its trace.' },
    no_fill: { label: 'No-fill', hint: 'Forced with test_outcome, which needs a server test key.' },
    slow: { label: 'Slow', hint: 'Takes 4 s: first pending, then asked again by slot_id.' },
  },
  consent: {
    granted: { label: 'Granted', hint: 'Topic and prompt text may take part in matching.' },
    denied: { label: 'Denied', hint: 'The decision is a no-fill, the evidence is kept.' },
    withdrawn: { label: 'Withdrawn', hint: 'Withdrawn: frames and beacons are refused until it is granted again.' },
    expiring: { label: 'Expiring', hint: 'Ends after 8 s: the ad unmounts in mid-turn.' },
    unasked: { label: 'Unasked', hint: 'A new session. This project fills without, but by no topic.' },
  },
  integration: {
    server: { label: 'Server', hint: 'The backend asks with its secret key. The page never sees it.' },
    browser: { label: 'Browser', hint: 'The page asks with a token for its publishable key.' },
  },
  keep: {
    on: { label: 'Keep ad', hint: 'keepMounted: the ad stays until the next turn.' },
    off: { label: 'Clear ad', hint: 'Goes with the turn, once its dwell is met.' },
  },
}

const rows = Object.keys(titles) as Row[]

export function createControls(
  chosen: <Name extends Row>(name: Name, value: Choices[Name]) => void,
  withdraw: () => void,
): Controls {
  const withdrawal = el('button', { type: 'button', class: 'small', onclick: withdraw }, icon('shield'), 'Withdraw now')
  const groups = new Map(rows.map((row) => [row, group(row)]))
  const element = el(
    'section',
    { class: 'controls', 'aria-label': 'Controls' },
    el('header', { class: 'dock-head' }, el('h2', {}, 'Controls')),
    ...[...groups.values()].map(({ element }) => element),
  )

  function group(row: Row) {
    const labels = options[row] as Record<string, Option>
    const known: readonly string[] = values[row]
    const hint = el('p', { class: 'hint', id: `hint-${row}` })
    const inputs = known.map((value) =>
      el('input', { type: 'radio', name: row, value, onchange: () => chosen(row, value as never) }),
    )
    // Withdrawn is a state that one gets into by the button or by an address. It is none of the segments.
    const segments = inputs.map((input) =>
      el(
        'label',
        { class: 'segment', hidden: input.value === 'withdrawn' },
        input,
        el('span', {}, labels[input.value]?.label),
      ),
    )
    const element = el(
      'fieldset',
      { class: 'choice', 'data-row': row, 'aria-describedby': hint.id },
      el('legend', {}, titles[row]),
      el('div', { class: 'segments' }, ...segments),
      el('div', { class: 'hint-line' }, hint, row === 'consent' && withdrawal),
    )
    const show = (value: string) => {
      for (const input of inputs) input.checked = input.value === value
      hint.textContent = labels[value]?.hint ?? ''
    }
    return { element, inputs, show }
  }

  return {
    element,
    show(choices) {
      for (const [row, { show }] of groups) show(choices[row])
      const isBrowser = choices.integration === 'browser'
      groups.get('template')?.element.toggleAttribute('hidden', choices.format !== 'native')
      withdrawal.disabled = choices.consent !== 'granted' && choices.consent !== 'expiring'
      withdrawal.lastChild?.replaceWith(choices.consent === 'withdrawn' ? 'Withdrawn' : 'Withdraw now')
      const slow = groups.get('outcome')?.inputs[values.outcome.indexOf('slow')]
      if (slow !== undefined) slow.disabled = isBrowser
    },
  }
}
